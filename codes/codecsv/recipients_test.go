package codecsv_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/codes/codecsv"
)

// recipients reads a list of customers and returns its rows as texts: the number, then the owner or the faults.
func recipients(t require.TestingT, file string, o codecsv.Options) []string {
	r, err := codecsv.NewRecipientReader(strings.NewReader(file), o)
	require.NoError(t, err)
	var all []string
	for row, err := range r.Recipients() {
		require.NoError(t, err)
		if row.Refusal != nil {
			require.True(t, row.Owner.IsZero())
			all = append(all, fmt.Sprintf("%d: refused%s", row.Number, faults(row.Refusal)))
			continue
		}
		all = append(all, fmt.Sprintf("%d: %s", row.Number, row.Owner))
	}
	return all
}

// A list of customers has one column with them. Each row is a customer, or is refused.
func TestRecipients(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"owners": {
			"owner\nid:ann\nemail:bob@example.org\nann\nid:\n\"\",\n",
			[]string{"2: id:ann", "3: email:bob@example.org", "4: refused owner malformed", "5: refused owner malformed"},
		},
		"addresses of a mailing": {
			"\xef\xbb\xbfName;E-Mail\r\nAnn;Ann@Example.org\r\n\r\nBob;bob at home\r\nCem;\r\n",
			[]string{"2: email:ann@example.org", "4: refused owner malformed", "5: refused owner required"},
		},
		"customer IDs": {
			"Customer ID,more\n0012,x\n'=1+1,x\n\x01,x\n1,2,3\n\"1\"2,x\n",
			[]string{"2: id:0012", "3: id:=1+1", "4: refused owner malformed", "5: refused row mismatch", "6: refused row malformed"},
		},
		"of another system": {"recipientintegrationid\n" + strings.Repeat("a", 256) + "\nid:7\n", []string{"2: refused owner too_long", "3: id:id:7"}},
		"no customer":       {"email\n", nil},
		"what the tool has printed": {
			"owner,code\nemail:ann@example.org,AAA\nCem@Example.org,BBB\n", []string{"2: email:ann@example.org", "3: email:cem@example.org"},
		},
		"no header": {
			"\xef\xbb\xbf\r\nAnn@Example.org\r\n\r\nid:7\r\nnobody\r\nid:8",
			[]string{"2: email:ann@example.org", "4: id:7", "5: refused owner malformed", "6: id:8"},
		},
		"one customer, and no end of line": {"id:7", []string{"1: id:7"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(test.want, recipients(t, test.file, codecsv.Options{})))
		})
	}
	require.Equal(t, []string{"2: id:7"}, recipients(t, "customerId,email\n7,ann@example.org\n", codecsv.Options{Ignore: []string{"email"}}))
}

func TestRecipientsThatAreRefused(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                        " file required",
		"code\nA\n":               " owner required",
		"nobody\nid:7\n":          " owner required",
		"a@example.org,A\n":       " owner required",
		"id:7,A\n":                " owner required",
		"customerId,email\n1,2\n": " owner mismatch",
		"PK\x03\x04":              " file malformed",
	} {
		_, err := codecsv.NewRecipientReader(strings.NewReader(file), codecsv.Options{})
		require.Equal(t, want, faults(err), "%q", file)
	}
	lost := errors.New("connection lost")
	for file, want := range map[io.Reader]error{
		strings.NewReader("email\na@example.org\n\"b"):                                      codecsv.ErrTruncated,
		io.MultiReader(strings.NewReader("email\na@example.org\n"), iotest.ErrReader(lost)): lost,
	} {
		r, err := codecsv.NewRecipientReader(file, codecsv.Options{})
		require.NoError(t, err)
		var end error
		for row, err := range r.Recipients() {
			require.NoError(t, end, "a row after an error")
			if end = err; err != nil {
				require.Equal(t, int64(3), row.Number)
			}
		}
		var read *codecsv.Error
		require.ErrorAs(t, end, &read)
		require.ErrorIs(t, end, want)
		require.Equal(t, int64(3), read.Row)
	}
}

func FuzzRecipients(f *testing.F) {
	f.Add("owner\nid:ann\n")
	f.Add("id:ann\na@example.org\n")
	f.Add("email;name\n\"a@example.org\";x\n")
	f.Fuzz(func(t *testing.T, file string) {
		r, err := codecsv.NewRecipientReader(strings.NewReader(file), codecsv.Options{})
		if err != nil {
			return
		}
		last := int64(0)
		for row, err := range r.Recipients() {
			require.Greater(t, row.Number, last)
			last = row.Number
			if err == nil {
				require.Equal(t, row.Refusal == nil, !row.Owner.IsZero())
			}
		}
	})
}
