package couponkit_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// writes counts the changes of coupons that reach the store.
type writes struct {
	store.Store
	n int
}

func (s *writes) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	s.n++
	return s.Store.SaveCoupon(ctx, c)
}

// everything is a draft with every field that a patch can change.
func everything(w *world) coupon.Draft {
	d := tenOff()
	d.Description = "For everybody on the list"
	d.AppliesTo = coupon.Specific
	d.PlanIDs, d.DeviceIDs, d.AccessoryIDs = []string{"gold"}, []string{"phone"}, []string{"case"}
	d.Kinds, d.Categories = []string{"plan", "device", "accessory"}, []string{"new"}
	d.ExcludedItemIDs, d.ExcludedCategories = []string{"tablet"}, []string{"sale"}
	d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"ann@example.org", "bob@example.org"}
	d.MaxUses, d.MaxUsesPerUser = coupon.Set(9), coupon.Set(2)
	d.MinQuantity, d.FirstOrder = coupon.Set(2), true
	d.Contains = &coupon.ContentsDraft{ScopeDraft: coupon.ScopeDraft{Kinds: []string{"device"}}, Quantity: 2, MinPurchase: coupon.Amounts{"": "5"}}
	d.ContainsNot = &coupon.ScopeDraft{Categories: []string{"sale"}}
	d.MaxPurchase, d.MaxQuantity = coupon.Amounts{"EUR": "2000", "USD": "2200.00"}, coupon.Set(20)
	d.Channels, d.Countries = []string{"web"}, []string{"AT", "DE"}
	d.CustomerTags = coupon.CustomerTags{Any: []string{"gold"}, None: []string{"staff"}}
	d.Schedule = coupon.Schedule{TimeZone: "Europe/Berlin", Hours: []coupon.Hours{{Day: time.Friday, From: "00:00", Until: "24:00"}}}
	d.Budget = coupon.NewAmounts(pricing.NewMoney(500_00, pricing.EUR()))
	d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCode, Period: calendar.Week, Zone: zone("Europe/Berlin"), MaxUses: 7}}
	d.MinPurchase = coupon.Amounts{"EUR": "20", "USD": "22.00"}
	d.Group = "spring"
	d.RefundPolicy, d.RestoreOnRefund = pricing.Rebill, coupon.RestoreAlways
	d.StartsAt, d.ExpiresAt = calendar.At(w.now), calendar.At(w.now.Add(48*time.Hour))
	return d
}

// zone is the time zone with the name, which the system has.
func zone(name string) calendar.Zone {
	z, err := calendar.ParseZone(name)
	if err != nil {
		panic(err)
	}
	return z
}

// samePatches give each editable field the value that everything has.
func samePatches(w *world) map[string]coupon.Patch {
	d := everything(w)
	return map[string]coupon.Patch{
		"Name":               {Name: coupon.Set(d.Name)},
		"Description":        {Description: coupon.Set(d.Description)},
		"AppliesTo":          {AppliesTo: coupon.Set(d.AppliesTo)},
		"PlanIDs":            {PlanIDs: coupon.Set(d.PlanIDs)},
		"DeviceIDs":          {DeviceIDs: coupon.Set(d.DeviceIDs)},
		"AccessoryIDs":       {AccessoryIDs: coupon.Set(d.AccessoryIDs)},
		"Kinds":              {Kinds: coupon.Set(d.Kinds)},
		"Categories":         {Categories: coupon.Set(d.Categories)},
		"ExcludedItemIDs":    {ExcludedItemIDs: coupon.Set(d.ExcludedItemIDs)},
		"ExcludedCategories": {ExcludedCategories: coupon.Set(d.ExcludedCategories)},
		"Group":              {Group: coupon.Set(d.Group)},
		"Distribution":       {Distribution: coupon.Set(d.Distribution)},
		"AllowedUserEmails":  {AllowedUserEmails: coupon.Set(d.AllowedUserEmails)},
		"PointsRequired":     {PointsRequired: coupon.Clear[int64]()},
		"MaxUses":            {MaxUses: d.MaxUses},
		"MaxUsesPerUser":     {MaxUsesPerUser: d.MaxUsesPerUser},
		"MinPurchase":        {MinPurchase: coupon.Set(d.MinPurchase)},
		"MaxPurchase":        {MaxPurchase: coupon.Set(d.MaxPurchase)},
		"MinQuantity":        {MinQuantity: d.MinQuantity},
		"MaxQuantity":        {MaxQuantity: d.MaxQuantity},
		"Contains":           {Contains: coupon.Set(*d.Contains)},
		"ContainsNot":        {ContainsNot: coupon.Set(*d.ContainsNot)},
		"CustomerTags":       {CustomerTags: coupon.Set(d.CustomerTags)},
		"FirstOrder":         {FirstOrder: coupon.Set(d.FirstOrder)},
		"Schedule":           {Schedule: coupon.Set(d.Schedule)},
		"Channels":           {Channels: coupon.Set(d.Channels)},
		"Countries":          {Countries: coupon.Set(d.Countries)},
		"Budget":             {Budget: coupon.Set(d.Budget)},
		"PeriodLimits":       {PeriodLimits: coupon.Set(d.PeriodLimits)},
		"StartsAt":           {StartsAt: coupon.Set(d.StartsAt)},
		"ExpiresAt":          {ExpiresAt: coupon.Set(d.ExpiresAt)},
		"Revision":           {Revision: coupon.Set[int64](1)},
		"Code":               {Code: coupon.Set(d.Code)},
		"DiscountType":       {DiscountType: coupon.Set(d.DiscountType)},
		"DiscountValue":      {DiscountValue: coupon.Set(d.Amount)},
		"Currency":           {Currency: coupon.Set("EUR")},
		"RefundPolicy":       {RefundPolicy: coupon.Set(d.RefundPolicy)},
		"RestoreOnRefund":    {RestoreOnRefund: coupon.Set(d.RestoreOnRefund)},
		"Automatic":          {Automatic: coupon.Set(d.Automatic)},
	}
}

