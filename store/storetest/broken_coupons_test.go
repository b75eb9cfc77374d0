package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func brokenCoupons() map[string]subject {
	return map[string]subject{
		"instants are cut to seconds": {func(in store.Store) *faulty {
			return &faulty{Store: in, outCoupon: func(c coupon.Coupon) coupon.Coupon {
				c.StartsAt, c.CreatedAt = c.StartsAt.Truncate(time.Second), c.CreatedAt.Truncate(time.Second)
				return c
			}}
		}, []string{"create keeps every field", "instants are kept in UTC"}},
		"amounts are floats": {func(in store.Store) *faulty {
			return &faulty{Store: in, outCoupon: func(c coupon.Coupon) coupon.Coupon {
				c.MinPurchase = int64(float32(c.MinPurchase))
				return c
			}, outOrder: func(o store.Order) store.Order {
				o.Quote.Subtotal = int64(float64(o.Quote.Subtotal))
				return o
			}}
		}, []string{"create keeps every field", "reserve keeps every field", "create an order"}},
		"the description is forgotten": {func(in store.Store) *faulty {
			return &faulty{Store: in, outCoupon: func(c coupon.Coupon) coupon.Coupon {
				c.Description = ""
				return c
			}}
		}, []string{"create keeps every field", "update replaces what can change"}},
		"counts are the caller's": {trustingCounts, []string{"create begins at zero", "update replaces what can change"}},
		"inactive coupons lend their code": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if found, err := in.LookUp(ctx, store.LookUp{Code: c.Code}); err == nil && !found.Coupon.Active() {
					return nil
				}
				return in.CreateCoupon(ctx, c)
			}}
		}, []string{"codes are unique"}},
		"the owner of a code is told": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if owner, err := in.LookUp(ctx, store.LookUp{Code: c.Code}); err == nil {
					return coupon.Reject(owner.Coupon.ID, coupon.CodeTaken, coupon.Params{})
				}
				return in.CreateCoupon(ctx, c)
			}}
		}, []string{"codes are unique"}},
		"codes are checked, then written": {func(in store.Store) *faulty {
			var gap gates
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if _, err := in.LookUp(ctx, store.LookUp{Code: c.Code}); err == nil {
					return coupon.Reject(c.ID, coupon.CodeTaken, coupon.Params{})
				}
				gap.pass(c.Code.String(), 2)
				_ = in.CreateCoupon(ctx, c)
				return nil
			}}
		}, []string{"codes are unique in a race"}},
		"codes are folded": {foldingCodes, []string{"codes are compared by byte"}},
		"existing IDs are overwritten": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				return without(in.CreateCoupon(ctx, c), store.ErrConflict)
			}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				return got, without(err, store.ErrConflict)
			}, settle: func(ctx context.Context, t store.Settlement) (store.Settled, error) {
				got, err := in.Settle(ctx, t)
				return got, without(err, store.ErrConflict)
			}}
		}, []string{"coupon IDs are unique", "existing IDs are not overwritten", "payment with a used ID", "IDs are unique in a race"}},
		"nothing is validated": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				return without(in.CreateCoupon(ctx, c), pricing.ErrInvalid)
			}, reserve: func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				got, err := in.Reserve(ctx, r)
				return got, without(err, pricing.ErrInvalid)
			}}
		}, []string{"malformed coupons are refused", "malformed reservations are refused", "text that cannot be kept is refused", "a window within a microsecond is refused"}},
		"deleted codes stay claimed": {func(in store.Store) *faulty {
			var deleted memory[bool]
			return &faulty{Store: in, deleteCoupon: func(ctx context.Context, id string, revision int64) error {
				c, err := in.Coupon(ctx, id)
				if err != nil {
					return err
				}
				deleted.put(c.Code.String(), true)
				return in.DeleteCoupon(ctx, id, revision)
			}, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if claimed, _ := deleted.get(c.Code.String()); claimed {
					return coupon.Reject(c.ID, coupon.CodeTaken, coupon.Params{})
				}
				return in.CreateCoupon(ctx, c)
			}}
		}, []string{"deleted codes are free"}},
		"deleted IDs stay claimed": {func(in store.Store) *faulty {
			var deleted memory[bool]
			return &faulty{Store: in, deleteCoupon: func(ctx context.Context, id string, revision int64) error {
				deleted.put(id, true)
				return in.DeleteCoupon(ctx, id, revision)
			}, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				if claimed, _ := deleted.get(c.ID); claimed {
					return store.ErrConflict
				}
				return in.CreateCoupon(ctx, c)
			}}
		}, []string{"the ID of a deleted coupon"}},
		"deleted IDs are free": {func(in store.Store) *faulty {
			return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
				err := in.CreateCoupon(ctx, c)
				if _, unknown := in.Coupon(ctx, c.ID); errors.Is(unknown, coupon.ErrNotFound) {
					return without(err, store.ErrConflict)
				}
				return err
			}}
		}, []string{"the ID of a deleted coupon"}},
		"the last change wins":        {lastChangeWins, []string{"delete needs the revision", "update needs the revision", "one update of a revision succeeds", "confirm needs the revision"}},
		"an update writes the counts": {updatingCounts, []string{"update keeps the counts"}},
		"narrowed lists are stored": {func(in store.Store) *faulty {
			return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
				c.AllowedUserEmails, _ = coupon.NewEmailSet(c.AllowedUserEmails.Slice()...)
				return in.UpdateCoupon(ctx, c)
			}}
		}, []string{"update keeps a narrowed allow-list"}},
		"a list that was given before is not written": {skippingLists, []string{"a whole list after a narrowed one"}},
		"confirming is an update": {func(in store.Store) *faulty {
			return &faulty{Store: in, confirmMirror: func(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
				c, err := in.ConfirmMirror(ctx, id, m)
				if err == nil {
					return in.UpdateCoupon(ctx, c)
				}
				return c, err
			}}
		}, []string{"confirm the mirror"}},
	}
}

