package couponkit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// issue adds a batch of codes.
func (w *world) issue(t *testing.T, c coupon.Coupon, batch string, drafts ...coupon.CodeDraft) []coupon.IssuedCode {
	t.Helper()
	codes, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: batch}, drafts)
	require.NoError(t, err)
	return codes
}

// TestAddCodes: codes come back in the order of the drafts, and the same batch again gives the same.
func TestAddCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	drafts := []coupon.CodeDraft{
		{Code: " spring-1 ", Owner: coupon.OwnerEmail("Ann@Example.org"), MaxUses: coupon.Set(1)},
		{Owner: coupon.OwnerID("bob"), ExpiresAt: calendar.On(2099, time.May, 31)},
		{},
	}
	codes := w.issue(t, c, "spring", drafts...)
	require.Equal(t, "SPRING-1", codes[0].Code.String())
	require.Equal(t, "email:ann@example.org", codes[0].Owner.String())
	require.Equal(t, int64(1), codes[0].MaxUses)
	require.Equal(t, time.Date(2099, 6, 1, 0, 0, 0, 0, time.UTC), codes[1].ExpiresAt)
	for _, code := range codes {
		found, err := w.FindCode(t.Context(), code.Code.String())
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(code, found))
	}
	require.Empty(t, cmp.Diff(codes, w.issue(t, c, "spring", drafts...)))
	_, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "spring"}, drafts[:2])
	require.ErrorIs(t, err, store.ErrKeyReused)
	require.ErrorContains(t, err, "has other content")

	var listed []coupon.IssuedCode
	for code, err := range w.Codes(t.Context(), store.CodeList{CouponID: c.ID, Unused: true, PageSize: 1}) {
		require.NoError(t, err)
		listed = append(listed, code)
	}
	slices.SortFunc(codes, func(a, b coupon.IssuedCode) int { return strings.Compare(a.Code.String(), b.Code.String()) })
	require.Empty(t, cmp.Diff(codes, listed))
	for _, err := range w.Codes(t.Context(), store.CodeList{}) {
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
}

// TestAdministratorsTypeLikeCustomers: confused symbols of a generated code, and a code that reads like an ID.
func TestAdministratorsTypeLikeCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	key := generatedCode(t, "0123456789", coupon.CodeShape{Prefix: "cpn_x"})
	issued := w.issue(t, c, "spring", coupon.CodeDraft{Code: key.String()})[0]
	for _, typed := range []string{
		key.String(), strings.ToLower(key.String()), strings.ReplaceAll(key.String(), "0", "o"),
		"cpn_x" + strings.ReplaceAll(strings.TrimPrefix(key.String(), "CPN_X"), "0", "O"),
	} {
		code, err := w.FindCode(t.Context(), typed)
		require.NoError(t, err, typed)
		require.Empty(t, cmp.Diff(issued, code), typed)
		found, err := w.Find(t.Context(), typed)
		require.NoError(t, err, typed)
		require.Equal(t, c.ID, found.ID, typed)
	}
	_, err := w.FindCode(t.Context(), c.ID)
	require.ErrorIs(t, err, coupon.ErrNotFound, "an ID names no code")
	_, err = w.FindCode(t.Context(), " ")
	require.ErrorIs(t, err, coupon.ErrCodeRequired)
}

