package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

func (t *tool) couponCommands() *cobra.Command {
	return group("coupon", "List, show, create and change coupons", "",
		t.couponList(), t.couponShow(), t.couponCreate(), t.couponEdit(), t.couponDuplicate(),
		t.couponSwitch("disable", "Switch a coupon off", false), t.couponSwitch("enable", "Switch a coupon on", true))
}

// instant is an instant in a cell, or nothing.
func instant(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Format(time.RFC3339)
}

// limit is a limit in a cell. A limit of 0 is none.
func limit(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

var couponColumns = []column[coupon.Coupon]{
	{"id", func(c coupon.Coupon) any { return c.ID }},
	{"code", func(c coupon.Coupon) any { return c.Code }},
	{"name", func(c coupon.Coupon) any { return c.Name }},
	{"state", func(c coupon.Coupon) any { return c.State }},
	{"discount", func(c coupon.Coupon) any { return c.Discount }},
	{"usedCount", func(c coupon.Coupon) any { return c.UsedCount }},
	{"reservedCount", func(c coupon.Coupon) any { return c.ReservedCount }},
	{"maxUses", func(c coupon.Coupon) any { return limit(c.Limits.MaxUses) }},
	{"startsAt", func(c coupon.Coupon) any { return instant(c.StartsAt) }},
	{"expiresAt", func(c coupon.Coupon) any { return instant(c.ExpiresAt) }},
}

// wholeCoupon has what fits in no list.
var wholeCoupon = append(slices.Clip(couponColumns),
	column[coupon.Coupon]{"description", func(c coupon.Coupon) any { return c.Description }},
	column[coupon.Coupon]{"distribution", func(c coupon.Coupon) any { return c.Distribution }},
	column[coupon.Coupon]{"group", func(c coupon.Coupon) any { return c.Group }},
	column[coupon.Coupon]{"currency", func(c coupon.Coupon) any { return c.Currency }},
	column[coupon.Coupon]{"createdAt", func(c coupon.Coupon) any { return instant(c.CreatedAt) }},
	column[coupon.Coupon]{"updatedAt", func(c coupon.Coupon) any { return instant(c.UpdatedAt) }},
	column[coupon.Coupon]{"revision", func(c coupon.Coupon) any { return c.Revision }},
)

func (t *tool) couponList() *cobra.Command {
	var by store.CouponList
	var state, discount string
	var expired bool
	var most int
	c := command("list", "List coupons, newest first", "", 0, 0, func(c *cobra.Command, _ []string) error {
		var faults validation.Error
		var err error
		if state != "" {
			by.State, err = coupon.ParseState(state)
			faults.At("--state", err)
		}
		if discount != "" {
			faults.At("--type", by.DiscountType.UnmarshalText([]byte(discount)))
		}
		if most < 0 {
			faults.Add("--limit", validation.TooSmall, "is at least 0")
		}
		if expired {
			by.ExpiredAt = t.Now()
		}
		if err := faults.Err(); err != nil {
			return usageError{err}
		}
		by.PageSize = store.MaxPageSize
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			return t.listCoupons(ctx, s, by, most)
		})
	})
	c.Flags().StringVar(&by.Search, "search", "", "text in the name, the code or the description")
	c.Flags().StringVar(&state, "state", "", "pending, active, inactive or deleting")
	c.Flags().StringVar(&discount, "type", "", "type of the discount, such as PERCENTAGE")
	c.Flags().BoolVar(&expired, "expired", false, "only coupons that have expired")
	c.Flags().BoolVar(&by.UsedUp, "used-up", false, "only coupons whose uses are used up")
	c.Flags().IntVar(&most, "limit", 100, "the most coupons to list; 0 lists all")
	complete(c, "state", "pending", "active", "inactive", "deleting")
	return c
}

