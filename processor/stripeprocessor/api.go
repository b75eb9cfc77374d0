package stripeprocessor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
)

// The operations at Stripe that this package uses. Each is one request. [Processor.do] repeats it after
// failures.
const (
	opCreateCoupon        = "create coupon"
	opReadCoupon          = "read coupon"
	opUpdateCoupon        = "update coupon"
	opDeleteCoupon        = "delete coupon"
	opListCoupons         = "list coupons"
	opCreateCode          = "create promotion code"
	opReadCode            = "read promotion code"
	opUpdateCode          = "update promotion code"
	opListCodes           = "list promotion codes"
	opCreateSession       = "create session"
	opReadSession         = "read session"
	opExpireSession       = "expire session"
	opListSessions        = "list sessions"
	opCreateRefund        = "create refund"
	opListLineItems       = "list line items"
	opListRefunds         = "list refunds"
	opListDisputes        = "list disputes"
	opListInvoicePayments = "list invoice payments"
	opList                = "list" // a request for a page of any list
	expandCoupon          = "promotion.coupon"
	expandListCoupon      = "data.promotion.coupon"
	pageSize              = 100
)

// withID refuses an empty ID. Stripe would read the path as the path of the list.
func withID(op, id string) error {
	if id == "" {
		return refused(op, processor.ErrNotFound, errors.New("an empty ID"))
	}
	return nil
}

// answerError describes a malformed answer. Its text quotes nothing but IDs.
type answerError string

func (e answerError) Error() string { return string(e) }

// about checks that an answer is the wanted object. An answer may be malformed, an ID alone, or another
// object. Then something stands between Stripe and this program, and the effect of the call at Stripe
// is unknown.
func about(object, got, want string) error {
	if object == "" || got == "" || got != want {
		return answerError(fmt.Sprintf("the answer is %q %q, not %q", named(object), named(got), want))
	}
	return nil
}

var answerName = regexp.MustCompile(`^[A-Za-z0-9._-]{0,100}$`)

// named returns a name if it has the form of Stripe's names. Other text may contain anything, so it
// becomes "?".
func named(text string) string {
	if answerName.MatchString(text) {
		return text
	}
	return "?"
}

func (p *Processor) createCoupon(ctx context.Context, params *stripe.CouponCreateParams,
	look func(context.Context) (bool, error),
) (made *stripe.Coupon, err error) {
	err = p.do(ctx, call{op: opCreateCoupon, look: look}, func(ctx context.Context, key string) (err error) {
		params.SetIdempotencyKey(key)
		if made, err = p.client.V1Coupons.Create(ctx, params); err != nil {
			return err
		}
		return about(made.Object, made.ID, stripe.StringValue(params.ID))
	})
	return made, err
}

func (p *Processor) readCoupon(ctx context.Context, id string) (found *stripe.Coupon, err error) {
	if err := withID(opReadCoupon, id); err != nil {
		return nil, err
	}
	err = p.do(ctx, call{op: opReadCoupon}, func(ctx context.Context, _ string) (err error) {
		if found, err = p.client.V1Coupons.Retrieve(ctx, id, nil); err != nil {
			return err
		}
		return about(found.Object, found.ID, id)
	})
	return found, err
}

func (p *Processor) updateCoupon(ctx context.Context, id string, params *stripe.CouponUpdateParams) (changed *stripe.Coupon, err error) {
	if err := withID(opUpdateCoupon, id); err != nil {
		return nil, err
	}
	err = p.do(ctx, call{op: opUpdateCoupon}, func(ctx context.Context, key string) (err error) {
		params.SetIdempotencyKey(key)
		if changed, err = p.client.V1Coupons.Update(ctx, id, params); err != nil {
			return err
		}
		return about(changed.Object, changed.ID, id)
	})
	return changed, err
}

// deleteCoupon deletes the object. It succeeds if the object is already deleted.
func (p *Processor) deleteCoupon(ctx context.Context, id string) error {
	if err := withID(opDeleteCoupon, id); err != nil {
		return err
	}
	err := p.do(ctx, call{op: opDeleteCoupon}, func(ctx context.Context, _ string) error {
		gone, err := p.client.V1Coupons.Delete(ctx, id, nil)
		if err != nil {
			return err
		}
		return about(gone.Object, gone.ID, id)
	})
	if errors.Is(err, processor.ErrNotFound) {
		return nil
	}
	return err
}

func (p *Processor) createCode(ctx context.Context, params *stripe.PromotionCodeCreateParams,
	look func(context.Context) (bool, error),
) (made *stripe.PromotionCode, err error) {
	err = p.do(ctx, call{op: opCreateCode, look: look}, func(ctx context.Context, key string) (err error) {
		params.SetIdempotencyKey(key)
		if made, err = p.client.V1PromotionCodes.Create(ctx, params); err != nil {
			return err
		}
		return about(made.Object, made.ID, made.ID)
	})
	return made, err
}

// readCode reads a promotion code together with its coupon.
func (p *Processor) readCode(ctx context.Context, id string) (found *stripe.PromotionCode, err error) {
	if err := withID(opReadCode, id); err != nil {
		return nil, err
	}
	params := &stripe.PromotionCodeRetrieveParams{Expand: stripe.StringSlice([]string{expandCoupon})}
	err = p.do(ctx, call{op: opReadCode}, func(ctx context.Context, _ string) (err error) {
		if found, err = p.client.V1PromotionCodes.Retrieve(ctx, id, params); err != nil {
			return err
		}
		return about(found.Object, found.ID, id)
	})
	return found, err
}

