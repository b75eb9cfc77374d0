package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// endingClauses are about callers who leave while their call is carried out.
func endingClauses() []clause {
	return []clause{
		{"contexts that end during a write", "where the context ended meanwhile, the call returns its error, or none, and was done wholly or not at all: the caller repeats it, which does no harm", endingDuringWrites},
		{"contexts that end during a read", "where the context ended meanwhile, a call that reads returns its error, or the whole answer", endingDuringReads},
	}
}

// looks are after how many looks at it the contexts of these clauses end. A store looks as
// often as it likes: what is after the last look changes nothing.
func looks() []int { return []int{1, 2, 3, 5, 8, 13} }

// ending is a context that ends when it is looked at for the last of so many times.
type ending struct {
	context.Context

	end  context.CancelFunc
	left atomic.Int64
}

func endingAfter(ctx context.Context, looks int) *ending {
	ctx, end := context.WithCancel(ctx)
	e := &ending{Context: ctx, end: end}
	e.left.Store(int64(looks))
	return e
}

func (e *ending) look() {
	if e.left.Add(-1) == 0 {
		e.end()
	}
}

// Done is a look.
func (e *ending) Done() <-chan struct{} {
	e.look()
	return e.Context.Done()
}

// Err is a look.
func (e *ending) Err() error {
	e.look()
	return e.Context.Err()
}

// left checks the error of a call whose context may have ended meanwhile.
func (p *probe) left(err error, format string, args ...any) {
	p.Helper()
	if err != nil {
		p.fails(err, context.Canceled, format, args...)
	}
}

// interrupted is a write whose context ends while it is carried out.
type interrupted struct {
	do func(ctx context.Context, s store.Store) error
	// tell are questions whose answers it changes, and before what they were.
	tell   []question
	before []answer
	// again is what it returns once it was done, if that is an error.
	again error
}

func endingDuringWrites(p *probe) {
	all := catalogWrites()
	maps.Copy(all, redemptionWrites())
	for name, write := range all {
		writes := make([]interrupted, len(looks()))
		for i := range writes {
			writes[i] = write(p)
			for _, q := range writes[i].tell {
				writes[i].before = append(writes[i].before, q.answer(p.Context(), p.s))
			}
		}
		errs := p.together(len(writes), func(ctx context.Context, s store.Store, i int) error {
			e := endingAfter(ctx, looks()[i])
			defer e.end()
			return writes[i].do(e, s)
		})
		for i, w := range writes {
			what := fmt.Sprintf("%s whose context ended at the look %d, and which returned the error %v,", name, looks()[i], errs[i])
			p.left(errs[i], "%s", what)
			w.wholly(p, errs[i] == nil, what)
			if err := w.do(p.Context(), p.s); err != nil && (w.again == nil || !errors.Is(err, w.again)) {
				p.broken("%s returned the error %v when it was repeated", what, err)
			}
			w.wholly(p, true, what+" and was repeated")
		}
	}
	p.invariants()
}

// wholly checks that once a part is there, so is every other. A database may still be at a
// call whose caller has left: then all of it is there later.
func (w interrupted) wholly(p *probe, done bool, what string) {
	p.Helper()
	for range 2 {
		known := done
		for i, q := range w.tell {
			changed := !q.answer(p.Context(), p.s).equal(w.before[i])
			if done && !changed {
				p.broken("%s was not done wholly: %s answers as before", what, q.name)
			}
			done = done || changed
		}
		if known == done {
			return
		}
	}
}

func endingDuringReads(p *probe) {
	c := p.draft(named("changed"))
	p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon")
	p.coupon(named("changed too"))
	r, plain := p.checkout(c, "ann", p.key()), p.plain("ann", p.key())
	p.place(r)
	p.reserve(c, "ann")
	for _, o := range []store.Order{plain, p.plain("ann", p.key())} {
		_, _, err := p.s.CreateOrder(p.Context(), o)
		p.ok(err, "CreateOrder")
	}
	for _, q := range questions(c, r, plain) {
		whole := q.answer(p.Context(), p.s)
		for _, n := range looks() {
			e := endingAfter(p.Context(), n)
			value, err := q.ask(e, p.s)
			e.end()
			p.left(err, "%s whose context ended at the look %d", q.name, n)
			if err == nil {
				same(p, value, whole.Value, "what %s answers whose context ended at the look %d", q.name, n)
			}
		}
	}
}

