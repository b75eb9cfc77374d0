package command

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

func (t *tool) codeCommands() *cobra.Command {
	return group("code", "Generate, assign, import, export and check codes of a coupon", "",
		t.codeGenerate(), t.codeAssign(), t.codeImport(), t.codeExport(), t.codeCheck(),
		t.codeSwitch("disable", "Switch codes off", false), t.codeSwitch("enable", "Switch codes on", true))
}

func isNotFound(err error) bool { return errors.Is(err, coupon.ErrNotFound) }

var codeColumns = []column[coupon.IssuedCode]{
	{"code", func(c coupon.IssuedCode) any { return c.Code }},
	{"couponId", func(c coupon.IssuedCode) any { return c.CouponID }},
	{"batch", func(c coupon.IssuedCode) any { return c.Batch }},
	{"active", func(c coupon.IssuedCode) any { return c.Active }},
	{"usedCount", func(c coupon.IssuedCode) any { return c.UsedCount }},
	{"reservedCount", func(c coupon.IssuedCode) any { return c.ReservedCount }},
	{"maxUses", func(c coupon.IssuedCode) any { return limit(c.MaxUses) }},
	{"owner", func(c coupon.IssuedCode) any { return c.Owner }},
	{"expiresAt", func(c coupon.IssuedCode) any { return instant(c.ExpiresAt) }},
}

var batchColumns = []column[coupon.IssuedBatch]{
	{"id", func(b coupon.IssuedBatch) any { return b.ID }},
	{"couponId", func(b coupon.IssuedBatch) any { return b.CouponID }},
	{"size", func(b coupon.IssuedBatch) any { return b.Size }},
	{"added", func(b coupon.IssuedBatch) any { return b.Added }},
	{"removed", func(b coupon.IssuedBatch) any { return b.Removed }},
	{"assigned", func(b coupon.IssuedBatch) any { return b.Assigned }},
	{"inactive", func(b coupon.IssuedBatch) any { return b.Inactive }},
	{"usedCount", func(b coupon.IssuedBatch) any { return b.UsedCount }},
	{"reservedCount", func(b coupon.IssuedBatch) any { return b.ReservedCount }},
}

func (t *tool) codeGenerate() *cobra.Command {
	var draft coupon.BatchDraft
	var maxUses int
	var expires string
	var dryRun bool
	c := command("generate CODE|ID --batch ID --count N", "Generate a batch of codes for a coupon",
		`Customers can use each code at once. After an interruption or an error, run the same command again: it adds the codes
that are missing. The codes are printed by code export.`, 1, 1, func(c *cobra.Command, args []string) error {
			if draft.MaxUses = coupon.Set(maxUses); maxUses == 0 {
				draft.MaxUses = coupon.Clear[int]()
			}
			draft.ExpiresAt = calendar.Moment(expires)
			if err := t.checkDraft(draft); err != nil {
				return err
			}
			return t.withCoupon(c.Context(), args[0], func(ctx context.Context, s *couponkit.Service, of coupon.Coupon) error {
				b, err := t.generate(ctx, s, of, draft, dryRun)
				if err != nil {
					return err
				}
				return show(t, b, batchColumns)
			})
		})
	c.Flags().StringVar(&draft.ID, "batch", "", "ID of the batch")
	c.Flags().Int64Var(&draft.Count, "count", 0, fmt.Sprintf("number of codes, at most %d", coupon.MaxBatchSize))
	c.Flags().StringVar(&draft.Shape.Prefix, "prefix", "", "text with which each code begins")
	c.Flags().IntVar(&draft.Shape.Symbols, "symbols", 0, "random symbols of each code (default as many as the count needs)")
	c.Flags().StringVar(&draft.Shape.Pattern, "pattern", "", "groups of symbols, such as XXXX-XXXX-XXXX")
	c.Flags().IntVar(&maxUses, "max-uses", 1, "uses of each code; 0 is no limit")
	c.Flags().StringVar(&expires, "expires-at", "", "end of the codes: a date, through its end, or an RFC 3339 instant")
	dryRunFlag(c, &dryRun)
	return require(c, "batch", "count")
}

// checkDraft refuses flags that are invalid, before the database is asked. It also refuses codes that are too easily guessed.
func (t *tool) checkDraft(draft coupon.BatchDraft) error {
	if err := t.load(); err != nil {
		return err
	}
	_, err := draft.Code("", coupon.Edit{At: t.Now(), Location: t.settings.location})
	if err == nil {
		_, err = (codes.Policy{}).Shape(draft.Shape, uint64(draft.Count)) //nolint:gosec // the draft was checked
	}
	if err != nil {
		return usageError{fmt.Errorf("%s", reasonOf(err))}
	}
	return nil
}

// ofBatch explains an error of a batch that has other codes.
func ofBatch(err error, batch string) error {
	if errors.Is(err, store.ErrKeyReused) {
		return fmt.Errorf("the coupon has a batch %q that was made otherwise, by other means or with another shape, count, limit or expiry: name another batch", batch)
	}
	return err
}

