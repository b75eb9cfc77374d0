package codecsv_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/validation"
)

// verdicts reads a file and returns its rows as texts: the number, then the draft or the faults.
func verdicts(t require.TestingT, file string, o codecsv.Options) []string {
	r, err := codecsv.NewReader(strings.NewReader(file), o)
	require.NoError(t, err)
	all := []string{}
	for row, err := range r.Rows() {
		require.NoError(t, err)
		all = append(all, verdict(row))
	}
	return all
}

func verdict(row codecsv.Row) string {
	text := fmt.Sprintf("%d:", row.Number)
	if row.Refusal != nil {
		return text + " refused" + faults(row.Refusal)
	}
	text += " " + row.Draft.Code
	if !row.Draft.Owner.IsZero() {
		text += " owner " + row.Draft.Owner.String()
	}
	if n, given := row.Draft.MaxUses.Value(); given {
		text += fmt.Sprintf(" uses %d", n)
	}
	if row.Draft.ExpiresAt != "" {
		text += " until " + string(row.Draft.ExpiresAt)
	}
	if row.UsedCount != 0 {
		text += fmt.Sprintf(" used %d", row.UsedCount)
	}
	if !row.Active {
		text += " inactive"
	}
	return text
}

// faults returns the paths and codes of a validation error.
func faults(err error) (text string) {
	var invalid *validation.Error
	if !errors.As(err, &invalid) {
		return " " + err.Error()
	}
	for _, f := range invalid.Fields {
		text += fmt.Sprintf(" %s %s", f.Path, f.Code)
	}
	return text
}