// catalogWrites are the methods that change coupons, by their names.
func catalogWrites() map[string]func(*probe) interrupted {
	return map[string]func(*probe) interrupted{
		"CreateCoupon": func(p *probe) interrupted {
			c := p.draft()
			return interrupted{again: coupon.ErrCodeTaken, tell: []question{couponOf(c), lookUpOf(c, "")}, do: func(ctx context.Context, s store.Store) error {
				return s.CreateCoupon(ctx, c)
			}}
		},
		"UpdateCoupon": func(p *probe) interrupted {
			c := p.coupon()
			changed := c
			p.forAddresses("ann@example.org", "bob@example.org")(&changed)
			return interrupted{again: store.ErrStaleRevision, tell: []question{couponOf(c), lookUpOf(c, "")}, do: func(ctx context.Context, s store.Store) error {
				_, err := s.UpdateCoupon(ctx, changed)
				return err
			}}
		},
		"ConfirmMirror": func(p *probe) interrupted {
			c := p.coupon(inState(coupon.Pending))
			return interrupted{tell: []question{couponOf(c), lookUpOf(c, "")}, do: func(ctx context.Context, s store.Store) error {
				_, err := s.ConfirmMirror(ctx, c.ID, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
				return err
			}}
		},
		"DeleteCoupon": func(p *probe) interrupted {
			c := p.coupon()
			return interrupted{again: coupon.ErrNotFound, tell: []question{couponOf(c), lookUpOf(c, "")}, do: func(ctx context.Context, s store.Store) error {
				return s.DeleteCoupon(ctx, c.ID, c.Revision)
			}}
		},
	}
}

// redemptionWrites are the methods that change redemptions and orders, by their names.
func redemptionWrites() map[string]func(*probe) interrupted {
	return map[string]func(*probe) interrupted{
		"Reserve": func(p *probe) interrupted {
			c := p.coupon()
			r := p.checkout(c, "ann", p.key())
			tell := []question{redemptionOf(r.Redemption.ID), orderOf(r.Redemption.OrderID), keyOf("ann", r.Redemption.Key), couponOf(c), lookUpOf(c, "ann")}
			return interrupted{tell: tell, do: func(ctx context.Context, s store.Store) error { _, err := s.Reserve(ctx, r); return err }}
		},
		"TakeOver": func(p *probe) interrupted {
			c := p.coupon()
			r := p.opened(c, "ann")
			over := p.takeOver(c, r.Redemption, p.key())
			tell := []question{redemptionOf(r.Redemption.ID), orderOf(r.Order.ID), orderOf(over.Order.ID), keyOf("ann", over.Order.Key), lookUpOf(c, "ann")}
			return interrupted{tell: tell, do: func(ctx context.Context, s store.Store) error { _, err := s.TakeOver(ctx, over); return err }}
		},
		"Settle": func(p *probe) interrupted {
			c := p.coupon()
			r := p.opened(c, "ann")
			tell := []question{redemptionOf(r.Redemption.ID), orderOf(r.Order.ID), couponOf(c), lookUpOf(c, "ann")}
			return interrupted{tell: tell, do: settling(p.settlement(redemption.SessionCompleted, r, r.Order.SessionID))}
		},
		"Settle without a reservation": func(p *probe) interrupted {
			c := p.coupon()
			o, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
			p.ok(err, "CreateOrder")
			paid := p.settlement(redemption.SessionCompleted, store.Reserved{
				Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "ann"}, Order: o,
			}, p.session())
			tell := []question{redemptionOf(paid.NewID), orderOf(o.ID), couponOf(c), lookUpOf(c, "ann")}
			return interrupted{tell: tell, do: settling(paid)}
		},
		"Transition": func(p *probe) interrupted {
			c := p.coupon()
			r := p.reserve(c, "ann")
			tell := []question{redemptionOf(r.Redemption.ID), orderOf(r.Order.ID), couponOf(c), lookUpOf(c, "ann")}
			return interrupted{tell: tell, do: func(ctx context.Context, s store.Store) error {
				_, err := s.Transition(ctx, r.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
				return err
			}}
		},
		"CreateOrder": func(p *probe) interrupted {
			o := p.plain("ann", p.key())
			return interrupted{tell: []question{orderOf(o.ID), keyOf("ann", o.Key)}, do: func(ctx context.Context, s store.Store) error {
				_, _, err := s.CreateOrder(ctx, o)
				return err
			}}
		},
		"AttachSession": func(p *probe) interrupted {
			r, session := p.reserve(p.coupon(), "ann"), p.session()
			tell := []question{redemptionOf(r.Redemption.ID), orderOf(r.Order.ID)}
			return interrupted{tell: tell, do: func(ctx context.Context, s store.Store) error {
				_, err := s.AttachSession(ctx, attachment(r.Order.ID, session))
				return err
			}}
		},
	}
}