// without returns nil for an error that matches.
func without(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

func trustingCounts(in store.Store) *faulty {
	var given memory[int64]
	return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
		given.put(c.ID, c.UsedCount)
		return in.CreateCoupon(ctx, c)
	}, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		given.put(c.ID, c.UsedCount)
		return in.UpdateCoupon(ctx, c)
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		used, _ := given.get(c.ID)
		c.UsedCount += used
		return c
	}}
}

// skippingLists takes the addresses that an update names for those that are stored,
// also when its list was narrowed and nothing was stored.
func skippingLists(in store.Store) *faulty {
	var given memory[string]
	return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		named := strings.Join(c.AllowedUserEmails.Slice(), " ")
		if before, known := given.get(c.ID); known && before == named {
			c.AllowedUserEmails = coupon.NarrowedEmailSet(c.AllowedUserEmails.Len()+1, "")
		}
		given.put(c.ID, named)
		return in.UpdateCoupon(ctx, c)
	}}
}

// updatingCounts loses what was counted since the administrator has read the coupon.
func updatingCounts(in store.Store) *faulty {
	var lost memory[int64]
	return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		now, err := in.UpdateCoupon(ctx, c)
		if err == nil {
			lost.put(c.ID, now.ReservedCount-c.ReservedCount+1)
		}
		return now, err
	}, outCoupon: func(c coupon.Coupon) coupon.Coupon {
		n, _ := lost.get(c.ID)
		c.ReservedCount -= n
		return c
	}}
}

// folded is what a database with a lenient collation compares.
func folded(text string) string {
	plain, _, _ := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), text)
	return strings.TrimRight(cases.Fold().String(plain), " ")
}

func foldingCodes(in store.Store) *faulty {
	var known memory[coupon.Code]
	return &faulty{Store: in, createCoupon: func(ctx context.Context, c coupon.Coupon) error {
		known.put(folded(c.Code.String()), c.Code)
		return in.CreateCoupon(ctx, c)
	}, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
		if code, ok := known.get(folded(by.Code.String())); ok {
			by.Code = code
		}
		return in.LookUp(ctx, by)
	}}
}

