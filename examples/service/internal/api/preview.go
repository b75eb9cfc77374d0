package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

type previewView struct {
	Quote pricing.Quote `json:"quote"`
	Names []lineName    `json:"names"`
	// At is the instant at which the cart was priced.
	At         time.Time       `json:"at"`
	Rejections []coupon.Reason `json:"rejections"`
	// Explanations has a sentence for each rejection.
	Explanations []string `json:"explanations"`
}

// Sizes of the sample cart of a preview.
const (
	sampleUnits     = 2  // units of each device and accessory, if the request has no number
	maxSampleUnits  = 99 // maximum number of units in a request
	maxSampleItems  = 3  // maximum number of selected items of each kind
	sampleAccessory = 2  // number of accessories if the coupon selects none
)

// preview prices a draft on a sample cart. It stores nothing and does not call the processor. The price
// is for a customer who meets the coupon's conditions, at the coupon's first valid instant.
func (a *API) preview(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("units")
	units := q.number("units", sampleUnits, maxSampleUnits)
	if err := q.faults.Err(); err != nil {
		return err
	}
	var draft coupon.Draft
	strays, err := a.readCoupon(r, &draft, func() selections { return selectionsOf(&draft) })
	if err != nil {
		return err
	}
	draft.Unread = slices.DeleteFunc(draft.Unread, func(f validation.Field) bool { // prices do not depend on the code
		return f.Path == "code" && f.Code == validation.Required
	})
	if draft.Name == "" {
		draft.Name = "Preview"
	}
	c, err := coupon.New(draft, coupon.Creation{ID: coupon.IDPrefix + "preview", At: a.Now(), Currency: a.currency()})
	if err != nil {
		return strays.beside(err)
	}
	view, err := a.previewed(c, int64(units))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

func (a *API) previewed(c coupon.Coupon, units int64) (previewView, error) {
	at := a.Now()
	if c.StartsAt.After(at) {
		at = c.StartsAt
	}
	if opens, found := c.Conditions.Schedule.Next(at); found {
		at = opens
	}
	public := forEverybody(c)
	result, err := eligibility.Evaluate(&public, a.sampleCart(c, units), eligibility.Question{At: at, Facts: sampleFacts(c), AllowAnonymous: true})
	if err != nil {
		return previewView{}, err
	}
	view := previewView{
		Quote: result.Quote, Names: a.names(result.Quote), At: calendar.Instant(at),
		Rejections: append([]coupon.Reason{}, result.Decision.Reasons()...), Explanations: []string{},
	}
	for _, reason := range view.Rejections {
		view.Explanations = append(view.Explanations, detail(reason))
	}
	return view, nil
}

// forEverybody returns the coupon without the conditions that depend on the customer.
func forEverybody(c coupon.Coupon) coupon.Coupon {
	c.Distribution, c.AllowedUserEmails, c.PointsRequired = coupon.General, coupon.EmailSet{}, 0
	c.Conditions.CustomerTags, c.Conditions.FirstOrder = coupon.CustomerTags{}, false
	return c
}

// sampleFacts returns the facts of a sale in this shop, with delivery to a country of the coupon.
func sampleFacts(c coupon.Coupon) eligibility.Facts {
	facts := eligibility.Facts{Channel: channel}
	for facts.Country = range c.Conditions.Countries.All() {
		break
	}
	return facts
}

// sampleCart returns a cart with the items that the coupon selects and the items that it requires. For
// a kind without selected items, it uses the first items of the catalog. It leaves out items that the
// coupon excludes.
func (a *API) sampleCart(c coupon.Coupon, units int64) pricing.Cart {
	cart := pricing.Cart{Currency: a.currency()}
	add := func(kind pricing.LineKind, quantity int64, fallback int, selected ...coupon.Items) {
		ids := selectedIDs(selected)
		for _, item := range a.Catalog.Items(kind) {
			if fallback > 0 && len(ids) == 0 {
				fallback--
			} else if !slices.Contains(ids, item.ID) {
				continue
			}
			line := pricing.Line{
				ID: kind.String() + "-" + item.ID, Kind: kind, ItemID: item.ID, Quantity: quantity, UnitPrice: item.Price, Recurs: item.Recurs,
			}
			if !c.Conditions.ContainsNot.Covers(&line) {
				cart.Lines = append(cart.Lines, line)
			}
		}
	}
	required := c.Conditions.Contains.Scope
	add(pricing.Plan, 1, 1, c.Scope.Plans, c.Buys.Plans, required.Plans)
	add(pricing.Device, units, 1, c.Scope.Devices, c.Buys.Devices, required.Devices)
	add(pricing.Accessory, units, sampleAccessory, c.Scope.Accessories, c.Buys.Accessories, required.Accessories)
	for _, option := range a.Catalog.Items(pricing.Shipping) {
		if option.Price > 0 {
			cart.Lines = append(cart.Lines, pricing.Line{ID: "shipping", Kind: pricing.Shipping, ItemID: option.ID, Quantity: 1, UnitPrice: option.Price})
			break
		}
	}
	return cart
}

// selectedIDs returns the first maxSampleItems IDs of each list.
func selectedIDs(lists []coupon.Items) (ids []string) {
	for _, list := range lists {
		all := list.Slice()
		ids = append(ids, all[:min(len(all), maxSampleItems)]...)
	}
	return ids
}
