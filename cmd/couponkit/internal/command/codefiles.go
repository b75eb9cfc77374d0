package command

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// namedRows is how many refused rows are named. Their number is always told.
const namedRows = 1_000

// refusals counts the rows that were refused, and names them.
type refusals struct {
	tool *tool
	rows int64
}

func (r *refusals) add(row int64, reason string) {
	if r.rows++; r.rows <= namedRows {
		r.tool.say("row %d: %s", row, reason)
	}
	if r.rows == namedRows {
		r.tool.say("further rows are only counted")
	}
}

// err is nil if no row was refused.
func (r *refusals) err() error {
	if r.rows == 0 {
		return nil
	}
	return refusedError{r.rows}
}

// reasonOf describes an invalid row in one line.
func reasonOf(err error) string {
	var invalid *validation.Error
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	parts := make([]string, len(invalid.Fields))
	for i, f := range invalid.Fields {
		parts[i] = strings.TrimSpace(f.Path + " " + f.Message)
	}
	return strings.Join(parts, "; ")
}

// assignment is a code of an owner.
type assignment struct {
	Owner coupon.Owner `json:"owner"`
	Code  coupon.Code  `json:"code"`
}

var assignmentColumns = []column[assignment]{
	{"owner", func(a assignment) any { return a.Owner }},
	{"code", func(a assignment) any { return a.Code }},
}

func (t *tool) codeAssign() *cobra.Command {
	var file, batch string
	var dryRun bool
	c := command("assign CODE|ID --batch ID", "Give each owner of a list a code of a batch", `Each row of the list is an owner: an e-mail address, or id: and the ID of a customer. A list with further columns is CSV,
whose first row names a column owner, customerId or email. Empty rows are skipped. An owner who has a code of the batch keeps
it, so that the command can be repeated. A dry run prints no codes that are not assigned yet.`, 1, 1, func(c *cobra.Command, args []string) error {
		f, err := t.open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return t.withCoupon(c.Context(), args[0], func(ctx context.Context, s *couponkit.Service, of coupon.Coupon) error {
			b, err := batchOf(ctx, s, of.ID, batch)
			if err != nil {
				return err
			}
			file, err := codecsv.NewRecipientReader(f, codecsv.Options{})
			if err != nil {
				return err
			}
			refused, broken := &refusals{tool: t}, error(nil)
			owners := readOwners(file, refused, &broken)
			all := s.AssignCodes(ctx, of.ID, batch, owners)
			if dryRun {
				all = s.PreviewAssign(ctx, of.ID, batch, owners)
			}
			shown, end := t.progress("owners")
			defer end()
			err = list(t, assigned(all, shown), assignmentColumns)
			if errors.Is(err, store.ErrNoCodesLeft) {
				err = fmt.Errorf("%w: %d codes of the batch have an owner, and %d are switched off; used and expired codes are not assigned",
					err, b.Assigned, b.Inactive)
			}
			if err = errors.Join(err, broken); err != nil {
				return err
			}
			return refused.err()
		})
	})
	c.Flags().StringVar(&batch, "batch", "", "batch of the codes")
	fileFlag(c, &file, "the owners, one a row")
	dryRunFlag(c, &dryRun)
	return require(c, "batch")
}

func assigned(codes iter.Seq2[coupon.IssuedCode, error], shown func(done, of int64)) iter.Seq2[assignment, error] {
	return func(yield func(assignment, error) bool) {
		n := int64(0)
		for c, err := range codes {
			if n++; n%coupon.MaxCodes == 0 {
				shown(n, 0)
			}
			if !yield(assignment{c.Owner, c.Code}, err) {
				return
			}
		}
	}
}

// readOwners yields the owners of a list. Invalid rows are refused. An error of the file ends the sequence.
func readOwners(file *codecsv.RecipientReader, refused *refusals, broken *error) iter.Seq[coupon.Owner] {
	return func(yield func(coupon.Owner) bool) {
		for row, err := range file.Recipients() {
			switch {
			case err != nil:
				*broken = err
				return
			case row.Refusal != nil:
				refused.add(row.Number, reasonOf(row.Refusal))
			case !yield(row.Owner):
				return
			}
		}
	}
}

// importCounts counts the rows of an import by their verdicts.
type importCounts struct {
	Added   int64 `json:"added"`
	Known   int64 `json:"known"`
	Taken   int64 `json:"taken"`
	Refused int64 `json:"refused"`
}

var importColumns = []column[importCounts]{
	{"added", func(c importCounts) any { return c.Added }},
	{"known", func(c importCounts) any { return c.Known }},
	{"taken", func(c importCounts) any { return c.Taken }},
	{"refused", func(c importCounts) any { return c.Refused }},
}

func (c *importCounts) add(v codecsv.Verdict) {
	switch v {
	case codecsv.Added:
		c.Added++
	case codecsv.Known:
		c.Known++
	case codecsv.Taken:
		c.Taken++
	case codecsv.Refused:
		c.Refused++
	}
}

