package command_test

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/sqldb/mariadbtest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// TestSessionOnMySQL: the reference service does not run on MySQL, so a host with its own payments stands for it.
func TestSessionOnMySQL(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	server, err := mariadbtest.Start(t.Context(), "--innodb-flush-log-at-trx-commit=2",
		"--skip-networking=0", "--bind-address=127.0.0.1", "--port="+port)
	if errors.Is(err, mariadbtest.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	dsn := server.NewDatabase(t)
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	s := shop{machine: on(t, "mysql://root@127.0.0.1:"+port+"/"+config.DBName)}
	s.fails(command.Failed, "", "coupon", "list")
	s.ok("", "store", "migrate")
	s.couponsAndCodes()
	s.order(dsn)
	require.Empty(t, s.objects("", "store", "verify"))
	s.ok("", "sweep")
	entries := s.objects("", "journal", "tail", "-n", "3")
	require.Len(t, entries, 3)
	require.Equal(t, "couponkit:tester", entries[2]["by"])
}

func freePort(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	require.NoError(t, err)
	require.NoError(t, free.Close())
	_, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	return port
}

func (s *shop) couponsAndCodes() {
	s.Helper()
	s.ok(summer, "coupon", "create")
	s.ok(`{"maxUses":7}`, "coupon", "edit", "SUMMER10")
	s.ok("", "coupon", "disable", "SUMMER10")
	s.ok("", "coupon", "enable", "SUMMER10")
	s.ok("", "coupon", "duplicate", "SUMMER10", "--code", "AUTUMN10")
	require.Len(s, s.objects("", "coupon", "list", "--search", "summer"), 2)
	require.Equal(s, json.Number("7"), s.objects("", "coupon", "show", "AUTUMN10")[0]["maxUses"])

	s.ok("", "code", "generate", "SUMMER10", "--batch", "mailing", "--count", "6000")
	given := s.objects("ann@example.org\n", "code", "assign", "SUMMER10", "--batch", "mailing")
	key, _ := given[0]["code"].(string)
	require.Equal(s, "email:ann@example.org", s.objects("", "code", "check", strings.ToLower(key))[0]["owner"])
	exported := s.ok("", "code", "export", "SUMMER10", "--batch", "mailing", "--unassigned")
	require.Len(s, lines(exported), 6000)
	require.Contains(s, s.ok("code\nHAND-MADE\n", "code", "import", "SUMMER10", "--batch", "hand", "-o", "csv"), "\n1,0,0,0")
	require.Equal(s, json.Number("6000"), s.objects("", "code", "disable", "--coupon", "SUMMER10", "--batch", "mailing")[0]["inactive"])

	cart := `{"currency":"EUR","lines":[{"kind":"device","itemId":"phone","quantity":1,"unitPrice":"40"}]}`
	quote, _ := s.objects(cart, "explain", "hand-made", "--customer", "ann")[0]["quote"].(map[string]any)
	require.Equal(s, "36.00", quote["total"])
}

// order pays an order with a code of the tool, and refunds it with the tool.
func (s *shop) order(dsn string) {
	s.Helper()
	tables, err := sqlstore.New(s.Context(), mariadbtest.Open(s, dsn), sqlstore.MySQL, sqlstore.Options{})
	require.NoError(s, err)
	host, err := couponkit.New(tables)
	require.NoError(s, err)
	_, err = host.Reserve(s.Context(), couponkit.ReserveRequest{OrderID: "1", QuoteRequest: couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: "ann"}, Codes: []string{"hand-made"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "x", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 40_00}}},
	}})
	require.NoError(s, err)
	_, err = host.Record(s.Context(), couponkit.Payment{OrderID: "1", ID: "pay", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(36_00, pricing.EUR())})
	require.NoError(s, err)
	require.NoError(s, tables.Close())
	require.Contains(s, s.ok("", "order", "show", "1"), "36.00 EUR")
	require.Len(s, s.objects("", "code", "export", "SUMMER10", "--used"), 1)
	require.Contains(s, s.ok("", "order", "refund", "1", "--key", "k", "--all", "-o", "csv"), "36.00 EUR")
}
