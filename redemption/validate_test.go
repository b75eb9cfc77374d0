package redemption_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// storable is an order with a use that a store takes.
func storable() (redemption.Order, redemption.Use) {
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000},
	}}, pricing.Terms{})
	if err != nil {
		panic(err)
	}
	order := redemption.Order{
		ID: "ord_1", Key: "key", CustomerID: "ann", State: redemption.OrderOpen, Quote: quote, CreatedAt: at(0),
		Metadata: map[string]string{"channel": "web"}, Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders("ann"), Amount: 1}},
	}
	use := redemption.Use{
		ID: "use_1", CouponID: "cpn_1", CustomerID: "ann", OrderID: "ord_1", State: redemption.Reserved, Origin: redemption.FromCheckout,
		CreatedAt: at(0), Claims: []eligibility.Claim{{Counter: eligibility.CouponUses("cpn_1"), Amount: 1, Limit: 1}},
	}
	return order, use
}

// faultsOf returns the fields of a validation error with their codes.
func faultsOf(t *testing.T, err error) map[string]validation.Code {
	t.Helper()
	got := map[string]validation.Code{}
	if err == nil {
		return got
	}
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	for _, f := range faults.Fields {
		got[f.Path] = f.Code
	}
	return got
}

type faults = map[string]validation.Code

func TestWhatAStoreTakesOfAnOrder(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", redemption.MaxIDLength+1)
	claims := func(c ...eligibility.Claim) func(*redemption.Order) {
		return func(o *redemption.Order) { o.Claims = c }
	}
	for name, test := range map[string]struct {
		change func(*redemption.Order)
		want   faults
	}{
		"as it is": {func(*redemption.Order) {}, faults{}},
		"nothing": {func(o *redemption.Order) { *o = redemption.Order{} }, faults{
			"id": validation.Required, "state": validation.Unknown, "createdAt": validation.Required,
		}},
		"nobody's":             {func(o *redemption.Order) { o.CustomerID = "" }, faults{"customerId": validation.Required}},
		"long texts":           {func(o *redemption.Order) { o.ID, o.Key, o.ReplacedBy = long, long, long }, faults{"id": validation.TooLong, "key": validation.TooLong, "replacedBy": validation.TooLong}},
		"the longest texts":    {func(o *redemption.Order) { o.ID, o.Key = long[1:], long[1:] }, faults{}},
		"text with NUL":        {func(o *redemption.Order) { o.Fingerprint = "\x00" }, faults{"fingerprint": validation.Malformed}},
		"text that is none":    {func(o *redemption.Order) { o.Replaces = "\xff" }, faults{"replaces": validation.Malformed}},
		"a line's text":        {func(o *redemption.Order) { o.Quote.Lines[0].ItemID = "\x00" }, faults{"quote.lines[0].itemId": validation.Malformed}},
		"before the year 1":    {func(o *redemption.Order) { o.CreatedAt = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) }, faults{"createdAt": validation.TooSmall}},
		"after the year 9999":  {func(o *redemption.Order) { o.Deadline = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }, faults{"deadline": validation.TooLarge}},
		"many coupons":         {func(o *redemption.Order) { o.Coupons = make([]coupon.Snapshot, redemption.MaxUses+1) }, faults{"coupons": validation.TooLong}},
		"many claims":          {claims(make([]eligibility.Claim, redemption.MaxClaims+1)...), faults{"claims": validation.TooLong}},
		"claims of nothing":    {claims(eligibility.Claim{Limit: -1}), faults{"claims[0].counter": validation.Required, "claims[0].amount": validation.TooSmall, "claims[0].limit": validation.TooSmall}},
		"a claim of too much":  {claims(eligibility.Claim{Counter: "c", Amount: eligibility.MaxAmount + 1}), faults{"claims[0].amount": validation.TooLarge}},
		"the largest claim":    {claims(eligibility.Claim{Counter: strings.Repeat("c", eligibility.MaxCounterLength), Amount: eligibility.MaxAmount}), faults{}},
		"much metadata":        {func(o *redemption.Order) { o.Metadata = many(redemption.MaxMetadata + 1) }, faults{"metadata": validation.TooLong}},
		"the most metadata":    {func(o *redemption.Order) { o.Metadata = many(redemption.MaxMetadata) }, faults{}},
		"metadata without end": {func(o *redemption.Order) { o.Metadata["channel"] = strings.Repeat("x", redemption.MaxMetadataLength+1) }, faults{"metadata.channel": validation.TooLong}},
		"an odd quote":         {func(o *redemption.Order) { o.Quote.Total++ }, faults{"quote.total": validation.Mismatch}},
		"a payment's order, which knows no quote": {func(o *redemption.Order) {
			o.Key, o.CustomerID, o.Quote, o.State, o.SessionID = "", "", pricing.Quote{}, redemption.OrderPaid, "cs"
		}, faults{}},
	} {
		o, _ := storable()
		test.change(&o)
		require.Empty(t, cmp.Diff(test.want, faultsOf(t, o.Validate())), name)
	}
}

func many(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = "v"
	}
	return m
}

