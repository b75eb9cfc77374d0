package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// replayFlags are the flags of a replay.
type replayFlags struct {
	coupons, carts, svg string
	orders              int
	anyTime             bool
	options             replay.Options
}

func (t *tool) replayCommand() *cobra.Command {
	f := replayFlags{options: replay.Options{Workers: runtime.GOMAXPROCS(0)}}
	c := command("replay", "Tell what coupons would have changed in recorded carts", `Each cart gets the best set of the coupons, as if they needed no code. The total is compared with what was paid. Limits and
budgets begin unused, and are spent in the order of the carts.

--coupons names a file with coupons or drafts as JSON, one after another, which count as switched on. A draft without a code
needs "withoutCode" or "automatic". Without --coupons, all active coupons of the store are replayed. --carts names a file of carts, one a line, such as
  {"at": "2026-11-20T12:00:00Z", "currency": "EUR", "paid": "27.00", "customer": {"id": "u1"},
   "lines": [{"kind": "device", "itemId": "phone", "quantity": 3, "unitPrice": "10.00"}]}
Without it, the newest orders of the store are replayed, those that are paid.`, 0, 0, func(c *cobra.Command, _ []string) error {
		if f.carts != "" && c.Flags().Changed("orders") {
			return usagef("either --carts or --orders")
		}
		if f.carts == "-" && f.coupons == "-" {
			return usagef("--carts and --coupons are both standard input")
		}
		if f.orders < 1 || f.orders > couponkit.MaxReplayOrders {
			return usagef("--orders is from 1 to %d", couponkit.MaxReplayOrders)
		}
		if f.options.MaxCoupons < 1 || f.options.MaxCoupons > pricing.MaxCoupons {
			return usagef("--max-coupons is from 1 to %d", pricing.MaxCoupons)
		}
		return t.replay(c.Context(), f)
	})
	c.Flags().StringVar(&f.coupons, "coupons", "", "file of the coupons; - is standard input (default: those of the store)")
	c.Flags().StringVar(&f.carts, "carts", "", "file of the carts; - is standard input (default: orders of the store)")
	c.Flags().IntVar(&f.orders, "orders", 10_000, "how many of the newest orders to look at")
	c.Flags().IntVar(&f.options.MaxCoupons, "max-coupons", replay.DefaultMaxCoupons, "the most coupons of a cart")
	c.Flags().BoolVar(&f.options.Keep, "keep", false, "customers keep what they had, unless the coupons are cheaper")
	c.Flags().BoolVar(&f.anyTime, "any-time", false, "ignore the dates at which the coupons begin and end")
	c.Flags().StringVar(&f.svg, "svg", "", "write the histogram to a file")
	for _, name := range []string{"coupons", "carts", "svg"} {
		_ = c.MarkFlagFilename(name)
	}
	return c
}

// replay runs a replay, with the store only if it is needed.
func (t *tool) replay(ctx context.Context, f replayFlags) error {
	run := func(ctx context.Context, s *couponkit.Service) error {
		coupons, err := t.replayed(ctx, s, f)
		if err != nil {
			return err
		}
		refused := &refusals{tool: t}
		shown, end := t.progress("carts")
		f.options.Refused = func(item int64, err error) { refused.add(item, reasonOf(err)) }
		f.options.Progress = func(items int64) { shown(items, 0) }
		var report replay.Report
		if f.carts == "" {
			report, err = s.Replay(ctx, f.orders, slices.Values(coupons), f.options)
		} else {
			report, err = t.replayFile(ctx, f.carts, coupons, f.options)
		}
		end()
		if err != nil {
			return err
		}
		if err := t.showReport(report, f.svg); err != nil {
			return err
		}
		return refused.err()
	}
	if f.carts != "" && f.coupons != "" {
		if err := t.load(); err != nil {
			return err
		}
		return run(ctx, nil)
	}
	return t.withService(ctx, run)
}

// replayed returns the coupons to replay.
func (t *tool) replayed(ctx context.Context, s *couponkit.Service, f replayFlags) (coupons []*coupon.Coupon, err error) {
	if f.coupons == "" {
		coupons, err = activeCoupons(ctx, s)
	} else {
		coupons, err = t.readCoupons(f.coupons)
	}
	if f.anyTime {
		for _, c := range coupons {
			c.StartsAt, c.ExpiresAt = time.Time{}, time.Time{}
		}
	}
	return coupons, err
}

// activeCoupons returns the active coupons of the store with their allow-lists.
func activeCoupons(ctx context.Context, s *couponkit.Service) (coupons []*coupon.Coupon, err error) {
	for c, err := range s.Coupons(ctx, store.CouponList{State: coupon.Active, PageSize: store.MaxPageSize}) {
		if err == nil && c.Distribution == coupon.UserSpecific { // the list has no addresses
			c, err = s.Get(ctx, c.ID)
		}
		if err != nil {
			return nil, err
		}
		coupons = append(coupons, &c)
	}
	return coupons, nil
}

// readCoupons reads coupons and drafts. They count as active.
func (t *tool) readCoupons(name string) (coupons []*coupon.Coupon, err error) {
	data, err := t.read(name)
	if err != nil {
		return nil, err
	}
	var faults validation.Error
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var raw json.RawMessage
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: coupon %d is not JSON: %w", name, len(coupons)+1, err)
		}
		c, err := t.couponOf(raw, len(coupons)+1)
		faults.Merge(fmt.Sprintf("coupons[%d]", len(coupons)), err)
		c.State = coupon.Active
		coupons = append(coupons, &c)
	}
	if len(coupons) == 0 {
		return nil, fmt.Errorf("%s has no coupon", name)
	}
	return coupons, faults.Err()
}