func lastChangeWins(in store.Store) *faulty {
	return &faulty{Store: in, updateCoupon: func(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
		for {
			now, err := in.Coupon(ctx, c.ID)
			if err != nil {
				return now, err
			}
			c.Revision = now.Revision
			if now, err = in.UpdateCoupon(ctx, c); !errors.Is(err, store.ErrStaleRevision) {
				return now, err
			}
		}
	}, deleteCoupon: func(ctx context.Context, id string, _ int64) error {
		now, err := in.Coupon(ctx, id)
		if err != nil {
			return err
		}
		return in.DeleteCoupon(ctx, id, now.Revision)
	}, confirmMirror: func(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
		now, err := in.Coupon(ctx, id)
		if err != nil {
			return now, err
		}
		m.Revision = now.Revision
		return in.ConfirmMirror(ctx, id, m)
	}}
}

func brokenReaders() map[string]subject {
	return map[string]subject{
		"the code comes before the ID": {func(in store.Store) *faulty {
			return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				if !by.Code.IsZero() {
					by.CouponID = ""
				}
				return in.LookUp(ctx, by)
			}}
		}, []string{"look up by ID or code"}},
		"the figures are everybody's": {func(in store.Store) *faulty {
			return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				found, err := in.LookUp(ctx, by)
				found.CompletedByCustomer = found.Coupon.UsedCount
				return found, err
			}}
		}, []string{"look up counts the customer's uses"}},
		"held reservations come newest first": {func(in store.Store) *faulty {
			return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				found, err := in.LookUp(ctx, by)
				slices.Reverse(found.Held)
				return found, err
			}}
		}, []string{"look up lists what is held"}},
		"the allow-list is left out": {func(in store.Store) *faulty {
			return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				by.Email = ""
				return in.LookUp(ctx, by)
			}}
		}, []string{"look up narrows the allow-list"}},
		"only addresses are looked up": {func(in store.Store) *faulty {
			return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				found, err := in.LookUp(ctx, by)
				if list := found.Coupon.AllowedUserEmails; slices.ContainsFunc(list.Slice(), func(entry string) bool { return entry[0] == '*' }) {
					found.Coupon.AllowedUserEmails = coupon.NarrowedEmailSet(list.Len(), "")
				}
				return found, err
			}}
		}, []string{"look up knows domains"}},
		"a search composes no letters": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				if !norm.NFC.IsNormalString(list.Search) {
					list.Search = "nothing of this name"
				}
				return in.ListCoupons(ctx, list)
			}}
		}, []string{"search finds a code as a look-up does"}},
		"a look-up reads twice": {func(in store.Store) *faulty {
			var before memory[coupon.Coupon]
			return &faulty{Store: in, lookUp: func(ctx context.Context, by store.LookUp) (store.Found, error) {
				if c, known := before.get(by.CouponID); known {
					found, err := in.LookUp(ctx, by)
					before.put(by.CouponID, found.Coupon)
					found.Coupon = c
					return found, err
				}
				found, err := in.LookUp(ctx, by)
				before.put(by.CouponID, found.Coupon)
				return found, err
			}}
		}, []string{"look up is one consistent read"}},
		"lists come oldest first": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := in.ListCoupons(ctx, list)
				slices.Reverse(page.Items)
				return page, err
			}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				page, err := in.ListRedemptions(ctx, list)
				slices.Reverse(page.Items)
				return page, err
			}}
		}, []string{"list coupons newest first", "list redemptions"}},
		"pages count from 0": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				list.Page++
				return in.ListCoupons(ctx, list)
			}}
		}, []string{"list coupons by page number"}},
		"small totals are not sure": {unsureTotals, []string{"list coupons by page number", "list redemptions"}},
		"cursors are offsets":       {offsetCursors, []string{"list coupons by cursor", "list redemptions by cursor"}},
		"pages are clamped": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				list.PageSize, list.Page = min(max(list.PageSize, 0), store.MaxPageSize), min(max(list.Page, 0), store.MaxPage)
				return in.ListCoupons(ctx, list)
			}}
		}, []string{"list refuses what is no page"}},
		"text that nothing has is looked for without a cursor": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				if strings.Contains(list.Search, "\x00") {
					list.After = ""
				}
				return in.ListCoupons(ctx, list)
			}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
				if strings.Contains(list.CouponID+list.CustomerID, "\x00") {
					list.After = ""
				}
				return in.ListRedemptions(ctx, list)
			}}
		}, []string{"list refuses what is no page"}},
		"the search minds the letter case": {searching(func(text, search string) bool {
			return strings.Contains(text, search)
		}), []string{"search"}},
		"the search is in lower case": {searching(func(text, search string) bool {
			return strings.Contains(strings.ToLower(text), strings.ToLower(search))
		}), []string{"search"}},
		"the search counts bytes": {func(in store.Store) *faulty {
			return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				if len(list.Search) > store.MaxSearchLength {
					list.Search = strings.Repeat("x", store.MaxSearchLength+1)
				}
				return in.ListCoupons(ctx, list)
			}}
		}, []string{"search takes the longest code"}},
		"the search takes % and _ as wildcards": {searching(func(text, search string) bool {
			return like(strings.ToLower(text), "%"+strings.ToLower(search)+"%")
		}), []string{"search takes signs literally"}},
	}
}

