package codecsv_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

var march = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func write(t require.TestingT, o codecsv.WriteOptions, codes ...coupon.IssuedCode) string {
	var file bytes.Buffer
	w, err := codecsv.NewWriter(&file, o)
	require.NoError(t, err)
	for _, c := range codes {
		require.NoError(t, w.Write(c))
	}
	require.NoError(t, w.Flush())
	return file.String()
}

// An export has the JSON names of a code as columns, and leaves out what is zero.
func TestAnExport(t *testing.T) {
	t.Parallel()
	const head = "code,couponId,batch,maxUses,owner,expiresAt,active,usedCount,reservedCount,createdAt,updatedAt,revision\n"
	require.Equal(t, head, write(t, codecsv.WriteOptions{}))
	require.Equal(t, "\ufeff"+strings.ReplaceAll(head, ",", ";"), write(t, codecsv.WriteOptions{Separator: ';', ByteOrderMark: true}))
	got := write(t, codecsv.WriteOptions{},
		coupon.IssuedCode{
			Code: coupon.StoredCode("SPRING-1"), CouponID: "cpn_1", Batch: "spring", MaxUses: 2, Owner: coupon.OwnerEmail("ann@example.org"),
			ExpiresAt: march.Add(time.Microsecond), Active: true, UsedCount: 1, ReservedCount: 1, CreatedAt: march, UpdatedAt: march, Revision: 3,
		},
		coupon.IssuedCode{Code: coupon.StoredCode(`A,"B"`), CouponID: "cpn_1", CreatedAt: march, UpdatedAt: march, Revision: 1},
	)
	want := head +
		"SPRING-1,cpn_1,spring,2,email:ann@example.org,2027-03-01T12:00:00.000001Z,true,1,1,2027-03-01T12:00:00Z,2027-03-01T12:00:00Z,3\n" +
		"\"A,\"\"B\"\"\",cpn_1,,,,,false,0,0,2027-03-01T12:00:00Z,2027-03-01T12:00:00Z,1\n"
	require.Empty(t, cmp.Diff(want, got))
}

// A cell that a spreadsheet would run has an apostrophe, and is read as it was.
func TestFormulasAreHarmless(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠1": "'＠1",
		"'=1": "''=1", "''=1": "'''=1", "1.2E+12": "'1.2E+12", "1,2e+12": "'1,2e+12", `="1"`: `'="1"`,
		"": "", "'": "'", "''": "''", "'A": "'A", "A=1": "A=1", "0012": "0012", "1E5": "1E5", "id:=1": "id:=1",
	} {
		require.Equal(t, want, codecsv.Harmless(value), value)
		require.Equal(t, value, codecsv.Original(want), want)
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("'=+-@\t\r\n\"＝1.,E")), rapid.Rune())).Draw(t, "value")
		cell := codecsv.Harmless(value)
		if cell != "" && strings.IndexAny(cell, "=+-@\t\r\n＝＋－＠") == 0 {
			t.Errorf("a spreadsheet runs %q", cell)
		}
		if got := codecsv.Original(cell); got != value {
			t.Errorf("%q is read as %q", value, got)
		}
	})
}

// keys draws valid codes that are hard to write.
func keys() *rapid.Generator[coupon.Code] {
	hard := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune(`'=+-@",;|\.EAB0123456789ÜＡ`)), rapid.Rune()), 1, 20, -1)
	return rapid.Custom(func(t *rapid.T) coupon.Code {
		code, err := coupon.ParseCode(hard.Draw(t, "text"))
		if err != nil {
			code = coupon.StoredCode(rapid.SampledFrom([]string{"A", "=1", "1.2E+12", `="1"`, "'+1", "1,2", `\.`, `"`}).Draw(t, "plain"))
		}
		return code
	})
}