// TestTheShapeOfABatch: generated codes have it, and a repetition with another one is another batch.
func TestTheShapeOfABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	batch := coupon.Batch{ID: "members", Shape: coupon.CodeShape{Prefix: "vip", Symbols: 8}}
	drafts := []coupon.CodeDraft{{Code: "own"}, {}, {}}
	codes, err := w.AddCodes(t.Context(), c.ID, batch, drafts)
	require.NoError(t, err)
	require.Equal(t, "OWN", codes[0].Code.String())
	for _, code := range codes[1:] {
		require.Regexp(t, "^VIP-[0-9A-Z]{9}$", code.Code.String())
	}
	again := batch
	again.Shape.Prefix = " VIP"
	same, err := w.AddCodes(t.Context(), c.ID, again, drafts)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(codes, same))
	for _, other := range []coupon.CodeShape{{}, {Prefix: "vip"}, {Symbols: 8}, {Prefix: "vips", Symbols: 8}, {Prefix: "vip", Symbols: 9}} {
		_, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "members", Shape: other}, drafts)
		require.ErrorIs(t, err, store.ErrKeyReused, "%+v", other)
	}
	w.issue(t, c, "plain", coupon.CodeDraft{})
	_, err = w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "plain", Shape: coupon.CodeShape{Symbols: coupon.DefaultCodeSymbols}}, make([]coupon.CodeDraft, 1))
	require.NoError(t, err, "the default that is given is the default")
	_, err = w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "wrong", Shape: coupon.CodeShape{Prefix: "A B", Symbols: 7}}, []coupon.CodeDraft{{Code: "own"}})
	require.ElementsMatch(t, []string{"batch.shape.prefix", "batch.shape.symbols"}, faultyFields(t, err))
}

// TestAnExpiredBatchAgain: the ID of a batch is its key, also after its codes have expired.
func TestAnExpiredBatchAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	drafts := []coupon.CodeDraft{{ExpiresAt: calendar.At(w.now.Add(time.Hour))}, {Code: "SPRING"}}
	codes := w.issue(t, c, "spring", drafts...)
	w.pass(2 * time.Hour)
	require.Empty(t, cmp.Diff(codes, w.issue(t, c, "spring", drafts...)))
	_, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "summer"}, drafts)
	require.Equal(t, []string{"codes[0].expiresAt"}, faultyFields(t, err))
	_, err = w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "spring"}, drafts[:1])
	require.ErrorIs(t, err, store.ErrKeyReused)
}

// TestAddCodesRefusesBadInput names every fault, and stores nothing.
func TestAddCodesRefusesBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.issue(t, c, "winter", coupon.CodeDraft{Code: "WINTER"})
	many := make([]coupon.CodeDraft, coupon.MaxCodes+1)
	for name, test := range map[string]struct {
		batch  string
		drafts []coupon.CodeDraft
		want   map[string]validation.Code
	}{
		"no batch and no codes": {"", nil, map[string]validation.Code{"batch.id": validation.Required, "codes": validation.Required}},
		"too many":              {"b", many, map[string]validation.Code{"codes": validation.TooLong}},
		"every field": {"b", []coupon.CodeDraft{{Code: "A B", Owner: coupon.OwnerEmail("none"), MaxUses: coupon.Set(0), ExpiresAt: calendar.On(1999, 1, 1)}}, map[string]validation.Code{
			"codes[0].code": validation.Malformed, "codes[0].owner": validation.Malformed,
			"codes[0].maxUses": validation.TooSmall, "codes[0].expiresAt": validation.TooSmall,
		}},
		"twice": {"b", []coupon.CodeDraft{{Code: "one"}, {Code: "two"}, {Code: "ONE "}}, map[string]validation.Code{"codes[2].code": validation.Mismatch}},
	} {
		_, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: test.batch}, test.drafts)
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid, name)
		got := map[string]validation.Code{}
		for _, f := range invalid.Fields {
			got[f.Path] = f.Code
		}
		require.Empty(t, cmp.Diff(test.want, got), name)
	}
	_, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "b"}, []coupon.CodeDraft{{Code: "free"}, {Code: "ten"}, {Code: "winter"}})
	var taken *coupon.TakenError
	require.ErrorAs(t, err, &taken)
	require.ErrorIs(t, err, coupon.ErrCodeTaken)
	require.Len(t, taken.Taken, 2)
	require.Equal(t, []int{1, 2}, []int{taken.Taken[0].Index, taken.Taken[1].Index})
	_, err = w.FindCode(t.Context(), "free")
	require.ErrorIs(t, err, coupon.ErrNotFound)
	for _, id := range []string{"", "cpn_none", "none"} {
		_, err = w.AddCodes(t.Context(), id, coupon.Batch{ID: "b"}, []coupon.CodeDraft{{}})
		require.ErrorIs(t, err, coupon.ErrNotFound)
	}
}