// The columns of other systems and ours are read by their names, in any order.
func TestColumnsOfSeveralSystems(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"ours": {
			"code,couponId,batch,maxUses,owner,expiresAt,active,usedCount,reservedCount,createdAt,updatedAt,revision\n" +
				"SPRING-1,cpn_1,spring,2,email:ann@example.org,2027-04-01T00:00:00Z,false,1,0,2027-03-01T12:00:00Z,2027-03-01T12:00:00Z,1\n" +
				"SPRING-2,cpn_1,spring,,,,true,0,0,2027-03-01T12:00:00Z,2027-03-01T12:00:00Z,1\n",
			[]string{"2: SPRING-1 owner email:ann@example.org uses 2 until 2027-04-01T00:00:00Z used 1 inactive", "3: SPRING-2"},
		},
		"import of Talon.One": {
			"value,expirydate,startdate,recipientintegrationid,limitval,discountlimit,attributes\n" +
				"SPRING-1,2027-04-01T00:00:00Z,,ann,3,,\"{\"\"A\"\": \"\"b,c\"\"}\"\n" +
				"SPRING-2,,,,0,0,\n" +
				"SPRING-3,,,,,,\n" +
				"SPRING-4,,2027-03-01T00:00:00Z,,1,100,\n",
			[]string{
				"2: SPRING-1 owner id:ann uses 3 until 2027-04-01T00:00:00Z", "3: SPRING-2", "4: SPRING-3 uses 1",
				"5: refused startsAt not_allowed discountLimit not_allowed",
			},
		},
		"export of Talon.One": {
			"accountid,applicationid,attributes,batchid,campaignid,counter,created,deleted,deleted_changelogid,discount_counter,discount_limitval," +
				"expirydate,id,importid,is_reservation_mandatory,limits,limitval,recipientintegrationid,referralid,startdate,value\n" +
				"1,2,{},b,3,4,2026-01-01T00:00:00Z,false,,0,0,2027-04-01T00:00:00Z,5,6,false,[],10,ann,,,SPRING-1\n" +
				"1,2,{},b,3,0,2026-01-01T00:00:00Z,true,7,0,25.50,,5,6,false,\"[{\"\"action\"\":\"\"redeemCoupon\"\"}]\",0,,,2027-01-01T00:00:00Z,SPRING-2\n",
			[]string{
				"2: SPRING-1 owner id:ann uses 10 until 2027-04-01T00:00:00Z used 4",
				"3: refused deleted not_allowed discountLimit not_allowed limits not_allowed startsAt not_allowed",
			},
		},
		"a list of a spreadsheet": {
			"\ufeffE-Mail;Code\r\nAnn@Example.org;SPRING-1\r\n;SPRING-2\r\nann;SPRING-3\r\n",
			[]string{"2: SPRING-1 owner email:ann@example.org", "3: SPRING-2", "4: refused owner malformed"},
		},
		"customer IDs": {"code,customerId\nSPRING-1,7\n", []string{"2: SPRING-1 owner id:7"}},
		"terms of Talon.One and Voucherify that a code cannot keep": {
			"code,is_reservation_mandatory,validity_timeframe_interval,validity_day_of_week,discount_amount_limit\nSPRING-1,false,,[],\nSPRING-2,true,P2D,\"[1,2]\",500\n",
			[]string{"2: SPRING-1", "3: refused reservation not_allowed validityInterval not_allowed weekdays not_allowed discountLimit not_allowed"},
		},
		"customers of Voucherify":  {"Code,Voucher Type,Customer Id\nSPRING-1,DISCOUNT_VOUCHER,cust_1\n", []string{"2: SPRING-1"}},
		"codes alone of Talon.One": {"value\nSPRING-1\n", []string{"2: SPRING-1 uses 1"}},
		"Voucherify": {
			"Code,Voucher Type,Active,Start Date,Expiration Date,Discount Type,Value,Category,Redemption Limit,Redeemed Quantity,Additional Info,Region\n" +
				"SPRING-1,DISCOUNT_VOUCHER,TRUE,,2022-11-30T00:00:00.000Z,PERCENT,20,Mail,1,1,,EU\n" +
				"SPRING-2,DISCOUNT_VOUCHER,FALSE,,,AMOUNT,2000,,,0,,\n" +
				"SPRING-3,GIFT_VOUCHER,TRUE,2022-09-19T00:00:00.000Z,,,5000,,,,,\n",
			[]string{"2: SPRING-1 uses 1 until 2022-11-30T00:00:00.000Z used 1", "3: SPRING-2 inactive", "4: refused voucherType not_allowed startsAt not_allowed"},
		},
		"an export of Voucherify's interface": {
			"code,voucher_type,value,discount_type,expiration_date,redemption_quantity,redemption_count,active,validity_timeframe_interval,validity_timeframe_duration,customer_id\n" +
				"SPRING-1,DISCOUNT_VOUCHER,20,PERCENT,2027-11-30T00:00:00.000Z,5,2,true,,,cust_1\n" +
				"SPRING-2,DISCOUNT_VOUCHER,20,PERCENT,,,0,false,P2D,PT1H,\n",
			[]string{"2: SPRING-1 uses 5 until 2027-11-30T00:00:00.000Z used 2", "3: refused validityInterval not_allowed validityDuration not_allowed"},
		},
		"a short one of Voucherify": {"Code,Active,Category,Region\nSPRING-1,true,Mail,EU\n", []string{"2: SPRING-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, verdicts(t, test.file, codecsv.Options{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A column that changes a code is lost only by the wish of the caller. The others are named.
func TestColumnsThatAreIgnored(t *testing.T) {
	t.Parallel()
	const file = "value,startdate,Region,limitval\nSPRING-1,2027-01-01,EU,5\n"
	require.Equal(t, []string{"2: SPRING-1 uses 5"}, verdicts(t, file, codecsv.Options{Ignore: []string{"Start Date", "unknown"}}))
	require.Equal(t, []string{"2: SPRING-1 uses 1"}, verdicts(t, file, codecsv.Options{Ignore: []string{"STARTDATE", "limit-val"}}))
	r, err := codecsv.NewReader(strings.NewReader(file), codecsv.Options{Ignore: []string{"startdate"}})
	require.NoError(t, err)
	want := []codecsv.Column{{Name: "value", Field: "code"}, {Name: "startdate"}, {Name: "Region"}, {Name: "limitval", Field: "maxUses"}}
	require.Empty(t, cmp.Diff(want, r.Columns()))
	require.Equal(t, []string{"startdate", "Region"}, r.Ignored())
}

// Files of spreadsheets are read, whatever their separators, ends of rows and quotation marks.
func TestHabitsOfSpreadsheets(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", codecsv.MaxRowBytes-1) // with a code of one byte
	two := []string{"2: A uses 1", "3: B uses 2"}
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"commas":                       {"code,maxUses\nA,1\nB,2\n", two},
		"semicolons":                   {"code;maxUses\nA;1\nB;2\n", two},
		"tabs":                         {"code\tmaxUses\nA\t1\nB\t2\n", two},
		"vertical bars":                {"code|maxUses\nA|1\nB|2\n", two},
		"a byte order mark":            {"\ufeffcode;maxUses\nA;1\nB;2\n", two},
		"CR LF":                        {"code,maxUses\r\nA,1\r\nB,2\r\n", two},
		"CR":                           {"code,maxUses\rA,1\rB,2\r", two},
		"no end of the last row":       {"code,maxUses\nA,1\nB,2", two},
		"an end of text":               {"code,maxUses\nA,1\nB,2\n\x1a", two},
		"quoted cells":                 {"\"code\",\"maxUses\"\n\"A\",\"1\"\n\"B\" ,2\n", two},
		"a named separator":            {"sep=;\ncode;maxUses\nA;1\nB;2\n", []string{"3: A uses 1", "4: B uses 2"}},
		"a named separator and a mark": {"\ufeffsep=|\r\ncode|maxUses\r\nA|1\r\n", []string{"3: A uses 1"}},
		"empty rows":                   {"\n,,\ncode,maxUses\n\n,\n \nA,1\n\nB,2\n\n", []string{"7: A uses 1", "9: B uses 2"}},
		"missing cells at the end":     {"code,maxUses,owner\nA,1\nB\n", []string{"2: A uses 1", "3: B"}},
		"empty cells at the end":       {"code,maxUses\nA,1,,\nB,2\n", two},
		"a cell of several rows":       {"code,note,maxUses\nA,\"one\r\n\"\"two\"\"\n\",1\nB,,2\n", two},
		"quotation marks inside":       {"code,note\nA\"B,5\" wide\n", []string{"2: A\"B"}},
		"columns in other letters":     {" CODE ,Max_Uses\nA,1\nB,2\n", two},
		"leading zeros":                {"code\n0012\n=\"0012\"\n\"=\"\"0012\"\"\"\n", []string{"2: 0012", "3: 0012", "4: 0012"}},
		"one column with separators":   {"code\nA;B\nA,B\n", []string{"2: A;B", "3: refused row mismatch"}},
		"the longest row":              {"code,note\nA," + longest + "\nB," + longest + "x\n", []string{"2: A", "3: refused row too_long"}},
		"the longest header":           {"code," + longest[4:] + "\nA\n", []string{"2: A"}},
		"no formula":                   {"code\n=\"A\"B\"\n", []string{"2: =\"A\"B\""}},
		"an apostrophe":                {"code\n'=A\n'A\n'\n''\n''+A\n", []string{"2: =A", "3: 'A", "4: '", "5: ''", "6: '+A"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, verdicts(t, test.file, codecsv.Options{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each cell is read if it has one meaning, and refused with its row otherwise.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ column, cell, want string }{
		{"maxUses", "5", "A uses 5"},
		{"maxUses", " 5 ", "A uses 5"},
		{"maxUses", "5,0", "A uses 5"},
		{"maxUses", "5.00", "A uses 5"},
		{"maxUses", "", "A"},
		{"maxUses", "0", "refused maxUses too_small"},
		{"maxUses", "1.000", "refused maxUses malformed"},
		{"maxUses", "1,000", "refused maxUses malformed"},
		{"maxUses", "2,5", "refused maxUses malformed"},
		{"maxUses", ",0", "refused maxUses malformed"},
		{"maxUses", "-1", "refused maxUses malformed"},
		{"maxUses", "many", "refused maxUses malformed"},
		{"maxUses", "99999999999999999999", "refused maxUses too_large"},
		{"usedCount", "3", "A used 3"},
		{"usedCount", "x", "refused usedCount malformed"},
		{"limitval", "0", "A"},
		{"limitval", "7", "A uses 7"},
		{"owner", "id:ann", "A owner id:ann"},
		{"owner", "email:Ann@Example.org", "A owner email:ann@example.org"},
		{"owner", "Ann@Example.org", "A owner email:ann@example.org"},
		{"owner", "ann", "refused owner malformed"},
		{"owner", "email:ann", "refused owner malformed"},
		{"recipientintegrationid", "ann", "A owner id:ann"},
		{"recipientintegrationid", strings.Repeat("a", 256), "refused owner too_long"},
		{"active", "true", "A"},
		{"active", "FALSCH", "A inactive"},
		{"active", "0", "A inactive"},
		{"active", "", "A"},
		{"active", "perhaps", "refused active malformed"},
		{"deleted", "false", "A"},
		{"deleted", "2026-01-01", "refused deleted not_allowed"},
		{"discountlimit", "0,00", "A"},
		{"discountlimit", "0,01", "refused discountLimit not_allowed"},
		{"limits", "{}", "A"},

		{"expiresAt", "2026-12-31", "A until 2026-12-31"},
		{"expiresAt", "2026-12-31T18:00:00Z", "A until 2026-12-31T18:00:00Z"},
		{"expiresAt", "2026-12-31t18:00:00+01:00", "A until 2026-12-31t18:00:00+01:00"},
		{"expiresAt", "2026-12-31 18:00:00+01:00", "A until 2026-12-31T17:00:00Z"},
		{"expiresAt", "2026-12-31 18:00:00.123456+00", "A until 2026-12-31T18:00:00.123456Z"},
		{"expiresAt", "2026-12-31 18:00:00 UTC", "A until 2026-12-31T18:00:00Z"},
		{"expiresAt", "2026-12-31 18:00:00 +0100", "A until 2026-12-31T17:00:00Z"},
		{"expiresAt", "2026-12-31T18:00:00+0100", "A until 2026-12-31T17:00:00Z"},
		{"expiresAt", "2026-12-31T18:00:00", "A until 2026-12-31T17:00:00Z"}, // in Berlin
		{"expiresAt", "2026-12-31 18:00", "A until 2026-12-31T17:00:00Z"},
		{"expiresAt", "31.12.2026 18:00:01.5", "A until 2026-12-31T17:00:01.5Z"},
		{"expiresAt", "31/12/2026 6:00 pm", "A until 2026-12-31T17:00:00Z"},
		{"expiresAt", "Dec 31, 2026, 6:00:00 PM", "A until 2026-12-31T17:00:00Z"},
		{"expiresAt", "31.12.2026", "A until 2026-12-31"},
		{"expiresAt", "1.2.2026", "A until 2026-02-01"},
		{"expiresAt", "2026/12/31", "A until 2026-12-31"},
		{"expiresAt", "2026-1-2", "A until 2026-01-02"},
		{"expiresAt", "2026.12.31", "A until 2026-12-31"},
		{"expiresAt", "20261231", "A until 2026-12-31"},
		{"expiresAt", "31/12/2026", "A until 2026-12-31"},
		{"expiresAt", "12/31/2026", "A until 2026-12-31"},
		{"expiresAt", "3/3/2026", "A until 2026-03-03"},
		{"expiresAt", "31-Dec-2026", "A until 2026-12-31"},
		{"expiresAt", "31 dec 2026", "A until 2026-12-31"},
		{"expiresAt", "December 31, 2026", "A until 2026-12-31"},
		{"expiresAt", "03/04/2026", "refused expiresAt malformed"},
		{"expiresAt", "05/12/2026", "refused expiresAt malformed"},
		{"expiresAt", "12/05/2026", "refused expiresAt malformed"},
		{"expiresAt", "13/12/2026", "A until 2026-12-13"},
		{"expiresAt", "12/13/2026", "A until 2026-12-13"},
		{"expiresAt", "03/04/2026 18:00", "refused expiresAt malformed"},
		{"expiresAt", "31/13/2026", "refused expiresAt malformed"},
		{"expiresAt", "31/12/26", "refused expiresAt malformed"},
		{"expiresAt", "31.12.26", "refused expiresAt malformed"},
		{"expiresAt", "30.02.2026", "refused expiresAt malformed"},
		{"expiresAt", "46387", "refused expiresAt malformed"},
		{"expiresAt", "18:00", "refused expiresAt malformed"},
		{"expiresAt", "31.12.2026 25:00", "refused expiresAt malformed"},
		{"expiresAt", "0000-01-01", "refused expiresAt too_small"},
		{"expiresAt", "1.1.0000", "refused expiresAt too_small"},
		{"expiresAt", "soon", "refused expiresAt malformed"},
	} {
		berlin, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		file := "code\t" + test.column + "\nA\t" + test.cell + "\n"
		if diff := cmp.Diff([]string{"2: " + test.want}, verdicts(t, file, codecsv.Options{Location: berlin})); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", test.column, test.cell, diff)
		}
	}
}

// A row has one verdict, which names every invalid field. The rows after it are read.
func TestEveryFaultOfARowIsNamed(t *testing.T) {
	t.Parallel()
	const file = "code,owner,maxUses,expiresAt,active\n" +
		"A B,ann,x,soon,perhaps\n" +
		",id:ann,,,\n" +
		"1.23457E+12,,,,\n" +
		"\xff,,,,\n" +
		"A,,,,,extra\n" +
		"\"A\"B,,,,\n" +
		"B,,,,\n"
	want := []string{
		"2: refused owner malformed maxUses malformed expiresAt malformed active malformed code malformed",
		"3: refused code required", "4: refused code malformed", "5: refused code malformed", "6: refused row mismatch", "7: refused row malformed", "8: B",
	}
	require.Empty(t, cmp.Diff(want, verdicts(t, file, codecsv.Options{})))
}

// A file that is no CSV of codes is refused before its rows are read.
func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, want string }{
		"empty":             {"", " file required"},
		"blank":             {"\n\n", " file required"},
		"no codes":          {"name,owner\nA,id:ann\n", " code required"},
		"separators":        {",,,", " code required"},
		"a field twice":     {"code,maxUses,Redemption Limit,Code\n", " maxUses mismatch code mismatch"},
		"two owners":        {"code,owner,recipientintegrationid\n", " owner mismatch"},
		"a workbook":        {"PK\x03\x04\x14\x00", " file malformed"},
		"UTF-16":            {"\xff\xfec\x00o\x00d\x00e\x00", " file malformed"},
		"UTF-16, other end": {"\xfe\xff\x00c\x00o", " file malformed"},
		"UTF-16, no mark":   {"c\x00o\x00", " file malformed"},
		"a long header":     {"code," + strings.Repeat("x", codecsv.MaxRowBytes-4), " file too_long"},
		"two separators":    {"sep=;\nsep=,\ncode\n", " code required"},
		"many columns":      {"code" + strings.Repeat(",", codecsv.MaxColumns) + "\n", " row too_long"},
		"an open header":    {"\"code\n", " row 1: the file stops in the middle of a row"},
		"an open header 3":  {"\n\n\"code\n\n", " row 3: the file stops in the middle of a row"},
	} {
		_, err := codecsv.NewReader(strings.NewReader(test.file), codecsv.Options{})
		require.Error(t, err, name)
		require.Equal(t, test.want, faults(err), name)
	}
	broken := errors.New("the line is dead")
	for _, file := range []string{"", "code", "code\r"} {
		_, err := codecsv.NewReader(io.MultiReader(strings.NewReader(file), iotest.ErrReader(broken)), codecsv.Options{})
		require.ErrorIs(t, err, broken)
		var stopped *codecsv.Error
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, int64(1), stopped.Row)
	}
}

// A file that stops in the middle has its rows before, and an error with the number of the row.
func TestAFileThatStops(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line is dead")
	for name, test := range map[string]struct {
		file io.Reader
		want error
		rows int
	}{
		"within quotation marks": {strings.NewReader("code,owner\nA,\nB,\"id:a"), codecsv.ErrTruncated, 1},
		"after a mark":           {strings.NewReader("code,owner\nA,\nB,\""), codecsv.ErrTruncated, 1},
		"a mark and no more":     {strings.NewReader("code\nA\n\""), codecsv.ErrTruncated, 1},
		"before a cell":          {strings.NewReader("code,owner\nA,\nB"), codecsv.ErrTruncated, 1},
		"an error":               {io.MultiReader(strings.NewReader("code,owner\nA,\nB"), iotest.ErrReader(broken)), broken, 1},
		"an error after CR":      {io.MultiReader(strings.NewReader("code,owner\nA,\nB,\r"), iotest.ErrReader(broken)), broken, 1},
	} {
		r, err := codecsv.NewReader(test.file, codecsv.Options{})
		require.NoError(t, err, name)
		rows := 0
		var last error
		for row, err := range r.Rows() {
			require.NoError(t, last, "the sequence has ended")
			if last = err; err == nil {
				rows++
				require.NoError(t, row.Refusal)
			}
		}
		require.Equal(t, test.rows, rows, name)
		require.ErrorIs(t, last, test.want, name)
		var stopped *codecsv.Error
		require.ErrorAs(t, last, &stopped, name)
		require.Equal(t, int64(3), stopped.Row, name)
	}
}

// A sequence that is left goes on with the next one.
func TestRowsGoOn(t *testing.T) {
	t.Parallel()
	r, err := codecsv.NewReader(strings.NewReader("code\nA\nB\nC\n"), codecsv.Options{})
	require.NoError(t, err)
	var read []string
	for range 4 {
		for row, err := range r.Rows() {
			require.NoError(t, err)
			read = append(read, verdict(row))
			break
		}
	}
	require.Equal(t, []string{"2: A", "3: B", "4: C"}, read)
}

// What is left of a code that was used elsewhere.
func TestRemainingUses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit coupon.Optional[int]
		used  int64
		want  coupon.Optional[int]
		left  bool
	}{
		{coupon.Optional[int]{}, 7, coupon.Optional[int]{}, true},
		{coupon.Set(3), 0, coupon.Set(3), true},
		{coupon.Set(3), 2, coupon.Set(1), true},
		{coupon.Set(3), 3, coupon.Set(3), false},
		{coupon.Set(3), 4, coupon.Set(3), false},
	} {
		draft, left := codecsv.Row{Draft: coupon.CodeDraft{Code: "A", MaxUses: test.limit}, UsedCount: test.used}.Remaining()
		require.Equal(t, test.left, left)
		require.Equal(t, coupon.CodeDraft{Code: "A", MaxUses: test.want}, draft)
	}
}

