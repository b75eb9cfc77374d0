// Command toolchain makes coupons in a database of MariaDB, or uses those that a program of another Go
// toolchain has made.
//
//	toolchain create DSN NAME
//	toolchain use DSN NAME
//
// Both print as JSON what a store keeps as keys. "use" fails if it does not find all that
// "create" has made under the same name.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	_ "github.com/go-sql-driver/mysql" // a small driver, because each toolchain compiles it

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/validation"
)

// Different versions of Unicode treat these texts differently.
const (
	gamma        = "\u026410"          // a small letter that has no capital letter in version 15.0
	capitalGamma = "\ua7cb10"          // its capital letter in version 16.0
	hebrew       = "\u05d2\u030710"    // golang.org/x/text composes these to a letter of version 16.0
	later        = "SALE\U0001fae9"    // not assigned in version 15.0
	todhri       = "\U000105c9 \u019b" // a name that composes in version 16.0
	address      = "\u00c5sa.\u0264@Example.org"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: toolchain create|use DSN NAME")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command, dsn, name string) (err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := sqlstore.Migrate(ctx, db, sqlstore.MySQL, sqlstore.Options{}); err != nil {
		return err
	}
	s, err := sqlstore.New(ctx, db, sqlstore.MySQL, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	service, err := couponkit.New(s, couponkit.WithProcessor(oneAccount{fakeprocessor.New(fakeprocessor.Options{IDPrefix: name})}), couponkit.WithGuests())
	if err != nil {
		return err
	}
	p := &program{Service: service, db: db, name: name}
	switch command {
	case "create":
		err = p.create(ctx)
	case "use":
		err = p.use(ctx)
	default:
		err = fmt.Errorf("no command %q", command)
	}
	if err != nil {
		return err
	}
	return p.print(ctx, s)
}

// oneAccount returns existing mirrors of all processes, as one processor account does.
type oneAccount struct{ *fakeprocessor.Processor }

func (oneAccount) VerifyMirror(context.Context, coupon.Coupon) (processor.MirrorStatus, error) {
	return processor.MirrorValid, nil
}

type program struct {
	*couponkit.Service
	db   *sql.DB
	name string
}

func (p *program) draft(code string) coupon.Draft {
	return coupon.Draft{Code: p.name + code, Name: p.name + " " + todhri, DiscountType: pricing.Percentage, Percent: "10"}
}

func (p *program) customer() eligibility.Customer {
	return eligibility.Customer{ID: "customer-" + p.name, Email: address}
}

func cart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 9999}}}
}

// create makes three coupons and an order. One code is as another version of the library may have
// stored it.
func (p *program) create(ctx context.Context) error {
	for _, code := range []string{gamma, hebrew} {
		d := p.draft(code)
		d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{address}
		if _, err := p.Create(ctx, d); err != nil {
			return err
		}
	}
	if _, err := p.Create(ctx, p.draft(later)); !errors.Is(err, validation.ErrInvalid) {
		return fmt.Errorf("a code of a later version of Unicode: %w", err)
	}
	c, err := p.Create(ctx, p.draft("-LATER"))
	if err != nil {
		return err
	}
	if _, err := p.db.ExecContext(ctx, "UPDATE couponkit_coupons SET code = ? WHERE id = ?", p.name+later, c.ID); err != nil {
		return err
	}
	_, err = p.Checkout(ctx, couponkit.CheckoutRequest{
		Key: p.name, Customer: p.customer(), Cart: cart(), Codes: []string{c.ID}, SuccessURL: "https://shop.example/thanks",
	})
	return err
}

// use looks up each coupon by each spelling, and records the payment of the order.
func (p *program) use(ctx context.Context) error {
	for _, typed := range []string{gamma, capitalGamma, hebrew, gamma + "\u200b "} {
		if _, err := p.Validate(ctx, couponkit.ValidateRequest{Code: p.name + typed, Customer: p.customer()}); err != nil {
			return fmt.Errorf("validate %+q: %w", typed, err)
		}
	}
	for _, code := range []string{gamma, capitalGamma, hebrew} {
		if _, err := p.Create(ctx, p.draft(code)); !errors.Is(err, coupon.ErrCodeTaken) {
			return fmt.Errorf("create %+q again: %w", code, err)
		}
	}
	found, err := p.List(ctx, store.CouponList{Search: strings.ToLower(p.name) + " " + todhri})
	if err != nil || len(found.Items) != 3 {
		return fmt.Errorf("the search finds %d coupons: %w", len(found.Items), err)
	}
	orders, err := p.Orders(ctx, store.OrderList{CustomerID: p.customer().ID})
	if err != nil || len(orders.Items) != 1 {
		return fmt.Errorf("%d orders are listed: %w", len(orders.Items), err)
	}
	o := orders.Items[0].Order
	outcome, err := p.HandleEvent(ctx, processor.Event{
		ID: "evt_" + p.name, Type: processor.Completed, SessionID: o.SessionID, PaymentStatus: processor.Paid,
		Currency: o.Quote.Currency, Total: o.Quote.Total, Payer: processor.Payer{Email: address}, CreatedAt: o.CreatedAt,
	})
	if err != nil || outcome.Order.State != redemption.OrderPaid || outcome.Flag != couponkit.FlagNone {
		return fmt.Errorf("the payment: order %s, flag %v: %w", outcome.Order.State, outcome.Flag, err)
	}
	if key := outcome.Order.Coupons[0].Code.String(); key != p.name+later {
		return fmt.Errorf("the order has the code %+q", key)
	}
	return nil
}

// print prints texts that must be equal for every toolchain: keys that stores keep, a document, and the
// keys of all coupons.
func (p *program) print(ctx context.Context, s *sqlstore.Store) error {
	guest, err := couponkit.GuestID(address)
	if err != nil {
		return err
	}
	own, domain := email.Entries(address)
	page, err := s.ListCoupons(ctx, store.CouponList{PageSize: store.MaxPageSize})
	if err != nil {
		return err
	}
	keys := []string{guest, own, domain, store.Fold(todhri), store.Fold(capitalGamma)}
	for _, c := range page.Items {
		keys = append(keys, c.Code.String())
	}
	quote, err := pricing.Price(cart())
	if err != nil {
		return err
	}
	document, err := json.Marshal(quote)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(append(keys, string(document)))
}
