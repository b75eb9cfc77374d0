package stripeprocessor_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/couponkit/couponkit/processor/stripeprocessor"
)

// FuzzStripeName: at most forty code points, a beginning of the trimmed name, empty
// only when the name is, and cut only when something is missing.
func FuzzStripeName(f *testing.F) {
	for _, seed := range []string{
		"Ten off", " \t ", strings.Repeat("x", 41), strings.Repeat("e\u0301", 30), strings.Repeat("👩\u200d👧", 20), "a" + strings.Repeat("\u0301", 60),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		name = strings.ToValidUTF8(name, "\ufffd") // as a coupon's name always is
		short, cut := stripeprocessor.StripeName(name)
		trimmed := strings.TrimSpace(name)
		switch {
		case utf8.RuneCountInString(short) > 40:
			t.Errorf("%q has more than 40 code points", short)
		case !strings.HasPrefix(trimmed, short):
			t.Errorf("%q is no beginning of %q", short, trimmed)
		case (short == "") != (trimmed == ""):
			t.Errorf("%q became %q", name, short)
		case cut != (short != name):
			t.Errorf("%q became %q, cut: %t", name, short, cut)
		case short != strings.TrimSpace(short):
			t.Errorf("%q has spaces at its ends", short)
		}
	})
}