func (t *tool) codeImport() *cobra.Command {
	var file, batch string
	var ignore []string
	var dryRun bool
	c := command("import CODE|ID --batch ID", "Import codes from CSV into a batch", `The first row names the columns: code, and perhaps owner, customerId or email, maxUses, usedCount, expiresAt and active.
Exports of Talon.One and Voucherify are read, too. Other columns are named on standard error. A code that the batch has
already stays as it is, so that a file can be imported again; a row with another owner, limit or expiry is refused. Rows that
are refused, and codes of another batch or coupon, are named on standard error, and the exit code is 3.`,
		1, 1, func(c *cobra.Command, args []string) error {
			f, err := t.open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			return t.withCoupon(c.Context(), args[0], func(ctx context.Context, s *couponkit.Service, of coupon.Coupon) error {
				reader, err := codecsv.NewReader(f, codecsv.Options{Location: t.settings.location, Ignore: ignore})
				if err != nil {
					return err
				}
				if names := reader.Ignored(); len(names) > 0 {
					t.say("columns that are not read: %s", strings.Join(names, ", "))
				}
				rows := s.ImportCodes(ctx, of.ID, batch, reader.Rows())
				if dryRun {
					rows = s.PreviewImport(ctx, of.ID, batch, reader.Rows())
				}
				return ofBatch(t.countImport(rows), batch)
			})
		})
	c.Flags().StringVar(&batch, "batch", "", "batch that gets the codes")
	c.Flags().StringSliceVar(&ignore, "ignore", nil, "columns that may be lost")
	fileFlag(c, &file, "the codes as CSV")
	dryRunFlag(c, &dryRun)
	return require(c, "batch")
}

// countImport imports rows, names those that were not imported, and prints the counts.
func (t *tool) countImport(rows iter.Seq2[codecsv.Imported, error]) (err error) {
	var counts importCounts
	refused := refusals{tool: t}
	shown, end := t.progress("rows")
	n := int64(0)
	for row, failed := range rows {
		if err = failed; err != nil {
			break
		}
		if n++; n%coupon.MaxCodes == 0 {
			shown(n, 0)
		}
		switch counts.add(row.Verdict); row.Verdict {
		case codecsv.Taken:
			refused.add(row.Number, fmt.Sprintf("code is that of another batch or of the coupon %s", row.CouponID))
		case codecsv.Refused:
			refused.add(row.Number, reasonOf(row.Refusal))
		case codecsv.Added, codecsv.Known:
		}
	}
	end()
	switch {
	case err != nil && n == 0:
		return err
	case errors.Is(err, codecsv.ErrTruncated):
		t.say("the rows before are imported: complete the file, or the quotation marks of the row, and run the same command again")
	case err != nil:
		t.say("the import has stopped: run the same command again to import the rest")
	}
	if printed := show(t, counts, importColumns); err == nil {
		err = printed
	}
	if err != nil {
		return err
	}
	return refused.err()
}

func (t *tool) codeExport() *cobra.Command {
	var by store.CodeList
	var owner, state string
	var mark, unassigned bool
	c := command("export CODE|ID", "Export codes of a coupon", `CSV, which is the default here, has the columns of code import. Cells that a spreadsheet would run begin with an
apostrophe, which code import takes away.`, 1, 1, func(c *cobra.Command, args []string) error {
		if by.Used && by.Unused {
			return usagef("codes are used or unused")
		}
		var faults validation.Error
		var err error
		if owner != "" {
			by.Owner, err = coupon.TypedOwner(owner)
			faults.At("--owner", err)
		}
		if state != "" {
			by.State, err = coupon.ParseState(state)
			faults.At("--state", err)
		}
		if err := faults.Err(); err != nil {
			return usageError{err}
		}
		return t.withCoupon(c.Context(), args[0], func(ctx context.Context, s *couponkit.Service, of coupon.Coupon) error {
			by.CouponID, by.PageSize = of.ID, coupon.MaxCodes
			if by.Batch != "" {
				if _, err := batchOf(ctx, s, of.ID, by.Batch); err != nil {
					return err
				}
			}
			all := s.Codes(ctx, by)
			if unassigned {
				all = withoutOwner(all)
			}
			if t.format.or(csvFormat) != csvFormat {
				return list(t, all, codeColumns)
			}
			return t.writeCodes(all, mark)
		})
	})
	c.Flags().StringVar(&by.Batch, "batch", "", "only codes of this batch")
	c.Flags().StringVar(&owner, "owner", "", "only codes of this owner: email: and an address, or id: and a customer ID")
	c.Flags().StringVar(&state, "state", "", "active or inactive")
	c.Flags().BoolVar(&by.Unused, "unused", false, "only codes without a use, assigned or not")
	c.Flags().BoolVar(&unassigned, "unassigned", false, "only codes without an owner")
	c.Flags().BoolVar(&by.Used, "used", false, "only codes with a use")
	c.Flags().BoolVar(&mark, "byte-order-mark", false, "begin with a mark by which spreadsheets recognize UTF-8")
	complete(c, "state", "active", "inactive")
	return c
}

// withoutOwner leaves out the codes that have an owner.
func withoutOwner(all iter.Seq2[coupon.IssuedCode, error]) iter.Seq2[coupon.IssuedCode, error] {
	return func(yield func(coupon.IssuedCode, error) bool) {
		for c, err := range all {
			if (err != nil || c.Owner.IsZero() && !c.Plain()) && !yield(c, err) {
				return
			}
		}
	}
}

func (t *tool) writeCodes(all iter.Seq2[coupon.IssuedCode, error], mark bool) error {
	w, err := codecsv.NewWriter(t.Out, codecsv.WriteOptions{ByteOrderMark: mark})
	if err != nil {
		return err
	}
	shown, end := t.progress("codes")
	defer end()
	n := int64(0)
	for c, err := range all {
		if err != nil {
			_ = w.Flush()
			return fmt.Errorf("the export is incomplete: %w", err)
		}
		if err := w.Write(c); err != nil {
			return err
		}
		if n++; n%coupon.MaxCodes == 0 {
			shown(n, 0)
		}
	}
	return w.Flush()
}