// repeated is a file that repeats a text without having it.
type repeated struct {
	text string
	left int
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n = copy(p, r.text[r.at:])
	n = min(n, r.left)
	r.left, r.at = r.left-n, (r.at+n)%len(r.text)
	return n, nil
}

// grown runs a function and returns by how much the memory in use has grown at most.
func grown(read func(look func())) uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, uint64(0)
	read(func() {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapAlloc-min(before, stats.HeapAlloc))
	})
	return most
}

// A row of a gigabyte is refused with its number, in constant memory, and the next row is read.
func TestAHugeRow(t *testing.T) {
	for name, huge := range map[string]struct {
		text, quote string
		size        int
	}{
		"a cell":        {"x", "", testsize.Of(16<<20, 1<<30)},
		"cells":         {"x,", "", 16 << 20},
		"a quoted cell": {"\n", "\"", 16 << 20},
	} {
		file := io.MultiReader(strings.NewReader("code,owner\nA,\n"+huge.quote),
			&repeated{text: strings.Repeat(huge.text, 4096), left: huge.size}, strings.NewReader(huge.quote+"\nB,\n"))
		r, err := codecsv.NewReader(file, codecsv.Options{})
		require.NoError(t, err)
		var read []string
		used := grown(func(look func()) {
			for row, err := range r.Rows() {
				require.NoError(t, err)
				read = append(read, verdict(row))
				look()
			}
		})
		require.Equal(t, []string{"2: A", "3: refused row too_long", "4: B"}, read, name)
		require.Less(t, used, uint64(1<<20), name)
	}
}

