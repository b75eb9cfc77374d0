package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	_ "modernc.org/sqlite"             // driver "sqlite"
)

// books has the numbers that were compared.
type books struct{ paid, completed int64 }

// use has the administration's numbers for one coupon.
type use struct {
	used, reserved             int64
	completed, held, overLimit int64
	sessions, orders           map[string]bool
}

// check compares the redemptions and counts of every coupon. It compares them with each other, with the
// processor's payments, and with the answers to the customers.
func (b *bench) check(ctx context.Context, admin *customer, cells []cell) (books, error) {
	var k books
	var err error
	if k.paid, err = settled(ctx, admin, cells); err != nil {
		return k, fmt.Errorf("wait for the webhooks: %w", err)
	}
	var wrong []error
	sessions := map[string]bool{}
	for _, c := range cells {
		measured, err := readUse(ctx, admin, c.measured)
		if err != nil {
			return k, err
		}
		scarce, err := readUse(ctx, admin, c.scarce)
		if err != nil {
			return k, err
		}
		wrong = append(wrong, b.differences(c, measured, scarce)...)
		for _, u := range []use{measured, scarce} {
			k.completed += u.completed
			for s := range u.sessions {
				if sessions[s] {
					wrong = append(wrong, fmt.Errorf("session %s is redeemed twice", s))
				}
				sessions[s] = true
			}
		}
	}
	if k.paid != k.completed {
		wrong = append(wrong, fmt.Errorf("%d sessions were paid and %d redemptions completed", k.paid, k.completed))
	}
	return k, errors.Join(wrong...)
}

// differences checks the results with one number of connections.
func (b *bench) differences(c cell, measured, scarce use) []error {
	var wrong []error
	fail := func(format string, values ...any) {
		wrong = append(wrong, fmt.Errorf("%d connections: "+format, append([]any{c.connections}, values...)...))
	}
	for name, u := range map[string]use{"measured": measured, "scarce": scarce} {
		if u.used != u.completed || u.reserved != u.held {
			fail("the %s coupon counts %d used and %d reserved, and has %d redemptions and %d reservations", name, u.used, u.reserved, u.completed, u.held)
		}
		if int64(len(u.sessions)) != u.completed || int64(len(u.orders)) != u.completed+u.held {
			fail("the %s coupon has %d redemptions of %d sessions, and %d orders", name, u.completed, len(u.sessions), len(u.orders))
		}
		if u.overLimit > 0 {
			fail("the %s coupon has %d redemptions over its limit", name, u.overLimit)
		}
	}
	// A customer whose connection was cut off may have paid without an answer, or not yet.
	seen, cut := c.checkout.Done-c.checkout.Scarce, int64(c.connections)
	if measured.completed < seen || measured.completed > seen+cut || measured.held > cut {
		fail("customers saw %d paid orders; there are %d redemptions and %d reservations", seen, measured.completed, measured.held)
	}
	limit := int64(b.settings.scarce)
	if scarce.completed != limit || c.checkout.Refused == 0 {
		fail("the coupon with %d uses has %d redemptions, and %d customers were refused", limit, scarce.completed, c.checkout.Refused)
	}
	return wrong
}

// settled waits until all payments are recorded. It returns the number of paid sessions.
func settled(ctx context.Context, admin *customer, cells []cell) (paid int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var used int64
		for _, c := range cells {
			for _, id := range []string{c.measured, c.scarce} {
				var coupon struct{ UsedCount int64 }
				if err := admin.call(ctx, http.MethodGet, "/admin/coupon/"+id, nil, &coupon); err != nil {
					return 0, err
				}
				used += coupon.UsedCount
			}
		}
		if paid, err = paidSessions(ctx, admin.base); err != nil || paid == used {
			return paid, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// readUse reads a coupon and all its redemptions.
func readUse(ctx context.Context, admin *customer, id string) (use, error) {
	u := use{sessions: map[string]bool{}, orders: map[string]bool{}}
	var coupon struct{ UsedCount, ReservedCount int64 }
	if err := admin.call(ctx, http.MethodGet, "/admin/coupon/"+id, nil, &coupon); err != nil {
		return u, err
	}
	u.used, u.reserved = coupon.UsedCount, coupon.ReservedCount
	for after := ""; ; {
		var page struct {
			Items []struct {
				State, OrderID, SessionID string
				OverLimit                 bool
			} `json:"items"`
			Next string
		}
		query := url.Values{"pageSize": {"100"}}
		if after != "" {
			query.Set("after", after)
		}
		if err := admin.call(ctx, http.MethodGet, "/admin/coupon/"+id+"/redemptions?"+query.Encode(), nil, &page); err != nil {
			return u, err
		}
		for _, item := range page.Items {
			u.orders[item.OrderID] = true
			switch item.State {
			case "completed":
				u.completed++
				u.sessions[item.SessionID] = true
			case "reserved":
				u.held++
			}
			if item.OverLimit {
				u.overLimit++
			}
		}
		if after = page.Next; after == "" {
			return u, nil
		}
	}
}

// paidSessions reads the number of paid sessions from /metrics.
func paidSessions(ctx context.Context, base string) (paid int64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut("\n"+string(text), "\nsimulator_sessions{state=\"paid\"} ")
	if !found {
		return 0, errors.New("/metrics does not tell how many sessions were paid")
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseInt(value, 10, 64)
}

// checkDatabase checks the tables of the store, if it has any.
func checkDatabase(ctx context.Context, store, where string, k books) error {
	drivers := map[string]string{"sqlite": "sqlite", "postgres": "pgx"}
	names := map[string]string{"sqlite": "couponkit_", "postgres": "couponkit."}
	driver, is := drivers[store]
	if !is {
		return nil
	}
	db, err := sql.Open(driver, where)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var wrong []error
	for statement, want := range map[string]int64{
		`SELECT COUNT(*) FROM {uses} WHERE state = 'completed'`:                                                               k.completed,
		`SELECT COUNT(*) FROM {orders} WHERE state = 'paid'`:                                                                  k.paid,
		`SELECT COUNT(DISTINCT session_id) FROM {orders} WHERE state = 'paid'`:                                                k.paid,
		`SELECT COUNT(*) FROM {orders} o JOIN {uses} u ON u.order_id = o.id WHERE o.state = 'paid' AND u.state = 'completed'`: k.paid,
		`SELECT COUNT(*) FROM {uses} WHERE over_limit`:                                                                        0,
	} {
		statement = strings.NewReplacer("{", names[store], "}", "").Replace(statement)
		var got int64
		if err := db.QueryRowContext(ctx, statement).Scan(&got); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", statement, err))
		} else if got != want {
			wrong = append(wrong, fmt.Errorf("%s: %d, and not %d", statement, got, want))
		}
	}
	return errors.Join(wrong...)
}