// TestCodesAreRefused: a code refuses for its owner, its expiry, its state and its limit, with its own
// parameters, beside the reasons of its coupon.
func TestCodesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	draft := tenOff()
	draft.MaxUsesPerUser = coupon.Clear[int]()
	c := w.create(t, draft)
	end := w.now.Add(time.Hour)
	codes := w.issue(t, c, "spring",
		coupon.CodeDraft{Code: "MINE", Owner: coupon.OwnerID(ann.ID)},
		coupon.CodeDraft{Code: "BYMAIL", Owner: coupon.OwnerEmail(ann.Email)},
		coupon.CodeDraft{Code: "THEIRS", Owner: coupon.OwnerID("bob")},
		coupon.CodeDraft{Code: "ENDS", ExpiresAt: calendar.At(end)},
		coupon.CodeDraft{Code: "ONCE", MaxUses: coupon.Set(1)},
		coupon.CodeDraft{Code: "OFF"},
	)
	_, err := w.UpdateCode(t.Context(), "off", coupon.CodePatch{Active: coupon.Set(false), Revision: coupon.Set(int64(1))})
	require.NoError(t, err)
	quote := func(customer eligibility.Customer, codes ...string) (couponkit.Quote, error) {
		return w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: codes, Customer: customer})
	}
	reasons := func(err error) (all []coupon.Reason) {
		for _, r := range coupon.RejectionsOf(err) {
			all = append(all, r.Reasons...)
		}
		return all
	}
	for _, code := range []string{"mine", "bymail", "ends", "once", "ten"} {
		q, err := quote(ann, code)
		require.NoError(t, err, code)
		require.Equal(t, code, strings.ToLower(q.Terms[0].Code.String()))
	}
	_, err = quote(ann, "theirs")
	require.Equal(t, []coupon.Reason{{Code: coupon.UserNotAllowed}}, reasons(err))
	_, err = quote(ann, "off")
	require.Equal(t, []coupon.Reason{{Code: coupon.CouponInactive}}, reasons(err))
	first, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Key: "k", Customer: bob, Cart: phones(), Codes: []string{"once"}, SuccessURL: "https://shop.example"})
	require.NoError(t, err)
	require.Equal(t, codes[4].Code, first.Uses[0].Code)
	require.Equal(t, codes[4].Code, first.Order.Coupons[0].Code)
	_, err = quote(ann, "once")
	require.Equal(t, []coupon.Reason{{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: 1}}}, reasons(err))
	_, err = quote(bob, "once") // an own open order is no obstacle
	require.NoError(t, err)
	_, err = quote(ann, "ten") // nor is the limit of another code
	require.NoError(t, err)
	found, err := w.FindCode(t.Context(), "once")
	require.NoError(t, err)
	require.Equal(t, int64(1), found.ReservedCount)
	w.now = end
	_, err = quote(ann, "ends")
	require.Equal(t, []coupon.Reason{{Code: coupon.CouponExpired, Params: coupon.Params{ExpiresAt: end}}}, reasons(err))
}