// A million faults are a million verdicts, in constant memory.
func TestAMillionBadRows(t *testing.T) {
	const row = "A B;ann;many;soon;perhaps\n"
	n := testsize.Of(50_000, 1_000_000)
	r, err := codecsv.NewReader(io.MultiReader(
		strings.NewReader("code;owner;maxUses;expiresAt;active\n"), &repeated{text: strings.Repeat(row, 100), left: n * len(row)}), codecsv.Options{})
	require.NoError(t, err)
	refused := 0
	used := grown(func(look func()) {
		for row, err := range r.Rows() {
			require.NoError(t, err)
			require.Error(t, row.Refusal)
			if refused++; refused%(n/4) == 0 {
				require.Equal(t, int64(refused+1), row.Number)
				look()
			}
		}
	})
	require.Equal(t, n, refused)
	require.Less(t, used, uint64(1<<20))
}

// Whatever the file has: every row has a verdict, the numbers rise, and an accepted row has a valid draft.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"code,owner,maxUses,expiresAt,active\nA,id:ann,1,2026-12-31,true\n", "sep=;\nvalue;limitval\n=\"1\";0\n", "\ufeffCode\tActive\r'=A\t1\r\n", "code\n\"", "PK\x03\x04",
		"code,expirydate\nA,03/04/2026\nB,31.12.2026 18:00\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		r, err := codecsv.NewReader(strings.NewReader(file), codecsv.Options{})
		if err != nil {
			var stopped *codecsv.Error
			if !errors.Is(err, validation.ErrInvalid) && !errors.As(err, &stopped) {
				t.Errorf("%v", err)
			}
			return
		}
		before := int64(1)
		for row, err := range r.Rows() {
			if row.Number <= before {
				t.Errorf("row %d comes after row %d", row.Number, before)
			}
			before = row.Number
			switch {
			case err != nil:
				require.ErrorIs(t, err, codecsv.ErrTruncated)
			case row.Refusal != nil:
				require.ErrorIs(t, row.Refusal, validation.ErrInvalid)
			default:
				require.NoError(t, row.Draft.Validate(time.UTC))
				require.NotEmpty(t, row.Draft.Code)
			}
		}
	})
}

// The speed of a row.
func BenchmarkRows(b *testing.B) {
	const row = "SPRING-4F7K2XW9R1CM8,cpn_1,spring,1,email:ann@example.org,2027-04-01T00:00:00Z,true,0\n"
	b.ReportAllocs()
	b.SetBytes(int64(len(row)))
	r, err := codecsv.NewReader(io.MultiReader(
		strings.NewReader("code,couponId,batch,maxUses,owner,expiresAt,active,usedCount\n"), &repeated{text: strings.Repeat(row, 100), left: b.N * len(row)}), codecsv.Options{})
	require.NoError(b, err)
	for row, err := range r.Rows() {
		if err != nil || row.Refusal != nil || row.Draft.ExpiresAt != calendar.Moment("2027-04-01T00:00:00Z") {
			b.Fatal(err, row.Refusal)
		}
	}
}
