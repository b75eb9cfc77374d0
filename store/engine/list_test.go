package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// TestWhatCannotBeReadIsNamed: the error names the record and the reason, and is no invalid input of
// the caller.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	const terms = `{"name":"Ten","terms":{"discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","distribution":"GENERAL","refundPolicy":"keep"`
	const hours = `"hours":[{"day":"MONDAY","from":"09:00","until":"10:00"}]`
	readCoupon := func(state, document string) error {
		return engine.ReadCoupon(&coupon.Coupon{ID: "cpn", Revision: 7}, "TEN", state, 0, []byte(document))
	}
	require.NoError(t, readCoupon("active", terms+`,"schedule":{"timeZone":"Europe/Berlin",`+hours+`}}}`))
	for name, c := range map[string]struct {
		err                error
		kind, id, contains string
	}{
		"no JSON":                   {readCoupon("active", "{"), "coupon", "cpn", "revision 7"},
		"an unknown term":           {readCoupon("active", terms+`,"later":{"a":1}}}`), "coupon", "cpn", `at revision 7: this version does not know its member "terms.later"`},
		"an unknown member":         {readCoupon("active", terms+`},"later":{"a":1}}`), "coupon", "cpn", `at revision 7: this version does not know its member "later"`},
		"an unknown time zone":      {readCoupon("active", terms+`,"schedule":{"timeZone":"Mars/Olympus_Mons",`+hours+`}}}`), "coupon", "cpn", "time zone"},
		"an unknown discount":       {readCoupon("active", `{"name":"Ten","terms":{"discountType":"LATER","currency":"EUR"}}`), "coupon", "cpn", "discountType"},
		"a missing member":          {readCoupon("active", `{"name":"Ten"}`), "coupon", "cpn", "missing"},
		"an unknown state":          {readCoupon("later", terms+"}}"), "coupon", "cpn", "state"},
		"an order that is no JSON":  {engine.ReadOrder(&redemption.Order{ID: "ord"}, "open", []byte("[]")), "order", "ord", "document"},
		"an order's unknown state":  {engine.ReadOrder(&redemption.Order{ID: "ord"}, "later", []byte("{}")), "order", "ord", "state"},
		"a use that is no JSON":     {engine.ReadUse(&redemption.Use{ID: "use"}, "reserved", "none", []byte("nul")), "use", "use", "document"},
		"a use's unknown state":     {engine.ReadUse(&redemption.Use{ID: "use"}, "later", "none", []byte(`{"origin":"points"}`)), "use", "use", "state"},
		"a use's impossible amount": {engine.ReadUse(&redemption.Use{ID: "use"}, "reserved", "none", []byte(`{"origin":"points","currency":"JPY","discount":"0.5"}`)), "use", "use", "discount"},
	} {
		var named *store.UnreadableError
		require.ErrorAs(t, c.err, &named, name)
		require.ErrorIs(t, c.err, store.ErrUnreadable, name)
		require.NotErrorIs(t, c.err, validation.ErrInvalid, name)
		require.Equal(t, c.kind+" "+c.id, named.Kind+" "+named.ID, name)
		require.Contains(t, named.Reason, c.contains, name)
	}
}

// TestAPageHasWhatCanBeReadAndNamesTheRest: pages of any size together have each record once, either
// as an item or as an error, and each page has a cursor unless it is the last one.
func TestAPageHasWhatCanBeReadAndNamesTheRest(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		damaged := rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(t, "damaged")
		size := rapid.IntRange(1, 13).Draw(t, "size")
		var all []coupon.Coupon
		for i := range damaged {
			all = append(all, coupon.Coupon{ID: string(rune('a' + i)), CreatedAt: begin.Add(time.Duration(-i) * time.Second)})
		}
		var items, unreadable []string
		for from := 0; ; {
			var list engine.List[coupon.Coupon]
			for i := from; i < min(from+size+1, len(all)); i++ {
				var err error
				if damaged[i] {
					err = &store.UnreadableError{Kind: "coupon", ID: all[i].ID}
				}
				require.NoError(t, list.Add(all[i], err))
			}
			page, errs, next := list.Page(size)
			require.LessOrEqual(t, len(page)+len(errs), size)
			for _, c := range page {
				items = append(items, c.ID)
			}
			for _, err := range errs {
				unreadable = append(unreadable, err.ID)
			}
			if from += size; next == "" {
				require.GreaterOrEqual(t, from, len(all))
				break
			}
			cursor, err := store.ParseCursor(next)
			require.NoError(t, err)
			require.Equal(t, all[from-1].ID, cursor.ID)
		}
		var wantItems, wantUnreadable []string
		for i, c := range all {
			if damaged[i] {
				wantUnreadable = append(wantUnreadable, c.ID)
			} else {
				wantItems = append(wantItems, c.ID)
			}
		}
		require.Empty(t, cmp.Diff(wantItems, items))
		require.Empty(t, cmp.Diff(wantUnreadable, unreadable))
	})
}

// TestOtherErrorsEndAList: a lost connection is no record that cannot be read.
func TestOtherErrorsEndAList(t *testing.T) {
	t.Parallel()
	lost := errors.New("the connection is lost")
	var list engine.List[store.Settled]
	require.ErrorIs(t, list.Add(store.Settled{}, lost), lost)
	require.ErrorIs(t, engine.NoteUse(&list, 0, lost), lost)
	_, err := new(engine.List[store.Settled]).First()
	require.ErrorIs(t, err, store.ErrNotFound)
}

// TestAnOrderCannotBeReadWithoutItsUses: the error names the order, and its reason names the use.
func TestAnOrderCannotBeReadWithoutItsUses(t *testing.T) {
	t.Parallel()
	var list engine.List[store.Settled]
	require.NoError(t, list.Add(store.Settled{Order: redemption.Order{ID: "ord"}}, nil))
	for _, id := range []string{"use_1", "use_2"} {
		require.NoError(t, engine.NoteUse(&list, 0, &store.UnreadableError{Kind: "use", ID: id, Reason: "damaged"}))
	}
	_, err := list.First()
	require.Equal(t, "stored order ord cannot be read: use use_1: damaged", err.Error())
	items, unreadable, next := list.Page(1)
	require.Empty(t, items)
	require.Len(t, unreadable, 1)
	require.Empty(t, next)
	require.True(t, slices.ContainsFunc(unreadable, func(u *store.UnreadableError) bool { return u.Kind == "order" && u.ID == "ord" }))
}