func (p *Processor) activateCode(ctx context.Context, id string, active bool) error {
	if err := withID(opUpdateCode, id); err != nil {
		return err
	}
	params := &stripe.PromotionCodeUpdateParams{Active: new(active)}
	return p.do(ctx, call{op: opUpdateCode}, func(ctx context.Context, key string) error {
		params.SetIdempotencyKey(key)
		changed, err := p.client.V1PromotionCodes.Update(ctx, id, params)
		if err != nil {
			return err
		}
		return about(changed.Object, changed.ID, id)
	})
}

// codes lists promotion codes with their coupons, over all pages.
func (p *Processor) codes(ctx context.Context, by stripe.PromotionCodeListParams) iter.Seq2[*stripe.PromotionCode, error] {
	by.Expand = stripe.StringSlice([]string{expandListCoupon})
	return pages(func(after *string) (data []*stripe.PromotionCode, more bool, err error) {
		by.ListParams = stripe.ListParams{Limit: stripe.Int64(pageSize), StartingAfter: after, Single: true}
		err = p.do(ctx, call{op: opListCodes}, func(ctx context.Context, _ string) (err error) {
			params := by
			list := p.client.V1PromotionCodes.List(ctx, &params)
			data, more, err = pageOf(list)
			return err
		})
		return data, more, err
	}, func(code *stripe.PromotionCode) string { return code.ID })
}

func (p *Processor) coupons(ctx context.Context) iter.Seq2[*stripe.Coupon, error] {
	return pages(func(after *string) (data []*stripe.Coupon, more bool, err error) {
		page := stripe.ListParams{Limit: stripe.Int64(pageSize), StartingAfter: after, Single: true}
		err = p.do(ctx, call{op: opListCoupons}, func(ctx context.Context, _ string) (err error) {
			list := p.client.V1Coupons.List(ctx, &stripe.CouponListParams{ListParams: page})
			data, more, err = pageOf(list)
			return err
		})
		return data, more, err
	}, func(object *stripe.Coupon) string { return object.ID })
}

// pageOf returns the items of a page of a list, and whether there are more pages. Every list has an
// address, and no item is null. Any other answer is an error, because another object would look like an
// empty list.
func pageOf[T any](list *stripe.V1List[*T]) (data []*T, more bool, err error) {
	if err := list.Err(); err != nil {
		return nil, false, err
	}
	data, more = list.Data(), list.Meta().HasMore
	switch {
	case list.Meta().URL == "":
		return nil, false, answerError("the answer is no list")
	case more && len(data) == 0:
		return nil, false, answerError("a list has no items and says there are more")
	case slices.Contains(data, nil):
		return nil, false, answerError("a list has null for an item")
	}
	return data, more, nil
}

// pages yields the items of a list, each once. It fetches the next page before it yields the items of a
// page, so that a consumer may delete an item: Stripe continues a list after the ID of an item. A list
// that starts again from its beginning is an error.
func pages[T any](fetch func(after *string) ([]T, bool, error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		list := walk[T]{fetch: fetch, id: id}
		seen := map[string]bool{}
		page, err := list.next()
		for len(page) > 0 {
			var next []T
			if err == nil {
				next, err = list.next()
			}
			for _, item := range page {
				if seen[id(item)] {
					continue
				}
				seen[id(item)] = true
				if !yield(item, nil) {
					return
				}
			}
			page = next
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// walk iterates over the pages of a list.
type walk[T any] struct {
	fetch func(after *string) ([]T, bool, error)
	id    func(T) string

	ended  bool
	last   *string   // last item of the previous page; nil before the first page
	begins []*string // for each page so far: the item before it
}

// next returns the next page, or an empty page at the end.
func (l *walk[T]) next() ([]T, error) {
	if l.ended {
		return nil, nil
	}
	page, more, err := l.fetch(l.last)
	if l.last != nil && errors.Is(err, processor.ErrNotFound) {
		page, more, err = l.back()
	} else {
		l.begins = append(l.begins, l.last)
	}
	if err != nil || !more || len(page) == 0 {
		l.ended = true
		return page, err
	}
	last := l.id(page[len(page)-1])
	if last == "" || l.last != nil && last == *l.last {
		l.ended = true
		return page, refused(opList, processor.ErrUnavailable, fmt.Errorf("a list does not go on after %q", last))
	}
	l.last = &last
	return page, nil
}

// back fetches an earlier page again. It is called when the last item of that page was deleted
// meanwhile, because Stripe cannot continue a list after a deleted item. If the item before that page
// was deleted too, back continues with the page before, and so on to the first page.
func (l *walk[T]) back() (page []T, more bool, err error) {
	for i, begin := range slices.Backward(l.begins) {
		l.begins = l.begins[:i+1]
		if page, more, err = l.fetch(begin); !errors.Is(err, processor.ErrNotFound) {
			break
		}
	}
	return page, more, err
}

// sessions lists the sessions created in a range, newest first.
func (p *Processor) sessions(ctx context.Context, created stripe.RangeQueryParams) iter.Seq2[*stripe.CheckoutSession, error] {
	return p.sessionsBy(ctx, stripe.CheckoutSessionListParams{CreatedRange: &created})
}

// sessionsBy lists the sessions that a filter selects.
func (p *Processor) sessionsBy(ctx context.Context, by stripe.CheckoutSessionListParams) iter.Seq2[*stripe.CheckoutSession, error] {
	return pages(func(after *string) (data []*stripe.CheckoutSession, more bool, err error) {
		err = p.do(ctx, call{op: opListSessions}, func(ctx context.Context, _ string) (err error) {
			page := by
			page.ListParams = pageAfter(after)
			list := p.client.V1CheckoutSessions.List(ctx, &page)
			data, more, err = pageOf(list)
			return err
		})
		return data, more, err
	}, func(s *stripe.CheckoutSession) string { return s.ID })
}