// TestAChangeThatChangesNothing keeps revision and UpdatedAt, and asks nobody: neither store nor
// processor.
func TestAChangeThatChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counted := &writes{Store: w.store}
	service, err := couponkit.New(counted, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	c, err := service.Create(t.Context(), everything(w))
	require.NoError(t, err)
	want, same := w.get(t, c.ID), samePatches(w)
	w.pass(time.Minute)
	w.fake.ForgetCalls()
	counted.n = 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[coupon.Patch]()) {
		if field.Name == "Unread" {
			continue // is no field of the coupon
		}
		patch, given := same[field.Name]
		require.True(t, given, "no patch of %s", field.Name)
		got, err := service.Update(t.Context(), c.ID, patch)
		require.NoError(t, err, field.Name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after the same %s (-want +got):\n%s", field.Name, diff)
		}
	}
	got, err := service.SetActive(t.Context(), c.ID, true)
	require.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after switching on what is on (-want +got):\n%s", diff)
	}
	if calls := w.fake.Calls(); counted.n != 0 || len(calls) != 0 {
		t.Errorf("%d writes to the store and calls %v, want none", counted.n, calls)
	}
	_, err = service.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set(c.Name), Revision: coupon.Set[int64](2)})
	require.ErrorIs(t, err, store.ErrStaleRevision)
}