func issued() *rapid.Generator[coupon.IssuedCode] {
	return rapid.Custom(func(t *rapid.T) coupon.IssuedCode {
		c := coupon.IssuedCode{
			Code: keys().Draw(t, "key"), CouponID: "cpn_1", Batch: "=batch", MaxUses: rapid.Int64Range(0, 5).Draw(t, "limit"),
			Active: rapid.Bool().Draw(t, "active"), UsedCount: rapid.Int64Range(0, 5).Draw(t, "used"), CreatedAt: march, UpdatedAt: march, Revision: 1,
		}
		switch rapid.IntRange(0, 2).Draw(t, "owner") {
		case 1:
			c.Owner = coupon.OwnerID(rapid.StringOfN(rapid.SampledFrom([]rune(` =-,;"'|aÜ`)), 1, 10, -1).Draw(t, "id"))
		case 2:
			c.Owner = coupon.OwnerEmail("ann@example.org")
		}
		if rapid.Bool().Draw(t, "expires") {
			c.ExpiresAt = march.Add(time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "microseconds")) * time.Microsecond)
		}
		return c
	})
}

// What was exported is imported as the same codes, whatever the separator.
func TestAnExportIsImported(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		codes := rapid.SliceOfN(issued(), 1, 8).Draw(t, "codes")
		file := write(t, codecsv.WriteOptions{
			Separator: rapid.SampledFrom([]rune{0, ',', ';', '\t', '|'}).Draw(t, "separator"), ByteOrderMark: rapid.Bool().Draw(t, "mark"),
		}, codes...)
		r, err := codecsv.NewReader(strings.NewReader(file), codecsv.Options{})
		require.NoError(t, err)
		var got []coupon.IssuedCode
		for row, err := range r.Rows() {
			require.NoError(t, err)
			require.NoError(t, row.Refusal, file)
			drafted, err := coupon.NewCodes("cpn_1", coupon.Batch{ID: "=batch"}, []coupon.CodeDraft{row.Draft}, coupon.Edit{At: march})
			require.NoError(t, err)
			drafted[0].Active, drafted[0].UsedCount = row.Active, row.UsedCount
			got = append(got, drafted[0])
		}
		if diff := cmp.Diff(codes, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", file, diff)
		}
	})
}

// Whatever encoding/csv has written is read as it was.
func TestCellsOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	cell := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("a\",;\t|\r\n ")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]byte(",;\t|")).Draw(t, "separator")
		rows := rapid.SliceOf(rapid.SliceOfN(cell, 1, 5)).Draw(t, "rows")
		var file bytes.Buffer
		w := csv.NewWriter(&file)
		w.Comma = rune(separator)
		require.NoError(t, w.WriteAll(rows))
		got, err := codecsv.Cells(&file, separator)
		require.NoError(t, err)
		if diff := cmp.Diff(rows, got); len(rows) > 0 && diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// errorWriter fails after some bytes.
type errorWriter struct{ left int }

var errFull = errors.New("the disk is full")

func (w *errorWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Errors of the file are reported, and so is a separator that a Reader does not know.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	_, err := codecsv.NewWriter(io.Discard, codecsv.WriteOptions{Separator: '.'})
	require.ErrorIs(t, err, validation.ErrInvalid)
	for _, mark := range []bool{false, true} {
		w, err := codecsv.NewWriter(&errorWriter{}, codecsv.WriteOptions{ByteOrderMark: mark})
		require.NoError(t, err)
		err = w.Flush()
		require.ErrorIs(t, err, errFull)
	}
	w, err := codecsv.NewWriter(&errorWriter{}, codecsv.WriteOptions{ByteOrderMark: true})
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(coupon.IssuedCode{}), errFull)
	w, err = codecsv.NewWriter(&errorWriter{left: 10_000}, codecsv.WriteOptions{})
	require.NoError(t, err)
	for range 1_000 {
		if err = w.Write(coupon.IssuedCode{Code: coupon.StoredCode("SPRING-1"), ExpiresAt: march}); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, errFull)
	require.ErrorIs(t, w.Flush(), errFull)
}
