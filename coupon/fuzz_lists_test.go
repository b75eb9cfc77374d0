package coupon_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// FuzzEmailListJSON: a list is what encoding/json reads, a text is its entries, and
// the set that is made of it is sorted out the same way, however often.
func FuzzEmailListJSON(f *testing.F) {
	for _, seed := range []string{
		`["ann@example.org","BEN@example.org"]`, `"ann@example.org, ben@example.org\ncleo@example.org"`, `null`, `[]`, `""`,
		`["a@b.c","A@B.C"," a@b.c "]`, `[1]`, `["\ud800"]`, `{"a":1}`, `"\u0000@x.org"`, `[null]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var list coupon.EmailList
		if err := list.UnmarshalJSON(data); err != nil {
			return
		}
		var want []string
		if json.Unmarshal(data, &want) == nil && !slices.Equal([]string(list), want) {
			t.Fatalf("%s is read as %q", data, list)
		}
		set, err := coupon.NewEmailSet(list...)
		if err != nil {
			if !errors.Is(err, validation.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		checkEmailSet(t, list, set)
	})
}

func checkEmailSet(t *testing.T, list []string, set coupon.EmailSet) {
	t.Helper()
	for _, address := range list {
		if !set.Has(address) || !set.Has(strings.ToUpper(email.Normalize(address))) && isASCII(address) {
			t.Errorf("%q is not found in its list", address)
		}
	}
	if set.Len() > len(list) {
		t.Errorf("%d addresses of %d", set.Len(), len(list))
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	var again coupon.EmailSet
	if err := json.Unmarshal(text, &again); err != nil || !again.Equal(set) {
		t.Errorf("%s is read back as %v, %v", text, again, err)
	}
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// FuzzItemsJSON: the IDs of a scope are those that encoding/json reads.
func FuzzItemsJSON(f *testing.F) {
	for _, seed := range []string{`["a","b"]`, `[]`, `null`, `["b","a","a"]`, `[""]`, `["a",1]`, `["\u0000"]`, `"a"`, `[["a"]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var items coupon.Items
		if err := items.UnmarshalJSON(data); err != nil {
			return
		}
		var want []string
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%s is read, and not by encoding/json: %v", data, err)
		}
		for _, id := range want {
			if !items.Has(id) {
				t.Errorf("%q is not among %v", id, items)
			}
		}
		for _, id := range items.Slice() {
			if !slices.Contains(want, id) {
				t.Errorf("%q is not in %s", id, data)
			}
		}
		text, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		var again coupon.Items
		if err := json.Unmarshal(text, &again); err != nil || !slices.Equal(again.Slice(), items.Slice()) {
			t.Errorf("%s is written as %s and read as %v, %v", data, text, again, err)
		}
	})
}

// FuzzWords: a word is read as what writes the same word, and as nothing else.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"ALL", "all", "PRODUCT", "USER_SPECIFIC", "active", "pending", "coupon_expired", "", "PERCENTAGE", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range map[string]func() (encoding.TextMarshaler, error){
			"AppliesTo":     func() (encoding.TextMarshaler, error) { return named[coupon.AppliesTo](text) },
			"Distribution":  func() (encoding.TextMarshaler, error) { return named[coupon.Distribution](text) },
			"State":         func() (encoding.TextMarshaler, error) { return coupon.ParseState(text) },
			"RejectionCode": func() (encoding.TextMarshaler, error) { return named[coupon.RejectionCode](text) },
			"DiscountType":  func() (encoding.TextMarshaler, error) { return pricing.ParseDiscountType(text) },
			"Class":         func() (encoding.TextMarshaler, error) { return pricing.ParseClass(text) },
			"Interval":      func() (encoding.TextMarshaler, error) { return pricing.ParseInterval(text) },
		} {
			word, err := read()
			if err != nil {
				if !errors.Is(err, validation.ErrInvalid) {
					t.Errorf("%s %q: %v", name, text, err)
				}
				continue
			}
			if again, err := word.MarshalText(); err != nil || string(again) != text {
				t.Errorf("%s %q is written as %q, %v", name, text, again, err)
			}
		}
	})
}
