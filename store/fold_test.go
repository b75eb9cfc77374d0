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
		folded := store.Fold(string(r))
		for _, other := range []rune{unicode.SimpleFold(r), unicode.ToUpper(r), unicode.ToLower(r), unicode.ToTitle(r)} {
			if other == r {
				continue // as nearly all
			}
			if got := store.Fold(string(other)); got != folded {
				t.Errorf("%U folds to %+q and %U to %+q", r, folded, other, got)
			}
		}
		if again := store.Fold(folded); folded != string(r) && again != folded {
			t.Errorf("%U folds to %+q, and that to %+q", r, folded, again)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "SUMMER 10 %_": "summer 10 %_", "Σίσυφος": "σίσυφοσ", "ΟΔΟΣ": "οδοσ", "STRAẞE": "strasse", "ſo": "so", "été": "été", "E\u0301": "é",
		" Sum\u00admer\u201310 ": "summer-10", "İNDİRİM": "indirim",
	} {
		if got := store.Fold(text); got != want {
			t.Errorf("%q folds to %q, want %q", text, got, want)
		}
	}
}

// TestAFoldOfAWordIsAPartOfTheFold is what lets a store fold before it compares. A word
// with what composes it is one: a search for e does not find é.
func TestAFoldOfAWordIsAPartOfTheFold(t *testing.T) {
	t.Parallel()
	text := rapid.Map(coupontest.Hostile(), func(text string) string { return strings.ToValidUTF8(text, "?") })
	rapid.Check(t, func(t *rapid.T) {
		before, part, after := text.Draw(t, "before"), text.Draw(t, "part"), text.Draw(t, "after")
		if whole := before + " ." + part + ". " + after; !strings.Contains(store.Fold(whole), store.Fold("."+part+".")) {
			t.Errorf("the fold of %+q is not in that of the whole, %+q", part, store.Fold(whole))
		}
	})
}
