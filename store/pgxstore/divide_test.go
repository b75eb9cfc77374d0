package pgxstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/couponkit/couponkit/store/pgxstore"
)

// refusal is what PostgreSQL reports with that code, as the store passes it on.
func refusal(code string) error {
	return fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code})
}

// TestGroupOutOfTime: a batch that has run out of the time that the role allows it is run
// once more, for each turn by itself, so that a coupon that somebody holds keeps back its
// own calls and no other's. How often that time is spent does not depend on how many calls
// or turns there are: those that are left get the error.
func TestGroupOutOfTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code    string
		turns   string // of the requests from 2 on
		late    string // turns that run out of time
		batches [][]int
		refused []int
	}{
		"one turn":               {"55P03", "aaaaa", "a", [][]int{{2, 3, 4, 5, 6}}, []int{2, 3, 4, 5, 6}},
		"one of three turns":     {"55P03", "aabbc", "b", [][]int{{2, 4, 6, 3, 5}, {2, 3}, {4, 5}, {6}}, []int{4, 5}},
		"none by itself":         {"57014", "aab", "", [][]int{{2, 4, 3}, {2, 3}, {4}}, nil},
		"many turns":             {"57014", "abcde", "abcd", [][]int{{2, 3, 4, 5, 6}, {2}, {3}}, []int{2, 3, 4, 5, 6}},
		"it only reads":          {"25006", "abc", "abc", [][]int{{2, 3, 4}}, []int{2, 3, 4}},
		"the role is not let do": {"42501", "abc", "abc", [][]int{{2, 3, 4}}, []int{2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, pgxstore.BatchOptions{})
			defer b.group.Close()
			b.refuse = func(requests []int) error {
				isLate := func(r int) bool { return slices.Contains([]byte(test.late), test.turns[r-2]) }
				if requests[0] != 1 && (len(requests) == len(test.turns) || slices.ContainsFunc(requests, isLate)) {
					return refusal(test.code)
				}
				return nil
			}
			b.occupy("z")
			for i, turn := range test.turns {
				b.call(t.Context(), i+2, string(turn), "")
			}
			b.release(20)
			b.calls.Wait()
			b.wantRefused(test.code, test.refused, len(test.turns)+1)
			b.wantBatches(test.batches)
		})
	}
}

// TestGroupLeftAloneOutOfTime: of calls of one turn that a batch has left alone, none is run
// after one that has run out of time.
func TestGroupLeftAloneOutOfTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.refuse = func(requests []int) error {
		if slices.Equal(requests, []int{2}) || slices.Equal(requests, []int{4}) {
			return refusal("55P03")
		}
		return nil
	}
	b.leave = func(requests []int) map[int]error {
		left := make(map[int]error)
		for _, r := range requests {
			left[r] = pgxstore.ErrAlone
		}
		if len(requests) == 1 {
			return nil
		}
		return left
	}
	b.occupy("z")
	for i, turn := range "abab" {
		b.call(t.Context(), i+2, string(turn), "")
	}
	b.release(20)
	b.calls.Wait()
	b.wantRefused("55P03", []int{2, 4}, 5)
	b.wantBatches([][]int{{2, 3, 4, 5}, {2}, {3}, {5}})
}

// wantRefused checks which of the calls, which have all returned, have that error.
func (b *bench) wantRefused(code string, refused []int, last int) {
	b.t.Helper()
	for r := 1; r <= last; r++ {
		if !slices.Contains(refused, r) {
			b.wantAnswers(r)
			continue
		}
		var server *pgconn.PgError
		if !errors.As(b.errs[r], &server) || server.Code != code {
			b.t.Errorf("request %d: %v, want the code %s", r, b.errs[r], code)
		}
	}
}

// wantBatches checks all batches that were run and not looked at.
func (b *bench) wantBatches(want [][]int) {
	b.t.Helper()
	var got [][]int
	for len(b.begun) > 0 {
		got = append(got, <-b.begun)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("batches (-want +got):\n%s", diff)
	}
}