// listCoupons lists coupons. It names those that cannot be read, and goes on.
func (t *tool) listCoupons(ctx context.Context, s *couponkit.Service, by store.CouponList, most int) error {
	out := newSheet(t, couponColumns)
	listed, unreadable := 0, int64(0)
	for c, err := range s.Coupons(ctx, by) {
		switch {
		case err != nil && c.ID != "": // the sequence goes on after a coupon that cannot be read
			unreadable++
			t.say("%v", err)
			continue
		case err != nil:
			_ = out.close()
			return err
		case most > 0 && listed == most:
			t.say("there are more coupons: --limit 0 lists all")
			return out.close()
		}
		listed++
		if err := out.add(c); err != nil {
			return err
		}
	}
	if err := out.close(); err != nil || unreadable == 0 {
		return err
	}
	return refusedError{unreadable}
}

func (t *tool) couponShow() *cobra.Command {
	return command("show CODE|ID", "Show a coupon", "JSON has all of its terms.", 1, 1, func(c *cobra.Command, args []string) error {
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			found, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			return show(t, found, wholeCoupon)
		})
	})
}

const couponDocuments = `The document is a JSON object with the names of docs/contract.md, section 7, such as
  {"code": "SUMMER10", "name": "Summer", "discountType": "PERCENTAGE", "discountValue": "10"}`

func (t *tool) couponCreate() *cobra.Command {
	var file string
	var dryRun bool
	c := command("create", "Create a coupon from JSON", couponDocuments, 0, 0, func(c *cobra.Command, _ []string) error {
		data, err := t.read(file)
		if err != nil {
			return err
		}
		var draft coupon.Draft
		if err := draft.UnmarshalJSON(data); err != nil {
			return err
		}
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			return t.create(ctx, s, draft, dryRun)
		})
	})
	fileFlag(c, &file, "the coupon as JSON")
	dryRunFlag(c, &dryRun)
	return c
}

// create creates a coupon and shows it.
func (t *tool) create(ctx context.Context, s *couponkit.Service, draft coupon.Draft, dryRun bool) error {
	if dryRun {
		c, err := coupon.New(draft, coupon.Creation{
			ID: coupon.IDPrefix + "dry-run", At: t.Now(), Currency: t.settings.currency, Location: t.settings.location,
		})
		if err != nil {
			return err
		}
		if err := free(ctx, s, c.Code); err != nil {
			return withHolder(err)
		}
		c.ID = "" // nobody knows it yet
		t.say("the coupon would be created")
		return show(t, c, wholeCoupon)
	}
	c, err := s.Create(ctx, draft)
	if err != nil {
		return withHolder(err)
	}
	if !t.hasProcessor() {
		t.say("a shop with a payment processor makes the coupon there at its next reconcile")
	}
	return show(t, c, wholeCoupon)
}

// withHolder names the coupon that has a taken code.
func withHolder(err error) error {
	if r, is := errors.AsType[*coupon.Rejection](err); is && r.CouponID != "" && errors.Is(err, coupon.ErrCodeTaken) {
		return fmt.Errorf("coupon %s has the code: %w", r.CouponID, err)
	}
	return err
}

// free returns coupon.ErrCodeTaken if a coupon has the code.
func free(ctx context.Context, s *couponkit.Service, code coupon.Code) error {
	if code.IsZero() {
		return nil
	}
	found, err := s.FindCode(ctx, code.String())
	switch {
	case err == nil && found.Code == code:
		return coupon.Reject(found.CouponID, coupon.CodeTaken, coupon.Params{})
	case err == nil || isNotFound(err):
		return nil
	}
	return err
}