func TestWhatAStoreTakesOfAUse(t *testing.T) {
	t.Parallel()
	bought := func(u *redemption.Use) {
		u.Origin, u.OrderID, u.ExchangeID, u.Points, u.PointsState = redemption.FromPoints, "", "use_1", 1, redemption.PointsPending
	}
	for name, test := range map[string]struct {
		change func(*redemption.Use)
		want   faults
	}{
		"as it is": {func(*redemption.Use) {}, faults{}},
		"bought":   {bought, faults{}},
		"nothing": {func(u *redemption.Use) { *u = redemption.Use{} }, faults{
			"id": validation.Required, "couponId": validation.Required, "customerId": validation.Required, "orderId": validation.Required,
			"state": validation.Unknown, "origin": validation.Unknown, "createdAt": validation.Required,
		}},
		"of a payment of nobody":   {func(u *redemption.Use) { u.Origin, u.CustomerID = redemption.FromPayment, "" }, faults{}},
		"a negative discount":      {func(u *redemption.Use) { u.Discount = -1 }, faults{"discount": validation.TooSmall}},
		"points of no exchange":    {func(u *redemption.Use) { u.Points = 1 }, faults{"points": validation.NotAllowed}},
		"an exchange for nothing":  {func(u *redemption.Use) { bought(u); u.Points = 0 }, faults{"points": validation.Required}},
		"an exchange of no name":   {func(u *redemption.Use) { bought(u); u.ExchangeID = "" }, faults{"exchangeId": validation.Required}},
		"points of an odd state":   {func(u *redemption.Use) { u.PointsState = redemption.PointsPassedOn + 1 }, faults{"pointsState": validation.Unknown}},
		"claims of nothing at all": {func(u *redemption.Use) { u.Claims = []eligibility.Claim{{Counter: "c"}} }, faults{"claims[0].amount": validation.TooSmall}},
	} {
		_, u := storable()
		test.change(&u)
		require.Empty(t, cmp.Diff(test.want, faultsOf(t, u.Validate())), name)
	}
}

func TestWhatAStoreTakesOfAnEvent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event redemption.Event
		want  faults
	}{
		"a payment":                 {redemption.Event{Kind: paid, At: at(0), SessionID: "cs"}, faults{}},
		"a payment of an order":     {redemption.Event{Kind: paid, At: at(0), OrderID: "ord"}, faults{}},
		"a payment of nothing":      {redemption.Event{Kind: paid, At: at(0)}, faults{"sessionId": validation.Required, "orderId": validation.Required}},
		"a begun payment":           {redemption.Event{Kind: begun, At: at(0), SessionID: "cs"}, faults{"orderId": validation.Required}},
		"nothing":                   {redemption.Event{}, faults{"kind": validation.Unknown, "at": validation.Required, "orderId": validation.Required}},
		"a session of no order":     {redemption.Event{Kind: attached, At: at(0), SessionID: "cs"}, faults{"orderId": validation.Required}},
		"an end by the session":     {redemption.Event{Kind: expired, At: at(0), SessionID: "cs"}, faults{}},
		"giving up a use":           {redemption.Event{Kind: cancel, At: at(0), UseID: "use"}, faults{}},
		"giving up nothing":         {redemption.Event{Kind: cancel, At: at(0)}, faults{"orderId": validation.Required}},
		"points of no use":          {redemption.Event{Kind: redemption.PointsExchanged, At: at(0)}, faults{"useId": validation.Required}},
		"a payment of a use":        {redemption.Event{Kind: paid, At: at(0), SessionID: "cs", UseID: "use"}, faults{"useId": validation.NotAllowed}},
		"a session's long address":  {redemption.Event{Kind: attached, At: at(0), OrderID: "ord", SessionID: "cs", SessionURL: strings.Repeat("u", redemption.MaxMetadataLength+1)}, faults{"sessionUrl": validation.TooLong}},
		"a deadline out of bounds":  {redemption.Event{Kind: paid, At: at(0), SessionID: "cs", Deadline: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}, faults{"deadline": validation.TooLarge}},
		"an order's ID that is odd": {redemption.Event{Kind: paid, At: at(0), SessionID: "cs", OrderID: "\x00"}, faults{"orderId": validation.Malformed}},
	} {
		require.Empty(t, cmp.Diff(test.want, faultsOf(t, test.event.Validate())), name)
	}
}

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	require.NoError(t, redemption.CheckRequest("key", map[string]string{"k": "v"}))
	require.Equal(t, faults{"key": validation.Malformed, "metadata.k": validation.Malformed},
		faultsOf(t, redemption.CheckRequest("\xff", map[string]string{"k": "\x00"})))
}