// generate adds the codes of a batch.
func (t *tool) generate(ctx context.Context, s *couponkit.Service, of coupon.Coupon, draft coupon.BatchDraft, dryRun bool) (coupon.IssuedBatch, error) {
	if dryRun {
		b, err := s.PreviewCodes(ctx, of.ID, draft)
		if err == nil {
			t.say("%d codes would be added", b.Size-b.Added)
		}
		return b, ofBatch(err, draft.ID)
	}
	shown, end := t.progress("codes")
	b, err := s.CreateCodes(ctx, of.ID, draft, func(b coupon.IssuedBatch) { shown(b.Added, b.Size) })
	end()
	if err != nil && b.Added > 0 && !errors.Is(err, store.ErrKeyReused) {
		t.say("the batch has %d of %d codes: run the same command again to add the others", b.Added, b.Size)
	}
	return b, ofBatch(err, draft.ID)
}

// withCoupon runs a command on a coupon.
func (t *tool) withCoupon(ctx context.Context, codeOrID string, run func(context.Context, *couponkit.Service, coupon.Coupon) error) error {
	return t.withService(ctx, func(ctx context.Context, s *couponkit.Service) error {
		c, err := s.Find(ctx, codeOrID)
		if err != nil {
			return err
		}
		return run(ctx, s, c)
	})
}

func (t *tool) codeCheck() *cobra.Command {
	return command("check CODE", "Look a code up as a customer types it", `Exit code 1 means that no coupon has the code. To see whether a code applies to a cart, use explain.`,
		1, 1, func(c *cobra.Command, args []string) error {
			typed, err := coupon.TypedCode(args[0])
			if err != nil {
				return err
			}
			return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
				found, err := s.FindCode(ctx, args[0])
				if isNotFound(err) {
					if _, valid := codes.AsGenerated(typed); !valid {
						t.say("%s is no generated code: its form or its check symbol is wrong", typed)
					}
					return fmt.Errorf("no coupon has the code %s", typed)
				}
				if err != nil {
					return err
				}
				if found.Code != typed {
					t.say("%s is read as %s", typed, found.Code)
				}
				return show(t, found, codeColumns)
			})
		})
}

func (t *tool) codeSwitch(name, short string, active bool) *cobra.Command {
	var couponID, batch string
	var dryRun bool
	const many = 1_000
	c := command(name+" CODE... | --coupon CODE|ID --batch ID", short,
		"Orders that use the codes stay as they are.", 0, many, func(c *cobra.Command, args []string) error {
			ofBatch := couponID != "" && batch != ""
			if ofBatch == (len(args) > 0) || (couponID == "") != (batch == "") {
				return usagef("name codes, or a coupon and a batch of it with --coupon and --batch")
			}
			if !ofBatch {
				return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
					return list(t, t.switched(ctx, s, args, active, dryRun), codeColumns)
				})
			}
			return t.withCoupon(c.Context(), couponID, func(ctx context.Context, s *couponkit.Service, of coupon.Coupon) error {
				b, err := batchOf(ctx, s, of.ID, batch)
				if err != nil {
					return err
				}
				switch {
				case dryRun && active:
					t.say("%d codes would be switched on", b.Inactive)
				case dryRun:
					t.say("%d codes would be switched off", b.Added-b.Removed-b.Inactive)
				default:
					b, err = s.SetBatchActive(ctx, of.ID, batch, active)
				}
				if err != nil {
					return err
				}
				return show(t, b, batchColumns)
			})
		})
	c.Flags().StringVar(&couponID, "coupon", "", "coupon of the batch")
	c.Flags().StringVar(&batch, "batch", "", "all codes of a batch")
	dryRunFlag(c, &dryRun)
	return c
}

// switched switches codes, one by one, and yields each of them.
func (t *tool) switched(ctx context.Context, s *couponkit.Service, typed []string, active, dryRun bool) iter.Seq2[coupon.IssuedCode, error] {
	return func(yield func(coupon.IssuedCode, error) bool) {
		for _, text := range typed {
			c, err := s.FindCode(ctx, text)
			switch {
			case err == nil && dryRun:
				c, err = c.Apply(coupon.CodePatch{Active: coupon.Set(active)}, coupon.Edit{At: t.Now()})
			case err == nil:
				c, err = s.UpdateCode(ctx, text, coupon.CodePatch{Active: coupon.Set(active)})
			}
			if err != nil {
				err = fmt.Errorf("code %s: %w", text, err)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// batchOf returns a batch with its counts.
func batchOf(ctx context.Context, s *couponkit.Service, couponID, id string) (coupon.IssuedBatch, error) {
	for b, err := range s.Batches(ctx, store.BatchList{CouponID: couponID, ID: id, PageSize: 1}) {
		return b, err
	}
	return coupon.IssuedBatch{}, fmt.Errorf("the coupon has no batch %q", id)
}