func (t *tool) couponEdit() *cobra.Command {
	var file string
	var dryRun bool
	c := command("edit CODE|ID", "Change a coupon by JSON", `The document has the members to change. null removes a limit or a condition. With "revision", a coupon that was
changed meanwhile stays as it is.`, 1, 1, func(c *cobra.Command, args []string) error {
		data, err := t.read(file)
		if err != nil {
			return err
		}
		var patch coupon.Patch
		if err := patch.UnmarshalJSON(data); err != nil {
			return err
		}
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			before, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			after, err := before.Apply(patch, coupon.Edit{At: t.Now(), Location: t.settings.location})
			if revision, given := patch.Revision.Value(); err == nil && given && revision != before.Revision {
				err = store.ErrStaleRevision
			}
			if err == nil && !dryRun {
				t.noteMirror(before)
				after, err = s.Update(ctx, before.ID, patch)
			}
			if err != nil {
				return err
			}
			return show(t, after, wholeCoupon)
		})
	})
	fileFlag(c, &file, "the changes as JSON")
	dryRunFlag(c, &dryRun)
	return c
}

// noteMirror says that the payment processor does not know of a change yet.
func (t *tool) noteMirror(c coupon.Coupon) {
	if !t.hasProcessor() && c.Mirror.CouponID != "" {
		t.say("without STRIPE_SECRET_KEY, the coupon at the payment processor changes at the next reconcile of the shop")
	}
}

func (t *tool) couponSwitch(name, short string, active bool) *cobra.Command {
	var dryRun bool
	c := command(name+" CODE|ID", short, "Orders that use the coupon stay as they are.", 1, 1, func(c *cobra.Command, args []string) error {
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			found, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if dryRun {
				if found.State = coupon.Inactive; active {
					found.State = coupon.Active
				}
				return show(t, found, wholeCoupon)
			}
			t.noteMirror(found)
			if found, err = s.SetActive(ctx, found.ID, active); err != nil {
				return err
			}
			return show(t, found, wholeCoupon)
		})
	})
	dryRunFlag(c, &dryRun)
	return c
}

func (t *tool) couponDuplicate() *cobra.Command {
	var file, code, name string
	var dryRun bool
	c := command("duplicate CODE|ID", "Create a coupon with the terms of another one", `A file has members that differ, as in coupon create. Without --code, the new coupon has no plain code, and customers
reach it by the codes of batches.`, 1, 1, func(c *cobra.Command, args []string) error {
		changes := []byte("{}")
		if file != "" {
			var err error
			if changes, err = t.read(file); err != nil {
				return err
			}
		}
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			found, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			draft, err := copyOf(found, code, name, changes)
			if err != nil {
				return err
			}
			return t.create(ctx, s, draft, dryRun)
		})
	})
	c.Flags().StringVar(&code, "code", "", "plain code of the new coupon")
	c.Flags().StringVar(&name, "name", "", "name of the new coupon")
	c.Flags().StringVarP(&file, "file", "f", "", "members that differ, as JSON; - is standard input")
	dryRunFlag(c, &dryRun)
	return c
}

// copyOf returns a draft with the terms of a coupon, and with other members.
func copyOf(c coupon.Coupon, code, name string, changes []byte) (draft coupon.Draft, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return draft, err
	}
	var members, other map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return draft, err
	}
	if err := json.Unmarshal(changes, &other); err != nil {
		return draft, fmt.Errorf("the changes are no JSON object: %w", err)
	}
	for _, own := range [...]string{
		"id", "code", "active", "usedCount", "reservedCount", "processorCouponId", "promotionCodeId", "mirrorUnsupported",
		"createdAt", "updatedAt", "revision",
	} {
		delete(members, own)
	}
	set := func(member string, value any) {
		members[member], _ = json.Marshal(value) // text and booleans have JSON
	}
	if name != "" {
		set("name", name)
	}
	if code != "" {
		set("code", code)
	} else if _, given := other["code"]; !given {
		set("withoutCode", true)
	}
	maps.Copy(members, other)
	document, err := json.Marshal(members)
	if err != nil {
		return draft, err
	}
	return draft, draft.UnmarshalJSON(document)
}

// moneyText is an amount in a cell.
func moneyText(m pricing.Money) any {
	if m.Currency().IsZero() {
		return nil
	}
	return m.Currency().Format(m.Minor()) + " " + m.Currency().Code()
}
