package command

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/store"
)

// swept is what a sweep has done.
type swept struct {
	Paid      int `json:"paid"`
	Cancelled int `json:"cancelled"`
	Repaid    int `json:"repaid"`
	Waiting   int `json:"waiting"`
	Lapsed    int `json:"lapsed"`
	Refunded  int `json:"refunded"`
	Flagged   int `json:"flagged"`
	Failed    int `json:"failed"`
}

var sweptColumns = []column[swept]{
	{"paid", func(s swept) any { return s.Paid }},
	{"cancelled", func(s swept) any { return s.Cancelled }},
	{"repaid", func(s swept) any { return s.Repaid }},
	{"waiting", func(s swept) any { return s.Waiting }},
	{"lapsed", func(s swept) any { return s.Lapsed }},
	{"refunded", func(s swept) any { return s.Refunded }},
	{"flagged", func(s swept) any { return s.Flagged }},
	{"failed", func(s swept) any { return s.Failed }},
}

// dueView is what is due outside of the store.
type dueView struct {
	OrderID   string    `json:"orderId"`
	Kind      string    `json:"kind"`
	PaymentID string    `json:"paymentId,omitempty"`
	Amount    string    `json:"amount,omitempty"`
	Since     time.Time `json:"since"`
}

var dueColumns = []column[dueView]{
	{"orderId", func(d dueView) any { return d.OrderID }},
	{"kind", func(d dueView) any { return d.Kind }},
	{"paymentId", func(d dueView) any { return d.PaymentID }},
	{"amount", func(d dueView) any { return d.Amount }},
	{"since", func(d dueView) any { return instant(d.Since) }},
}

func (t *tool) sweepCommand() *cobra.Command {
	var most int
	var dryRun bool
	c := command("sweep", "Finish orders whose time is over, and what is due", `An order whose payment was begun needs STRIPE_SECRET_KEY; without it, the order counts as waiting and stays as it is.
A service that runs does this by itself. A dry run lists what is due.`, 0, 0, func(c *cobra.Command, _ []string) error {
		if most < 1 {
			return usagef("--limit is at least 1")
		}
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			if dryRun {
				return list(t, due(ctx, s), dueColumns)
			}
			r, err := s.Sweep(ctx, most)
			printed := show(t, swept{
				len(r.Paid), len(r.Cancelled), len(r.Repaid), r.Waiting, r.Lapsed, r.Refunded, r.Flagged, r.Failed,
			}, sweptColumns)
			return errors.Join(err, printed)
		})
	})
	c.Flags().IntVar(&most, "limit", couponkit.DefaultSweepLimit, "the most orders to finish")
	dryRunFlag(c, &dryRun)
	return c
}

func due(ctx context.Context, s *couponkit.Service) iter.Seq2[dueView, error] {
	return func(yield func(dueView, error) bool) {
		for d, err := range s.Due(ctx, couponkit.DueOptions{}) {
			view := dueView{OrderID: d.OrderID, Kind: d.Kind.String(), PaymentID: d.PaymentID, Since: d.Since}
			view.Amount, _ = moneyText(d.Amount).(string)
			if !yield(view, err) || err != nil {
				return
			}
		}
	}
}

// driftView is a coupon that differs at the payment processor.
type driftView struct {
	CouponID string              `json:"couponId"`
	Kind     couponkit.DriftKind `json:"kind"`
	Repaired bool                `json:"repaired"`
}

var driftColumns = []column[driftView]{
	{"couponId", func(d driftView) any { return d.CouponID }},
	{"kind", func(d driftView) any { return d.Kind }},
	{"repaired", func(d driftView) any { return d.Repaired }},
}

func (t *tool) reconcileCommand() *cobra.Command {
	var dryRun bool
	c := command("reconcile", "Repair the coupons at the payment processor", "It needs STRIPE_SECRET_KEY. A service that runs does this by itself.",
		0, 0, func(c *cobra.Command, _ []string) error {
			return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
				if !t.hasProcessor() { // a service without a processor would forget every coupon there
					return usagef("reconcile needs STRIPE_SECRET_KEY")
				}
				drifts, err := s.Reconcile(ctx, couponkit.ReconcileOptions{DryRun: dryRun})
				out := newSheet(t, driftColumns)
				for _, d := range drifts {
					if printed := out.add(driftView{d.CouponID, d.Kind, d.Repaired}); printed != nil {
						return printed
					}
				}
				return errors.Join(err, out.close())
			})
		})
	dryRunFlag(c, &dryRun)
	return c
}

var entryColumns = []column[store.Entry]{
	{"position", func(e store.Entry) any { return e.Position }},
	{"at", func(e store.Entry) any { return instant(e.At) }},
	{"kind", func(e store.Entry) any { return e.Kind }},
	{"subject", func(e store.Entry) any { return e.Subject }},
	{"version", func(e store.Entry) any { return e.Version }},
	{"by", func(e store.Entry) any { return e.By }},
}

func (t *tool) journalCommands() *cobra.Command {
	return group("journal", "Read the journal of changes", "", t.journalTail())
}

// pollTime is how often a follower looks for new entries.
const pollTime = time.Second

func (t *tool) journalTail() *cobra.Command {
	var after int64
	var most int
	var follow bool
	c := command("tail", "Print the newest entries of the journal", "JSON has the whole entries, one a line.", 0, 0, func(c *cobra.Command, _ []string) error {
		if most < 1 || after < 0 {
			return usagef("--limit is at least 1, and --after at least 0")
		}
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			if !c.Flags().Changed("after") {
				last, err := newest(ctx, s)
				if err != nil {
					return err
				}
				after = max(0, last-int64(most))
			}
			return t.tail(ctx, s, after, most, follow)
		})
	})
	c.Flags().Int64Var(&after, "after", 0, "begin after this position (default: the newest entries)")
	c.Flags().IntVarP(&most, "limit", "n", 20, "the most entries to print")
	c.Flags().BoolVar(&follow, "follow", false, "go on with new entries until interrupted")
	return c
}

// tail prints entries after a position. A follower ends well when it is interrupted.
func (t *tool) tail(ctx context.Context, s *couponkit.Service, after int64, most int, follow bool) error {
	for {
		out := newSheet(t, entryColumns)
		for {
			size := store.MaxJournalLimit
			if !follow {
				size = min(size, most)
			}
			entries, err := s.Journal(ctx, after, size)
			if follow && ctx.Err() != nil {
				return out.close()
			}
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := out.add(e); err != nil {
					return err
				}
				after = e.Position
			}
			if most -= len(entries); len(entries) < size || most <= 0 && !follow {
				break
			}
		}
		if err := out.close(); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollTime):
		}
	}
}

// newest returns the last position. Reading the journal gives positions to some of the entries that have none yet.
func newest(ctx context.Context, s *couponkit.Service) (int64, error) {
	for before := int64(-1); ; {
		last, err := s.JournalEnd(ctx)
		if err != nil || last == before {
			return last, err
		}
		if _, err := s.Journal(ctx, last, 1); err != nil {
			return 0, err
		}
		before = last
	}
}
