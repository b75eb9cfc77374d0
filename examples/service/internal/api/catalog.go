package api

import (
	"net/http"

	"golang.org/x/text/language"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

type catalogView struct {
	Plans           []itemView       `json:"plans"`
	Devices         []itemView       `json:"devices"`
	Accessories     []itemView       `json:"accessories"`
	ShippingOptions []itemView       `json:"shippingOptions"`
	Currency        pricing.Currency `json:"currency"`
	CurrencySymbol  string           `json:"currencySymbol"`
}

type itemView struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Price       pricing.Money `json:"price"`
	Interval    string        `json:"interval,omitempty"`
}

func (a *API) catalog(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, catalogView{
		Plans: a.itemViews(pricing.Plan), Devices: a.itemViews(pricing.Device),
		Accessories: a.itemViews(pricing.Accessory), ShippingOptions: a.itemViews(pricing.Shipping),
		Currency: a.currency(), CurrencySymbol: a.currency().Symbol(language.English),
	})
	return nil
}

func (a *API) itemViews(kind pricing.LineKind) []itemView {
	items := a.Catalog.Items(kind)
	views := make([]itemView, len(items))
	for i, item := range items {
		views[i] = itemView{
			ID: item.ID, Name: item.Name, Description: item.Description,
			Price: pricing.NewMoney(item.Price, a.currency()), Interval: item.Recurs.String(),
		}
	}
	return views
}

// maxFound is the maximum number of items that a search returns.
const maxFound = 50

type foundView struct {
	Items []foundItem `json:"items"`
}

type foundItem struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (a *API) searchCatalog(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("kind", "q")
	kind, err := pricing.ParseLineKind(q.text("kind"))
	switch {
	case q.text("kind") == "":
		q.faults.Add("kind", validation.Required, "must be plan, device or accessory")
	case err != nil || kind == pricing.Shipping:
		q.faults.Add("kind", validation.Unknown, "must be plan, device or accessory")
	}
	if err := q.faults.Err(); err != nil {
		return err
	}
	view := foundView{Items: []foundItem{}}
	for _, item := range a.Catalog.Search(kind, q.text("q"), maxFound) {
		view.Items = append(view.Items, foundItem{item.ID, item.Name})
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// describe returns the name of a line on the payment page.
func (a *API) describe(l pricing.Line) string {
	if item, known := a.Catalog.Find(l.Kind, l.ItemID); known {
		return item.Name
	}
	return "Purchase"
}
