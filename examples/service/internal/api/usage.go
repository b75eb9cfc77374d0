package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

type redemptionPage struct {
	Items []redemptionView `json:"items"`
	Total int64            `json:"total"`
	// AtLeast means that there are more than Total redemptions: the store stopped counting.
	AtLeast bool   `json:"atLeast"`
	Next    string `json:"next"`
	// Unreadable lists the redemptions of the page that the store cannot read.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// redemptionView is a redemption as administrators see it.
type redemptionView struct {
	ID            string            `json:"id"`
	CustomerID    string            `json:"customerId"`
	CustomerEmail string            `json:"customerEmail"`
	State         redemption.State  `json:"state"`
	Origin        redemption.Origin `json:"origin"`
	OrderID       string            `json:"orderId,omitempty"`
	SessionID     string            `json:"sessionId,omitempty"`
	Points        int64             `json:"points"`
	// AwaitingPayment and OverLimit mark redemptions that an administrator may have to check.
	AwaitingPayment bool      `json:"awaitingPayment"`
	OverLimit       bool      `json:"overLimit"`
	CreatedAt       time.Time `json:"createdAt"`
	CompletedAt     time.Time `json:"completedAt,omitzero"`
	ReleasedAt      time.Time `json:"releasedAt,omitzero"`
}

func (a *API) redemptions(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("after", "pageSize")
	list := store.UseList{
		CouponID: r.PathValue("id"), After: q.text("after"),
		PageSize: q.number("pageSize", store.DefaultPageSize, store.MaxPageSize),
	}
	if err := q.faults.Err(); err != nil {
		return err
	}
	page, err := a.redemptionsOf(r.Context(), list)
	if err != nil {
		return err
	}
	customers := make([]string, len(page.Items))
	for i, item := range page.Items {
		customers[i] = item.CustomerID
	}
	emails, err := a.Shop.Emails(r.Context(), customers)
	if err != nil {
		return err
	}
	view := redemptionPage{
		Items: make([]redemptionView, len(page.Items)), Total: page.Total, AtLeast: page.AtLeast, Next: page.Next,
		Unreadable: unreadable(page.Unreadable),
	}
	for i, item := range page.Items {
		var found store.Settled
		if item.OrderID != "" {
			found, err = a.Service.Order(r.Context(), couponkit.OrderRequest{OrderID: item.OrderID, AnyCustomer: true})
			if err != nil && !errors.Is(err, store.ErrUnreadable) {
				return err
			}
		}
		view.Items[i] = redemptionView{
			ID: item.ID, CustomerID: item.CustomerID, CustomerEmail: emails[item.CustomerID],
			State: item.State, Origin: item.Origin, OrderID: item.OrderID, SessionID: found.Order.SessionID, Points: item.Points,
			AwaitingPayment: found.Order.State == redemption.OrderAwaitingPayment, OverLimit: item.OverLimit,
			CreatedAt: item.CreatedAt, CompletedAt: item.CompletedAt, ReleasedAt: item.ReleasedAt,
		}
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// redemptionsOf returns a page of a coupon's redemptions. Redemptions of deleted coupons are kept. If
// there are none, the coupon must exist.
func (a *API) redemptionsOf(ctx context.Context, list store.UseList) (store.UsePage, error) {
	page, err := a.Service.Uses(ctx, list)
	if err == nil && page.Total == 0 {
		_, err = a.Service.Get(ctx, list.CouponID)
	}
	return page, err
}

// Usage is how a coupon was used on the last days, the oldest first.
type Usage struct {
	TimeZone string     `json:"timeZone"`
	Days     []UsageDay `json:"days"`
	// Budgets are the coupon's budgets now, currency by currency.
	Budgets []UsageBudget `json:"budgets"`
}

// UsageBudget is a budget in one currency, and how much of it is spent or reserved.
type UsageBudget struct {
	Currency string `json:"currency"`
	Amount   string `json:"amount"`
	Spent    string `json:"spent"`
	// Left is the rest. It is 0 if late payments have exceeded the budget.
	Left string `json:"left"`

	left pricing.Money
}

// budgets returns the budgets of a coupon, with the amounts spent.
func budgets(c coupon.Coupon, spent coupon.MoneySet) []UsageBudget {
	found := []UsageBudget{}
	for m := range c.Limits.Budget.All() {
		taken, _ := spent.In(m.Currency())
		left := pricing.NewMoney(max(m.Minor()-taken, 0), m.Currency())
		found = append(found, UsageBudget{m.Currency().Code(), m.Amount(), pricing.NewMoney(taken, m.Currency()).Amount(), left.Amount(), left})
	}
	return found
}

// UsageDay counts the uses that were made on one day, by what they are now.
type UsageDay struct {
	Date      string        `json:"date"`
	Completed int64         `json:"completed"`
	Reserved  int64         `json:"reserved"`
	Restored  int64         `json:"restored"`
	Amounts   []UsageAmount `json:"amounts"`
}

// UsageAmount is what a coupon took off in one currency, and what refunds took back of it.
type UsageAmount struct {
	Currency string `json:"currency"`
	Discount string `json:"discount"`
	Returned string `json:"returned"`

	discount, returned pricing.Money
}

// Money returns the discount and what refunds took back of it.
func (u UsageAmount) Money() (discount, returned pricing.Money) { return u.discount, u.returned }

const (
	usageDays     = 30
	maxZoneLength = 64
)

// Usage returns the sums of the coupon that the path of a request names, also of days on which it was
// not used.
func (a *API) Usage(r *http.Request) (Usage, error) {
	q := query{r: r}
	q.only("days", "timeZone")
	days := q.number("days", usageDays, store.MaxSumDays)
	zone, err := zoneOf(q.text("timeZone"))
	q.faults.Merge("timeZone", err)
	if err := q.faults.Err(); err != nil {
		return Usage{}, err
	}
	id := r.PathValue("id")
	if _, err := a.redemptionsOf(r.Context(), store.UseList{CouponID: id, PageSize: 1}); err != nil {
		return Usage{}, err
	}
	c, err := a.Service.Get(r.Context(), id)
	if err != nil && !errors.Is(err, coupon.ErrNotFound) { // the uses of a deleted coupon are kept
		return Usage{}, err
	}
	spent, err := a.Service.Spent(r.Context(), c)
	if err != nil {
		return Usage{}, err
	}
	sums, err := a.Service.Sums(r.Context(), store.SumList{CouponID: id, From: a.Now().In(zone).AddDate(0, 0, 1-days), Days: days})
	view := Usage{TimeZone: zone.String(), Days: make([]UsageDay, len(sums)), Budgets: budgets(c, spent[0])}
	for i, sum := range sums {
		view.Days[i] = UsageDay{
			Date: sum.Start.Format(time.DateOnly), Completed: sum.Completed, Reserved: sum.Reserved, Restored: sum.Restored,
			Amounts: make([]UsageAmount, len(sum.Amounts)),
		}
		for j, amount := range sum.Amounts {
			discount, returned := pricing.NewMoney(amount.Discount, amount.Currency), pricing.NewMoney(amount.Returned, amount.Currency)
			view.Days[i].Amounts[j] = UsageAmount{amount.Currency.Code(), discount.Amount(), returned.Amount(), discount, returned}
		}
	}
	return view, err
}

// zoneOf returns a time zone by its IANA name. An empty name means UTC.
func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || len(name) > maxZoneLength || name == "Local" {
		return time.UTC, validation.New("", validation.Unknown, "must be an IANA time zone, such as Europe/Berlin")
	}
	return zone, nil
}

func (a *API) usage(w http.ResponseWriter, r *http.Request) error {
	view, err := a.Usage(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// History is what changed of a coupon, the newest change first.
type History struct {
	Items []Change `json:"items"`
	// Before asks for the next page; 0 is none.
	Before int64 `json:"before"`
}

// Change is one change of a coupon.
type Change struct {
	Kind    store.EntryKind `json:"kind"`
	Version int64           `json:"version"`
	At      time.Time       `json:"at"`
	// By is the e-mail address of the administrator, or else their ID. It is empty for the system.
	By     string        `json:"by"`
	Fields []FieldChange `json:"fields"`
	// Unsupported is whether the processor then had no copy of the coupon, because it cannot show the discount.
	Unsupported bool `json:"-"`
}

// FieldChange is a field whose value changed. A value is JSON, and absent if the field was not given.
type FieldChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// History returns the changes of the coupon that the path of a request names.
func (a *API) History(r *http.Request) (History, error) {
	q := query{r: r}
	q.only("before", "pageSize")
	before := q.number("before", 0, math.MaxInt32)
	size := q.number("pageSize", store.DefaultPageSize, store.MaxPageSize)
	if err := q.faults.Err(); err != nil {
		return History{}, err
	}
	entries, err := a.Service.History(r.Context(), r.PathValue("id"), int64(before), size+1)
	if err == nil && len(entries) == 0 {
		_, err = a.Service.Get(r.Context(), r.PathValue("id"))
	}
	if err != nil {
		return History{}, err
	}
	view := History{Items: []Change{}}
	if len(entries) > size {
		entries = entries[:size]
		view.Before = entries[size-1].Version
	}
	actors := make([]string, len(entries))
	for i, e := range entries {
		actors[i] = e.By
	}
	emails, err := a.Shop.Emails(r.Context(), actors)
	for _, e := range entries {
		change := Change{Kind: e.Kind, Version: e.Version, At: e.At, By: cmp.Or(emails[e.By], e.By)}
		if change.Fields, change.Unsupported, err = changedFields(e.Data); err != nil {
			return History{}, err
		}
		view.Items = append(view.Items, change)
	}
	return view, err
}

// unlisted are fields that every change modifies, or that the history shows in another way.
var unlisted = []string{"id", "revision", "updatedAt", "createdAt", "usedCount", "reservedCount", "allowedUserEmails"}

// changedFields compares the coupon before and after a change. unsupported means that the processor has
// no copy of the coupon after it.
func changedFields(data json.RawMessage) (fields []FieldChange, unsupported bool, err error) {
	var entry struct {
		Before, After             map[string]json.RawMessage
		EmailsBefore, EmailsAfter json.RawMessage
	}
	if err := json.Unmarshal(data, &entry); err != nil {
		return nil, false, err
	}
	fields = []FieldChange{}
	names := maps.Clone(entry.Before)
	if names == nil {
		names = map[string]json.RawMessage{}
	}
	maps.Copy(names, entry.After)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before, after := given(entry.Before[name]), given(entry.After[name]); !slices.Contains(unlisted, name) && !bytes.Equal(before, after) {
			fields = append(fields, FieldChange{name, before, after})
		}
	}
	if !bytes.Equal(entry.EmailsBefore, entry.EmailsAfter) {
		fields = append(fields, FieldChange{"allowedUserCount", entry.EmailsBefore, entry.EmailsAfter})
	}
	return fields, string(given(entry.After["mirrorUnsupported"])) == "true", nil
}

// given returns a value without blanks. It returns "" for null and for empty values.
func given(value json.RawMessage) json.RawMessage {
	var text bytes.Buffer
	if len(value) == 0 || json.Compact(&text, value) != nil {
		return nil
	}
	switch text.String() {
	case "null", `""`, "[]", "{}":
		return nil
	}
	return text.Bytes()
}

func (a *API) history(w http.ResponseWriter, r *http.Request) error {
	view, err := a.History(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}
