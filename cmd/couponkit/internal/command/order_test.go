package command_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// TestLinesOfAnOrder: the table of an order has its lines. Lines with the same ID are named by their indexes.
func TestLinesOfAnOrder(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	db, err := sql.Open("sqlite", "file:"+m.env["COUPONKIT_DATABASE"])
	require.NoError(t, err)
	tables, err := sqlstore.New(t.Context(), db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	s, err := couponkit.New(tables)
	require.NoError(t, err)
	line := pricing.Line{ID: "x", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 10_00}
	_, err = s.Reserve(t.Context(), couponkit.ReserveRequest{OrderID: "1", QuoteRequest: couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: "ann"}, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{line, line}},
	}})
	require.NoError(t, err)
	_, err = s.Record(t.Context(), couponkit.Payment{OrderID: "1", ID: "pay", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(40_00, pricing.EUR())})
	require.NoError(t, err)
	_, err = s.Reserve(t.Context(), couponkit.ReserveRequest{OrderID: "2", QuoteRequest: couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: "ben"}, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{line}},
	}})
	require.NoError(t, err)
	require.NoError(t, tables.Close())
	require.NoError(t, db.Close())
	require.Contains(t, m.ok("", "order", "show", "1"), "0: 2 × phone x; 1: 2 × phone x")
	words := m.fails(command.Usage, "", "order", "refund", "1", "--key", "k", "--line", "x=1")
	require.Contains(t, words, "several lines")
	require.Contains(t, words, "[0 1]")
	for _, units := range []string{"0", "-1", "many", "99999999999999999999", ""} {
		require.Contains(t, m.fails(command.Usage, "", "order", "refund", "1", "--key", "k", "--line", "1="+units), "no number of units")
	}
	require.Contains(t, m.ok("", "order", "refund", "1", "--key", "k", "--line", "1=1", "-o", "csv"), "10.00 EUR")
	for _, dry := range []string{"--dry-run=true", "--dry-run=false"} {
		require.Contains(t, m.fails(command.Failed, "", "order", "refund", "2", "--key", "k", "--all", dry), "only a paid order is refunded")
	}
}