// TestEveryFieldIsAChange: a patch of any editable field raises the revision.
func TestEveryFieldIsAChange(t *testing.T) {
	t.Parallel()
	for field, patch := range map[string]coupon.Patch{
		"name":                   {Name: coupon.Set("Other")},
		"description":            {Description: coupon.Clear[string]()},
		"scope":                  {AppliesTo: coupon.Set(coupon.All), PlanIDs: coupon.Clear[[]string](), DeviceIDs: coupon.Clear[[]string](), AccessoryIDs: coupon.Clear[[]string]()},
		"plans":                  {PlanIDs: coupon.Set([]string{"silver"})},
		"devices":                {DeviceIDs: coupon.Set([]string{"tablet"})},
		"accessories":            {AccessoryIDs: coupon.Set([]string{"cable"})},
		"distribution":           {Distribution: coupon.Set(coupon.General), AllowedUserEmails: coupon.Clear[coupon.EmailList]()},
		"points":                 {Distribution: coupon.Set(coupon.PointsRedeemable), AllowedUserEmails: coupon.Clear[coupon.EmailList](), PointsRequired: coupon.Set[int64](5)},
		"addresses":              {AllowedUserEmails: coupon.Set(coupon.EmailList{"ann@example.org"})},
		"uses":                   {MaxUses: coupon.Clear[int]()},
		"uses per user":          {MaxUsesPerUser: coupon.Set(3)},
		"minimum":                {MinPurchase: coupon.Set(coupon.Amounts{"": "21"})},
		"maximum":                {MaxPurchase: coupon.Set(coupon.Amounts{"": "2100"})},
		"quantity":               {MinQuantity: coupon.Set(3)},
		"most units":             {MaxQuantity: coupon.Set(21)},
		"contents":               {Contains: coupon.Clear[coupon.ContentsDraft]()},
		"exclusions of contents": {ContainsNot: coupon.Set(coupon.ScopeDraft{Categories: []string{"old"}})},
		"tags":                   {CustomerTags: coupon.Clear[coupon.CustomerTags]()},
		"first order":            {FirstOrder: coupon.Set(false)},
		"schedule":               {Schedule: coupon.Clear[coupon.Schedule]()},
		"channels":               {Channels: coupon.Clear[[]string]()},
		"countries":              {Countries: coupon.Set([]string{"CH"})},
		"budget":                 {Budget: coupon.Clear[coupon.Amounts]()},
		"period limits":          {PeriodLimits: coupon.Clear[[]coupon.PeriodLimit]()},
		"minimums":               {MinPurchase: coupon.Clear[coupon.Amounts]()},
		"group":                  {Group: coupon.Set("summer")},
		"kinds":                  {Kinds: coupon.Clear[[]string]()},
		"categories":             {Categories: coupon.Set([]string{"old"})},
		"exclusions":             {ExcludedItemIDs: coupon.Clear[[]string](), ExcludedCategories: coupon.Clear[[]string]()},
		"start":                  {StartsAt: coupon.Clear[calendar.Moment]()},
		"expiry":                 {ExpiresAt: coupon.Clear[calendar.Moment]()},
		"restored":               {RestoreOnRefund: coupon.Clear[coupon.Restore]()},
	} {
		w := newWorld(t)
		c := w.create(t, everything(w))
		w.pass(time.Minute)
		got, err := w.Update(t.Context(), c.ID, patch)
		require.NoError(t, err, field)
		if got.Revision != 2 || !got.UpdatedAt.Equal(w.now) {
			t.Errorf("a change of %s: revision %d at %v, want 2 at %v", field, got.Revision, got.UpdatedAt, w.now)
		}
	}
}

// TestAChangeOfNothingRepairsTheMirror that is of another revision, and leaves the coupon.
func TestAChangeOfNothingRepairsTheMirror(t *testing.T) {
	t.Parallel()
	for name, repeat := range map[string]func(w *world, c coupon.Coupon) (coupon.Coupon, error){
		"update": func(w *world, c coupon.Coupon) (coupon.Coupon, error) {
			return w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set(c.Name)})
		},
		"switch": func(w *world, c coupon.Coupon) (coupon.Coupon, error) { return w.SetActive(t.Context(), c.ID, true) },
	} {
		w := newWorld(t)
		c := w.create(t, tenOff())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.UpdateMirror, Kind: fakeprocessor.LostAfter})
		_, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New")})
		require.ErrorIs(t, err, couponkit.ErrUnavailable, name)
		before := w.get(t, c.ID)
		require.False(t, before.Mirrored(), name)
		w.pass(time.Minute)
		for _, op := range []fakeprocessor.Op{fakeprocessor.UpdateMirror, fakeprocessor.SetMirrorActive} {
			w.fake.Inject(fakeprocessor.Fault{Op: op, Kind: fakeprocessor.LostBefore})
		}
		_, err = repeat(w, c)
		require.ErrorIs(t, err, couponkit.ErrUnavailable, name)
		if diff := cmp.Diff(before, w.get(t, c.ID)); diff != "" {
			t.Errorf("%s while the processor is down (-want +got):\n%s", name, diff)
		}
		w.fake.Heal()
		got, err := repeat(w, c)
		require.NoError(t, err, name)
		w.wantMirrored(t, c.ID, processor.MirrorValid)
		got.Mirror = before.Mirror
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("%s, mirror aside (-want +got):\n%s", name, diff)
		}
	}
}

// holderOf is the coupon that a refusal of a taken code names.
func holderOf(t *testing.T, err error) string {
	t.Helper()
	require.ErrorIs(t, err, coupon.ErrCodeTaken)
	var refused *coupon.Rejection
	require.ErrorAs(t, err, &refused)
	return refused.CouponID
}