// couponOf reads a stored coupon, which has an ID, or a draft.
func (t *tool) couponOf(raw []byte, number int) (coupon.Coupon, error) {
	var known struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(raw, &known) == nil && known.ID != nil {
		var c coupon.Coupon
		return c, c.UnmarshalJSON(raw)
	}
	var d coupon.Draft
	if err := d.UnmarshalJSON(raw); err != nil {
		return coupon.Coupon{}, err
	}
	return coupon.New(d, coupon.Creation{
		ID: fmt.Sprintf("%sdraft-%04d", coupon.IDPrefix, number), Currency: t.settings.currency, Location: t.settings.location,
	})
}

// cartLine is a line of a file.
type cartLine struct {
	text []byte
	err  error
}

// replayFile replays the carts of a file. Blank lines are refused, so that each item has the number of its line, but not
// those at the end of the file.
func (t *tool) replayFile(ctx context.Context, name string, coupons []*coupon.Coupon, o replay.Options) (replay.Report, error) {
	file, err := t.open(name)
	if err != nil {
		return replay.Report{}, err
	}
	defer file.Close()
	return replay.Run(cartLines(ctx, file), func(l cartLine) (e replay.Event, err error) {
		if l.err != nil {
			return e, l.err
		}
		return e, e.UnmarshalJSON(l.text)
	}, slices.Values(coupons), o)
}

func cartLines(ctx context.Context, in io.Reader) iter.Seq2[cartLine, error] {
	return func(yield func(cartLine, error) bool) {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, replay.MaxEventDocument)
		blank := 0
		for first := true; lines.Scan(); first = false {
			if err := ctx.Err(); err != nil {
				yield(cartLine{}, err)
				return
			}
			text := lines.Bytes()
			if first {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			if len(bytes.TrimSpace(text)) == 0 {
				blank++
				continue
			}
			for ; blank > 0; blank-- {
				if !yield(cartLine{}, nil) {
					return
				}
			}
			if !yield(cartLine{text: bytes.Clone(text)}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(cartLine{}, fmt.Errorf("read carts: %w", err))
		}
	}
}

// showReport prints the report: JSON as one object, tables of currencies and of coupons, or CSV of coupons.
func (t *tool) showReport(r replay.Report, svg string) error {
	if svg != "" {
		var b bytes.Buffer
		if err := r.WriteSVG(&b); err != nil {
			return err
		}
		if err := os.WriteFile(svg, b.Bytes(), 0o644); err != nil { //nolint:gosec // a picture for others
			return err
		}
	}
	format := t.format.or(tableFormat)
	if format == jsonFormat {
		return json.NewEncoder(t.Out).Encode(r)
	}
	if format == tableFormat {
		if err := showRows(t, r.Currencies, currencyColumns); err != nil {
			return err
		}
	}
	if err := showRows(t, r.Coupons, replayColumns); err != nil {
		return err
	}
	if format == csvFormat { // a file of CSV has rows of one kind
		for _, s := range r.Currencies {
			t.say("%s: list %s, before %s, after %s", s.Currency.Code(), s.List.Amount(), s.Before.Amount(), s.After.Amount())
		}
	}
	t.say("%d carts", r.Carts)
	if r.Unproved > 0 {
		t.say("%d carts may have a better set: the search gave up", r.Unproved)
	}
	return nil
}

func showRows[T any](t *tool, rows []T, columns []column[T]) error {
	out := newSheet(t, columns)
	for _, row := range rows {
		if err := out.add(row); err != nil {
			return err
		}
	}
	return out.close()
}

var currencyColumns = []column[replay.Sums]{
	{"currency", func(s replay.Sums) any { return s.Currency.Code() }},
	{"carts", func(s replay.Sums) any { return s.Carts }},
	{"list", func(s replay.Sums) any { return s.List.Amount() }},
	{"before", func(s replay.Sums) any { return s.Before.Amount() }},
	{"after", func(s replay.Sums) any { return s.After.Amount() }},
	{"wins", func(s replay.Sums) any { return shareText(s.Wins) }},
	{"loses", func(s replay.Sums) any { return shareText(s.Loses) }},
	{"stays", func(s replay.Sums) any { return s.Stays.Carts }},
	{"kept", func(s replay.Sums) any { return s.Kept }},
}

func shareText(s replay.Share) string { return fmt.Sprintf("%d (%s)", s.Carts, s.Amount.Amount()) }

var replayColumns = []column[replay.CouponSums]{
	{"id", func(s replay.CouponSums) any { return s.ID }},
	{"code", func(s replay.CouponSums) any { return s.Code }},
	{"name", func(s replay.CouponSums) any { return s.Name }},
	{"uses", func(s replay.CouponSums) any { return s.Uses }},
	{"maxUses", func(s replay.CouponSums) any { return limit(s.MaxUses) }},
	{"ranOutAt", func(s replay.CouponSums) any { return instant(s.RanOutAt) }},
	{"discounts", func(s replay.CouponSums) any {
		var all []string
		for _, d := range s.Discounts {
			text := d.Discount.String()
			if !d.Budget.Currency().IsZero() {
				text += " of " + d.Budget.Amount()
			}
			if !d.RanOutAt.IsZero() {
				text += " until " + d.RanOutAt.Format(time.RFC3339)
			}
			all = append(all, text)
		}
		return strings.Join(all, "; ")
	}},
	{"refused", func(s replay.CouponSums) any {
		var all []string
		for _, r := range s.Refusals {
			all = append(all, fmt.Sprintf("%d %s", r.Carts, r.Reason))
		}
		return strings.Join(all, "; ")
	}},
}
