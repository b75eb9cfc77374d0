package store_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/store"
)

// TestEveryLetterFoldsAsItsOtherCases: whatever Unicode takes for the same letter.
func TestEveryLetterFoldsAsItsOtherCases(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		folded := store.FoldCase(string(r))
		for _, other := range []rune{unicode.SimpleFold(r), unicode.ToUpper(r), unicode.ToLower(r), unicode.ToTitle(r)} {
			if other == r {
				continue // as nearly all
			}
			if got := store.FoldCase(string(other)); got != folded {
				t.Errorf("%U folds to %+q and %U to %+q", r, folded, other, got)
			}
		}
		if again := store.FoldCase(folded); folded != string(r) && again != folded {
			t.Errorf("%U folds to %+q, and that to %+q", r, folded, again)
		}
	}
}

func TestFoldCase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "SUMMER 10 %_": "summer 10 %_", "Σίσυφος": "σίσυφοσ", "ΟΔΟΣ": "οδοσ", "STRAẞE": "straße", "ſo": "so", "été": "été", "E\u0301": "e\u0301",
	} {
		if got := store.FoldCase(text); got != want {
			t.Errorf("%q folds to %q, want %q", text, got, want)
		}
	}
}

// TestAFoldOfAPartIsAPartOfTheFold is what lets a store fold before it compares. Text
// that is not valid UTF-8 is in no coupon, and a search for it finds none.
func TestAFoldOfAPartIsAPartOfTheFold(t *testing.T) {
	t.Parallel()
	text := rapid.Map(coupontest.Hostile(), func(text string) string { return strings.ToValidUTF8(text, "?") })
	rapid.Check(t, func(t *rapid.T) {
		before, part, after := text.Draw(t, "before"), text.Draw(t, "part"), text.Draw(t, "after")
		if !strings.Contains(store.FoldCase(before+part+after), store.FoldCase(part)) {
			t.Errorf("the fold of %+q is not in that of the whole", part)
		}
	})
}
