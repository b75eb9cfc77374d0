package store_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// FuzzCouponList: what a list asks for is within the bounds, says the same when it is
// said again, and a refusal names a field.
func FuzzCouponList(f *testing.F) {
	f.Add("", 0, 0)
	f.Add("summer", 1, 100)
	f.Add("%_\\'\"", -1, 101)
	f.Add("\xff\x00", store.MaxPage+1, -1)
	f.Fuzz(func(t *testing.T, search string, page, size int) {
		list, err := store.CouponList{Search: search, Page: page, PageSize: size}.Normalise()
		if err != nil {
			var invalid *pricing.ValidationError
			if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
				t.Errorf("%v names no field", err)
			}
			return
		}
		if list.Page < 1 || list.Page > store.MaxPage || list.PageSize < 1 || list.PageSize > store.MaxPageSize || utf8.RuneCountInString(list.Search) > store.MaxSearchLength {
			t.Errorf("%+v is out of bounds", list)
		}
		if again, err := list.Normalise(); err != nil || again != list {
			t.Errorf("%+v becomes %+v, %v", list, again, err)
		}
	})
}

// TestAnOrderKeepsNoTermsThatCannotBeRead: one order whose document no store can read
// would stop every list that it is in.
func TestAnOrderKeepsNoTermsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	err := store.Order{Coupon: &coupon.Snapshot{ID: "cpn_1"}}.Validate()
	var invalid *pricing.ValidationError
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	missing := map[string]pricing.FieldCode{}
	for _, fault := range invalid.Fields {
		if fault.Code == pricing.FieldRequired {
			missing[fault.Field] = fault.Code
		}
	}
	for _, field := range []string{"coupon.code", "coupon.discountType", "coupon.currency", "coupon.appliesTo", "coupon.distribution"} {
		if diff := cmp.Diff(pricing.FieldRequired, missing[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}