// TestATakenCodeNamesItsCoupon and never one that did not come to be. What has the code at the
// processor alone is no coupon.
func TestATakenCodeNamesItsCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	_, err := w.Create(t.Context(), tenOff())
	require.Equal(t, c.ID, holderOf(t, err))
	require.Equal(t, c.ID, w.attempts[len(w.attempts)-1].CouponID)

	_, err = w.SetActive(t.Context(), c.ID, false)
	require.NoError(t, err)
	for _, code := range []string{"TEN", "OTHER"} {
		_, err = w.fake.PlantForeignCode(code)
		require.NoError(t, err)
	}
	_, err = w.SetActive(t.Context(), c.ID, true)
	require.Empty(t, holderOf(t, err))
	require.Equal(t, c.ID, w.attempts[len(w.attempts)-1].CouponID, "the coupon that the administrator named")
	d := tenOff()
	d.Code = "OTHER"
	_, err = w.Create(t.Context(), d)
	require.Empty(t, holderOf(t, err))
	require.ErrorIs(t, err, processor.ErrCodeTaken)

	stuck := percentOff(10)
	gone := w.create(t, stuck)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.RemoveMirror, Kind: fakeprocessor.LostBefore, Times: 2})
	require.ErrorIs(t, w.Delete(t.Context(), gone.ID), couponkit.ErrUnavailable)
	_, err = w.Create(t.Context(), stuck)
	require.Equal(t, gone.ID, holderOf(t, err), "a coupon that is being deleted still has its code")
	w.create(t, stuck)
}

// TestConcurrentCreationsNameTheWinner: all who lose learn the one that has the code.
func TestConcurrentCreationsNameTheWinner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithObserver(couponkit.ObserverFunc(func(context.Context, couponkit.Attempt) {})))
	var group sync.WaitGroup
	results := make([]error, 16)
	winners := make([]coupon.Coupon, len(results))
	for i := range results {
		group.Go(func() { winners[i], results[i] = w.Create(t.Context(), tenOff()) })
	}
	group.Wait()
	found, err := w.Find(t.Context(), "ten")
	require.NoError(t, err)
	for i, err := range results {
		if err == nil {
			require.Equal(t, found.ID, winners[i].ID)
			continue
		}
		require.Equal(t, found.ID, holderOf(t, err))
	}
}

// TestACodeThatPassesFromOneToTheNext: a coupon that was gone before it could be named.
func TestACodeThatPassesFromOneToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	free := errors.New("the store is down")
	for _, look := range []struct {
		err, want error
	}{{coupon.ErrNotFound, coupon.ErrCodeTaken}, {free, free}} {
		service, err := couponkit.New(elusive{w.store, look.err}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
		require.NoError(t, err)
		_, err = service.Create(t.Context(), tenOff())
		require.ErrorIs(t, err, look.want)
		if errors.Is(err, coupon.ErrCodeTaken) {
			require.Empty(t, holderOf(t, err))
		}
	}
}

// elusive is a store in which every code is taken, and whose coupons cannot be found.
type elusive struct {
	store.Store
	err error
}

func (elusive) SaveCoupon(_ context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return coupon.Coupon{}, coupon.Reject(c.Coupon.ID, coupon.CodeTaken, coupon.Params{})
}

func (s elusive) LookUp(context.Context, store.LookUp) (store.LookedUp, error) {
	return store.LookedUp{}, s.err
}

// TestFind reads what a customer's look-up reads, and returns the whole coupon.
func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := w.create(t, everything(w))
	for _, typed := range []string{"TEN", " ten ", "ＴＥＮ", want.ID, " " + want.ID + "\n"} {
		got, err := w.Find(t.Context(), typed)
		require.NoError(t, err, typed)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Find(%q) (-want +got):\n%s", typed, diff)
		}
	}
	for typed, refused := range map[string]error{
		"": coupon.ErrCodeRequired, " \t": coupon.ErrCodeRequired, "NONE": coupon.ErrNotFound, "cpn_none": coupon.ErrNotFound, "no code": coupon.ErrNotFound,
	} {
		_, err := w.Find(t.Context(), typed)
		require.ErrorIs(t, err, refused, "%q", typed)
	}
	off, err := w.SetActive(t.Context(), want.ID, false)
	require.NoError(t, err)
	got, err := w.Find(t.Context(), "TEN")
	require.NoError(t, err)
	require.Equal(t, off.Revision, got.Revision, "an administrator finds what is switched off")
	for _, state := range []coupon.State{coupon.Pending, coupon.Deleting} {
		got.State = state
		got, err = w.save(store.EditCoupon, got)
		require.NoError(t, err)
		for _, typed := range []string{"TEN", want.ID} {
			_, err = w.Find(t.Context(), typed)
			require.ErrorIs(t, err, coupon.ErrNotFound, "%s, %s", typed, state)
		}
	}
}