// TestRecordsAsJSON: records come back, and the counters of a use are named in what is
// written.
func TestRecordsAsJSON(t *testing.T) {
	t.Parallel()
	o, u := storable()
	u.PointsState = redemption.PointsRefunded
	text, err := json.Marshal(struct {
		Order redemption.Order `json:"order"`
		Use   redemption.Use   `json:"use"`
	}{o, u})
	require.NoError(t, err)
	require.Contains(t, string(text), `"counter":"shared/uses/cpn_1"`)
	var back struct {
		Order redemption.Order `json:"order"`
		Use   redemption.Use   `json:"use"`
	}
	require.NoError(t, json.Unmarshal(text, &back))
	require.Empty(t, cmp.Diff(o, back.Order))
	require.Empty(t, cmp.Diff(u, back.Use))
	for _, bad := range []string{`{"state":"OPEN"}`, `{"state":""}`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(redemption.Order)), bad)
		require.Error(t, json.Unmarshal([]byte(bad), new(redemption.Use)), bad)
	}
	require.Error(t, json.Unmarshal([]byte(`{"origin":"shop"}`), new(redemption.Use)))
	require.Error(t, json.Unmarshal([]byte(`{"pointsState":"lost"}`), new(redemption.Use)))
	kind, err := json.Marshal(redemption.PointsGivenBack)
	require.NoError(t, err)
	require.Equal(t, `"points_given_back"`, string(kind))
}

func TestFreeAndDue(t *testing.T) {
	t.Parallel()
	held := redemption.Use{ID: "use", State: redemption.Reserved, Origin: redemption.FromPoints, PointsState: redemption.PointsDebited}
	for name, test := range map[string]struct {
		change    func(*redemption.Use)
		free, due bool
	}{
		"held":                {func(*redemption.Use) {}, true, false},
		"in an order":         {func(u *redemption.Use) { u.OrderID, u.Deadline = "ord", at(1) }, false, false},
		"not debited yet":     {func(u *redemption.Use) { u.PointsState = redemption.PointsPending }, false, false},
		"not debited in time": {func(u *redemption.Use) { u.PointsState, u.Deadline = redemption.PointsPending, at(100) }, false, true},
		"debited in time":     {func(u *redemption.Use) { u.Deadline = at(101) }, true, false},
		"given up":            {func(u *redemption.Use) { u.State, u.PointsState = redemption.Released, redemption.PointsRefundDue }, false, true},
		"refunded":            {func(u *redemption.Use) { u.State, u.PointsState = redemption.Released, redemption.PointsRefunded }, false, false},
	} {
		u := held
		test.change(&u)
		require.Equal(t, []bool{test.free, test.due}, []bool{u.Free(), u.Due(at(100))}, name)
	}
	require.True(t, redemption.Use{}.IsZero())
	require.False(t, held.IsZero())
	require.True(t, redemption.Order{}.IsZero())
}

// TestPassOn: the use of an exchange gives its points to the use of a checkout, and holds
// nothing any more.
func TestPassOn(t *testing.T) {
	t.Parallel()
	u := redemption.Use{ID: "use", State: redemption.Reserved, Origin: redemption.FromPoints, PointsState: redemption.PointsDebited, Version: 1, Claims: []eligibility.Claim{{Counter: "c", Amount: 1}}}
	passed := u.PassOn(at(7))
	require.Equal(t, []any{redemption.Released, redemption.PointsPassedOn, int64(2), at(7)}, []any{passed.State, passed.PointsState, passed.Version, passed.ReleasedAt})
	require.Empty(t, redemption.Holdings(redemption.Order{}, passed))
}

// TestResume: a replaced order whose payment is on its way has its claims again.
func TestResume(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	o, uses = happens(t, o, uses, event(attached, "cs", 10))
	replaced, released, err := o.Replace("ord_next", at(50), uses...)
	require.NoError(t, err)
	waits, again, err := replaced.Resume(event(pending, "cs", 60), released...)
	require.NoError(t, err)
	require.Equal(t, redemption.OrderAwaitingPayment, waits.State)
	require.Equal(t, map[string]eligibility.Count{"orders": {Reserved: 1}, "a": {Reserved: 1}, "budget": {Reserved: 100}}, redemption.Holdings(waits, again...))
	_, _, err = replaced.Resume(event(pending, "cs_other", 60), released...)
	require.ErrorIs(t, err, redemption.ErrOtherSession)
	require.ErrorContains(t, err, "ord is cancelled, event payment_pending")
}

// TestFreshAnswers: an answer is as old as its question. What was recorded since the question is newer.
func TestFreshAnswers(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	o, uses = happens(t, o, uses, event(attached, "cs", 10))
	replaced, released, err := o.Replace("ord_next", at(50), uses...)
	require.NoError(t, err)
	answer := func(version int64) redemption.Event { return redemption.Event{Kind: pending, AskedAt: version} }
	require.False(t, replaced.Fresh(answer(0)), "nobody has asked")
	require.False(t, replaced.Fresh(answer(o.Version)), "it was replaced since")
	require.True(t, replaced.Fresh(answer(replaced.Version)))
	ended, _ := happens(t, replaced, released, event(redemption.PaymentEnded, "cs", 55))
	require.False(t, ended.Fresh(answer(replaced.Version)), "the end of the payment was recorded since")
	asks := replaced.Ask(event(pending, "", 60))
	require.False(t, asks.Fresh(answer(replaced.Version)), "it has to be asked since")
	require.True(t, asks.Fresh(answer(asks.Version)))
}