// TestOneCouponTwice: two codes of one coupon, or a code and its ID, are not_combinable. A code that is
// refused alone excludes no other.
func TestOneCouponTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.issue(t, c, "spring", coupon.CodeDraft{Code: "ONE"}, coupon.CodeDraft{Code: "TWO"}, coupon.CodeDraft{Code: "THEIRS", Owner: coupon.OwnerID("bob")})
	for _, test := range []struct {
		codes     []string
		conflicts eligibility.ConflictPolicy
		want      []string // the outcome of each code
	}{
		{[]string{"one", "two"}, eligibility.RefuseAll, []string{"not_combinable [TWO]", "not_combinable [ONE]"}},
		{[]string{"one", "two"}, eligibility.KeepFirst, []string{"applied", "not_combinable [ONE]"}},
		{[]string{"two", c.ID}, eligibility.RefuseAll, []string{"not_combinable [TEN]", "not_combinable [TWO]"}},
		{[]string{"ten", c.ID}, eligibility.KeepFirst, []string{"applied", "not_combinable [TEN]"}},
		{[]string{"two", "one"}, eligibility.KeepBest, []string{"not_combinable [ONE]", "applied"}},
		{[]string{"theirs", "one"}, eligibility.RefuseAll, []string{"user_not_allowed []", "applied"}},
		{[]string{"theirs", "one", "ten"}, eligibility.RefuseAll, []string{"user_not_allowed []", "not_combinable [TEN]", "not_combinable [ONE]"}},
	} {
		e, err := w.Explain(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: test.codes, Customer: ann, Conflicts: test.conflicts})
		require.NoError(t, err)
		var got []string
		for _, code := range e.Codes {
			text := "applied"
			if !code.Applied {
				text = fmt.Sprint(code.Reasons[0].Code, " ", code.Reasons[0].Params.ExcludedBy)
			}
			got = append(got, text)
		}
		require.Equal(t, test.want, got, test.codes)
	}
	codes := make([]string, pricing.MaxCoupons+1)
	for i := range codes {
		codes[i] = fmt.Sprint("code", i)
	}
	_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: codes, Customer: ann})
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// TestCodesOfADeletedCoupon are unknown, and can be those of another coupon, also while a use of the
// former coupon lives.
func TestCodesOfADeletedCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.issue(t, c, "spring", coupon.CodeDraft{Code: "ONE", MaxUses: coupon.Set(1)}, coupon.CodeDraft{Code: "TWO"})
	checkout := func(key string) (couponkit.Checkout, error) {
		return w.Checkout(t.Context(), couponkit.CheckoutRequest{Key: key, Customer: ann, Cart: phones(), Codes: []string{"one"}, SuccessURL: "https://shop.example"})
	}
	_, err := checkout("first")
	require.NoError(t, err)
	require.NoError(t, w.Delete(t.Context(), c.ID))
	for _, code := range []string{"one", "two", "ten"} {
		_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{code}, Customer: ann})
		require.ErrorIs(t, err, coupon.ErrNotFound)
		_, err = w.UpdateCode(t.Context(), code, coupon.CodePatch{Active: coupon.Set(false)})
		require.ErrorIs(t, err, coupon.ErrNotFound)
	}
	next := w.create(t, tenOff())
	w.issue(t, next, "spring", coupon.CodeDraft{Code: "ONE", MaxUses: coupon.Set(1)})
	again, err := checkout("second")
	require.NoError(t, err)
	require.Equal(t, next.ID, again.Uses[0].CouponID)
}

// TestUpdateCode: only the codes of batches change, and a change of nothing is none.
func TestUpdateCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	code := w.issue(t, c, "spring", coupon.CodeDraft{Code: "ONE", MaxUses: coupon.Set(1), Owner: coupon.OwnerID("ann")})[0]
	same, err := w.UpdateCode(t.Context(), "one", coupon.CodePatch{MaxUses: coupon.Set(1), Active: coupon.Set(true)})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(code, same))
	changed, err := w.UpdateCode(t.Context(), "one", coupon.CodePatch{
		MaxUses: coupon.Clear[int](), Owner: coupon.Set(coupon.OwnerEmail("bob@example.org")), ExpiresAt: coupon.Set(calendar.On(2099, 1, 1)),
	})
	require.NoError(t, err)
	require.Equal(t, []any{int64(0), "email:bob@example.org", int64(2)}, []any{changed.MaxUses, changed.Owner.String(), changed.Revision})
	_, err = w.UpdateCode(t.Context(), "one", coupon.CodePatch{Active: coupon.Set(false), Revision: coupon.Set(int64(1))})
	require.ErrorIs(t, err, store.ErrStaleRevision)
	_, err = w.UpdateCode(t.Context(), "ten", coupon.CodePatch{Active: coupon.Set(false), MaxUses: coupon.Set(0)})
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	got := map[string]bool{}
	for _, f := range invalid.Fields {
		got[f.Path+" "+string(f.Code)] = true
	}
	require.Equal(t, map[string]bool{"active immutable": true, "maxUses immutable": true, "maxUses too_small": true}, got)
	history, err := w.History(t.Context(), c.ID, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []store.EntryKind{store.CodeChanged, store.CodesAdded}, []store.EntryKind{history[0].Kind, history[1].Kind})
	require.NotContains(t, string(history[0].Data), "bob")
}
