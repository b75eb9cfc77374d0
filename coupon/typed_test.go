package coupon_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/validation"
)

// The eye decides: what looks like the code is looked up as the code.
func TestALookUpFindsWhatLooksAlike(t *testing.T) {
	t.Parallel()
	for created, typed := range map[string][]string{
		"SUMMER-10": {
			"\u200bSUMMER-10", "SUMMER-10\u200b", "\u200eSUMMER-10", "SUMMER-10\u200e", "\ufeffSUMMER-10", "SUMMER-10\ufeff", "SUM\u00adMER-10",
			"SUMMER\u201010", "SUMMER\u201110", "SUMMER\u201210", "SUMMER\u201310", "SUMMER\u201410", "SUMMER\u221210", "summer\u200d\u201310",
			" \u200b SUMMER-10\u00a0\ufeff", "\x00SUMMER-10\x1b", "S\ufe0fUMMER-10", "\u202aSUMMER-10\u202c", "SUMMER-10\u2800", "ＳＵＭＭＥＲ－１０",
		},
		"İNDİRİM10": {"indirim10", "ındırım10", "İNDİRİM10", "INDIRIM10", "i\u0307ndirim10", "indi\u0307ri\u0307m10"},
		"indirim10": {"İNDİRİM10"},
		"straße10":  {"STRASSE10", "straße10", "STRAẞE10", "straſſe10"},
		"ÉTÉ":       {"e\u0301te\u0301", "e\u200b\u0301té"},
	} {
		want, err := coupon.ParseCode(created)
		require.NoError(t, err)
		for _, text := range typed {
			got, err := coupon.TypedCode(text)
			if err != nil || got != want {
				t.Errorf("%+q is looked up as %q, %v; want %q", text, got, err, want)
			}
			if coupon.Fold(text) != want.String() {
				t.Errorf("%+q folds to %q, want %q", text, coupon.Fold(text), want)
			}
		}
	}
	for typed, want := range map[string]validation.Code{
		"\u200b \ufeff": validation.Required, "A\u200b B": validation.Malformed, "A\ue000": validation.Malformed, "\u200b.\u200b.": validation.Malformed,
		"A\xff": validation.Malformed, "A" + strings.Repeat("\u200bA", 255): validation.TooLong,
	} {
		_, err := coupon.TypedCode(typed)
		require.Equal(t, want, fieldCodes(t, err)["code"], "%+q", typed)
	}
}

// There is one fold: a key is what its text folds to, and its own fold.
func TestAKeyIsTheFoldOfItsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(coupontest.Hostile(), rapid.Custom(func(t *rapid.T) string {
			return coupontest.Spelling(coupontest.Code().Draw(t, "code")).Draw(t, "spelling")
		})).Draw(t, "text")
		created, refused := coupon.ParseCode(text)
		typed, err := coupon.TypedCode(text)
		if refused == nil && (err != nil || typed != created) {
			t.Errorf("%+q is created as %q and looked up as %q, %v", text, created, typed, err)
		}
		if err != nil {
			return
		}
		if key := typed.String(); coupon.Fold(text) != key || coupon.Fold(key) != key || coupon.Fold(strings.ToLower(key)) != key && !strings.Contains(key, "ϴ") {
			t.Errorf("%+q folds to %+q, and its key is %+q", text, coupon.Fold(text), key)
		}
		if err := checkKey(typed.String()); err != nil {
			t.Error(err)
		}
	})
}

func TestFoldOfText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "",
		" \n":                                "",
		" For the summer\nof ÉTÉ\t":          "FOR THE SUMMER\nOF ÉTÉ",
		"soft\u00adhyphen and no\u00a0break": "SOFTHYPHEN AND NO BREAK",
		"10 % – and more":                    "10 % - AND MORE",
		"Σίσυφος":                            "ΣΊΣΥΦΟΣ",
		"\xff":                               "\ufffd",
	} {
		if got := coupon.Fold(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%q folds to %q, want %q", text, got, want)
		}
	}
}

// Every code works as an element of a URL path once it is escaped.
func TestACodeInAPath(t *testing.T) {
	t.Parallel()
	var got string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apply/{code}", func(_ http.ResponseWriter, r *http.Request) { got = r.PathValue("code") })
	known := rapid.SampledFrom([]string{"...", "A/B", "//", "/A", "A/", `A\B`, "%2E", "%", "?", "#", ";", "+", "A..", "..A", "./.", "../..", "*", "~", ":", "=&"})
	rapid.Check(t, func(t *rapid.T) {
		code, err := coupon.ParseCode(rapid.OneOf(known, rapid.Map(coupontest.Code(), coupon.Code.String)).Draw(t, "code"))
		require.NoError(t, err)
		// The base is what a browser resolves the link against.
		base, err := url.Parse("https://shop.example/cart/")
		require.NoError(t, err)
		link, err := base.Parse("/apply/" + url.PathEscape(code.String()))
		require.NoError(t, err)
		got = ""
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, link.String(), nil))
		if answer.Code != http.StatusOK || got != code.String() {
			t.Errorf("%q by %s is %q with status %d", code, link, got, answer.Code)
		}
	})
}
