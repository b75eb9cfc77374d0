package shop

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// Item is something that the shop sells, or a way to ship it.
type Item struct {
	Kind        pricing.LineKind
	ID          string
	Name        string
	Description string
	// Price of one unit in minor units of the shop's currency.
	Price int64
	// Recurs is how often a plan is paid.
	Recurs pricing.Interval
}

// Catalog is everything that the shop sells, in the order in which it is shown.
// Prices come from here and from nowhere else.
type Catalog struct {
	// Currency of all prices.
	Currency pricing.Currency
	items    []Item
	index    map[itemKey]int
}

type itemKey struct {
	kind pricing.LineKind
	id   string
}

// NewCatalog returns a catalogue of these items.
func NewCatalog(c pricing.Currency, items ...Item) Catalog {
	catalog := Catalog{Currency: c, items: items, index: make(map[itemKey]int, len(items))}
	for i, item := range items {
		catalog.index[itemKey{item.Kind, item.ID}] = i
	}
	return catalog
}

// Find returns an item by kind and ID.
func (c Catalog) Find(kind pricing.LineKind, id string) (Item, bool) {
	i, ok := c.index[itemKey{kind, id}]
	if !ok {
		return Item{}, false
	}
	return c.items[i], true
}

// Items returns the items of one kind.
func (c Catalog) Items(kind pricing.LineKind) []Item {
	found := []Item{}
	for _, item := range c.items {
		if item.Kind == kind {
			found = append(found, item)
		}
	}
	return found
}

// Search returns at most most items of one kind whose name or ID holds the text,
// whatever the letter case.
func (c Catalog) Search(kind pricing.LineKind, text string, most int) []Item {
	text = strings.ToLower(strings.TrimSpace(text))
	found := []Item{}
	for _, item := range c.Items(kind) {
		if len(found) == most {
			break
		}
		if strings.Contains(strings.ToLower(item.Name), text) || strings.Contains(strings.ToLower(item.ID), text) {
			found = append(found, item)
		}
	}
	return found
}

func addItem(ctx context.Context, tx *sql.Tx, position int, item Item) error {
	_, err := tx.ExecContext(ctx,
		`INSERT INTO shop_items (kind, id, name, description, price, recurs, position)
		 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
		item.Kind.String(), item.ID, item.Name, item.Description, item.Price, item.Recurs.String(), position)
	return err
}

// Catalog reads the catalogue.
func (d *DB) Catalog(ctx context.Context) (Catalog, error) {
	rows, err := d.db.QueryContext(ctx,
		`SELECT kind, id, name, description, price, recurs FROM shop_items ORDER BY position, id`)
	if err != nil {
		return Catalog{}, fmt.Errorf("read the catalogue: %w", err)
	}
	defer rows.Close()
	var items []Item
	for rows.Next() {
		var (
			item         Item
			kind, recurs string
		)
		if err := rows.Scan(&kind, &item.ID, &item.Name, &item.Description, &item.Price, &recurs); err != nil {
			return Catalog{}, err
		}
		if item.Kind, err = pricing.ParseLineKind(kind); err != nil {
			return Catalog{}, err
		}
		if item.Recurs, err = pricing.ParseInterval(recurs); err != nil {
			return Catalog{}, err
		}
		items = append(items, item)
	}
	return NewCatalog(pricing.EUR(), items...), rows.Err()
}
