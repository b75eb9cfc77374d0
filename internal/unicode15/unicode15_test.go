package unicode15_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/couponkit/couponkit/internal/unicode15"
)

// everyCharacter calls check for each character that UTF-8 can hold.
func everyCharacter(check func(r rune)) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) {
			check(r)
		}
	}
}

// isPlain reports whether r is in one of the large blocks whose characters only stand for themselves.
func isPlain(r rune) bool {
	return r >= 0x3400 && r < 0xA000 || r >= 0x17000 && r < 0x18D00 || r >= 0x20000 && r < 0x2F800 || r >= 0x30000
}

// The digest is the same on every toolchain: it holds all that a key is made of.
func TestTheTablesAreTheSameOnEveryToolchain(t *testing.T) {
	t.Parallel()
	const want = "9e1a94c8c69697dbe2a23ef637a0662cb3d9625a7946f52e68c70b7da7c99f93"
	all := sha256.New()
	var text []byte
	everyCharacter(func(r rune) {
		text = text[:0]
		for _, property := range []bool{unicode15.Assigned(r), unicode15.Ignorable(r), unicode15.IsSpace(r)} {
			text = strconv.AppendBool(text, property)
		}
		text = utf8.AppendRune(utf8.AppendRune(text, unicode15.ToUpper(r)), unicode15.ToLower(r))
		if !isPlain(r) {
			for _, company := range []string{"%s", "\u05d2%s", "\u1100%s", "\U000113c2%s", "%s\u0323\u0307\u0345"} {
				of := strings.Replace(company, "%s", string(r), 1)
				text = append(append(text, unicode15.NFC(of)...), unicode15.NFKC(of)...)
			}
		}
		_, err := all.Write(text)
		require.NoError(t, err)
	})
	require.Equal(t, want, hex.EncodeToString(all.Sum(nil)))
}

// A toolchain with the tables of Unicode 15.0 agrees in everything. One with later tables agrees
// about what never changes.
func TestTheTablesAreThoseOfUnicode15(t *testing.T) {
	t.Parallel()
	ours := unicode.Version == "15.0.0"
	everyCharacter(func(r rune) {
		text := string(r)
		if !unicode15.Assigned(r) {
			if got := unicode15.NFKC(text) + unicode15.NFC(text) + string(unicode15.ToUpper(r)) + string(unicode15.ToLower(r)); got != text+text+text+text {
				t.Errorf("%U is not assigned, and becomes %+q", r, got)
			}
			if ours && unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf) {
				t.Errorf("%U is assigned", r)
			}
			return
		}
		if unicode.In(r, unicode.Cn, unicode.Co, unicode.Cs) {
			t.Errorf("%U is not assigned", r)
		}
		if unicode15.IsSpace(r) != unicode.IsSpace(r) {
			t.Errorf("%U is white space: %t", r, unicode15.IsSpace(r))
		}
		if got, want := unicode15.NFKC(text)+unicode15.NFC(text)+unicode15.NFKD(text), norm.NFKC.String(text)+norm.NFC.String(text)+norm.NFKD.String(text); got != want {
			t.Errorf("%U is normalised to %+q, want %+q", r, got, want)
		}
		if ours && (unicode15.ToUpper(r) != unicode.ToUpper(r) || unicode15.ToLower(r) != unicode.ToLower(r) ||
			unicode15.Ignorable(r) != unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
			t.Errorf("%U has another case, or is %t for ignorable", r, unicode15.Ignorable(r))
		}
	})
}

// Characters that are not assigned stay apart, also from marks beside them.
func TestWhatIsNotAssignedStaysAsItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\U000105d2\u0307":     "\U000105d2\u0307", // a composed letter of Unicode 16.0
		"\U000105c9":           "\U000105c9",
		"\u05d2\u0307":         "\u05d2\u0307",
		"\u0897\u0323\u0307":   "\u0897\u0323\u0307", // a mark of Unicode 16.0
		"e\u0301\u0897e\u0301": "é\u0897é",
		"\U00010041\u0301":     "\U00010041\u0301",
	} {
		require.Equal(t, want, unicode15.NFKC(text), "%+q", text)
		require.Equal(t, want, unicode15.NFC(text), "%+q", text)
	}
}

// A visible character is assigned, shows something and is no sign for unknown characters.
func TestVisibleCharacters(t *testing.T) {
	t.Parallel()
	everyCharacter(func(r rune) {
		want := unicode15.Assigned(r) && !unicode15.Invisible(r) && !unicode.IsControl(r) && r != unicode.ReplacementChar
		if got := unicode15.Visible(r); got != want {
			t.Errorf("%U is visible: %t", r, got)
		}
	})
	if unicode15.Visible(-1) {
		t.Error("a negative number is visible")
	}
}