// unsureTotals says of every list that there may be more.
func unsureTotals(in store.Store) *faulty {
	return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
		page, err := in.ListCoupons(ctx, list)
		page.AtLeast = page.Total > 0
		return page, err
	}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
		page, err := in.ListRedemptions(ctx, list)
		page.AtLeast = page.Total > 0
		return page, err
	}}
}

// offsetCursors says how many records to skip, whatever has come before them since.
func offsetCursors(in store.Store) *faulty {
	return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
		skip, _ := strconv.Atoi(list.After)
		all, err := in.ListCoupons(ctx, store.CouponList{Search: list.Search, PageSize: store.MaxPageSize})
		if err != nil {
			return all, err
		}
		items, next := window(all.Items, skip, list.PageSize)
		return store.CouponPage{Items: items, Total: all.Total, Next: next}, nil
	}, listRedemptions: func(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
		skip, _ := strconv.Atoi(list.After)
		all, err := in.ListRedemptions(ctx, store.RedemptionList{PageSize: store.MaxPageSize})
		if err != nil {
			return all, err
		}
		items, next := window(all.Items, skip, list.PageSize)
		return store.RedemptionPage{Items: items, Total: all.Total, Next: next}, nil
	}}
}

func window[T coupon.Coupon | redemption.Redemption](all []T, skip, size int) (items []T, next string) {
	end := min(skip+size, len(all))
	if end < len(all) {
		next = strconv.Itoa(end)
	}
	return all[min(skip, end):end], next
}

// searching returns a store whose search compares texts in its own way.
func searching(match func(text, search string) bool) func(store.Store) *faulty {
	return func(in store.Store) *faulty {
		return &faulty{Store: in, listCoupons: func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
			all, err := in.ListCoupons(ctx, store.CouponList{PageSize: store.MaxPageSize})
			if err != nil {
				return all, err
			}
			found := slices.DeleteFunc(all.Items, func(c coupon.Coupon) bool {
				return !match(c.Name, list.Search) && !match(c.Code.String(), list.Search) && !match(c.Description, list.Search)
			})
			skip, _ := strconv.Atoi(list.After)
			items, next := window(found, skip, list.PageSize)
			return store.CouponPage{Items: items, Total: int64(len(found)), Next: next}, nil
		}}
	}
}

// like is LIKE of SQL without an escape character.
func like(text, pattern string) bool {
	if pattern == "" {
		return text == ""
	}
	switch pattern[0] {
	case '%':
		for i := range len(text) + 1 {
			if like(text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case '_':
		return text != "" && like(text[1:], pattern[1:])
	}
	return text != "" && text[0] == pattern[0] && like(text[1:], pattern[1:])
}
