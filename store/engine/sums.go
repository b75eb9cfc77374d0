package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Sums adds up uses by the days of a list.
type Sums struct {
	Days []store.DaySum
	Runs []Run
}

// Run is a sequence of days of equal length.
type Run struct {
	// From is inclusive and Until is exclusive. They and Length, the length of a day, are in
	// microseconds.
	From, Until, Length int64
	first               int
}

// follows reports whether a day continues the run. index and length describe the day.
func (r Run) follows(day int, length int64) bool {
	return r.Length == length && day == r.first+int((r.Until-r.From)/r.Length)
}

// SumRow is the sum of uses with one state and one currency.
type SumRow struct {
	// Offset is the beginning of the day after Run.From, in microseconds.
	Offset int64
	// State is the name of a state. Currency is a code, or empty.
	State, Currency string
	// Uses and Restored count uses. Discount and Returned are in minor units.
	Uses, Restored, Discount, Returned int64
}

// NewSums returns the sums of a valid list before any use is added.
func NewSums(list store.SumList) *Sums {
	s, starts := &Sums{}, list.Starts()
	for i, start := range starts[:list.Days] {
		s.Days = append(s.Days, store.DaySum{Start: start})
		from, until := start.UnixMicro(), starts[i+1].UnixMicro()
		switch last := len(s.Runs) - 1; {
		case last >= 0 && s.Runs[last].follows(i, until-from):
			s.Runs[last].Until = until
		case until > from: // a time zone may skip a day
			s.Runs = append(s.Runs, Run{from, until, until - from, i})
		}
	}
	return s
}

// Scan adds a row of a run. The columns that scan reads are the fields of SumRow, in their order.
func (s *Sums) Scan(run Run, scan func(columns ...any) error) error {
	var r SumRow
	if err := scan(&r.Offset, &r.State, &r.Currency, &r.Uses, &r.Restored, &r.Discount, &r.Returned); err != nil {
		return err
	}
	return s.Add(run, r)
}

// Add adds a row of a run. A sum that does not fit an int64 is an error.
func (s *Sums) Add(run Run, row SumRow) error {
	day := &s.Days[run.first+int(row.Offset/run.Length)]
	if row.State == redemption.Reserved.String() {
		day.Reserved += row.Uses
		return nil
	}
	day.Completed += row.Uses
	day.Restored += row.Restored
	if row.Currency = strings.Trim(row.Currency, `"`); row.Currency == "" {
		return nil
	}
	currency, err := pricing.ParseCurrency(row.Currency)
	if err != nil {
		return fmt.Errorf("the stored currency %q: %s", row.Currency, err.Error()) // this is not invalid input
	}
	at, found := slices.BinarySearchFunc(day.Amounts, currency.Code(), func(a store.AmountSum, code string) int {
		return strings.Compare(a.Currency.Code(), code)
	})
	if !found {
		day.Amounts = slices.Insert(day.Amounts, at, store.AmountSum{Currency: currency})
	}
	sum := &day.Amounts[at]
	sum.Discount += row.Discount // no overflow to negative: both amounts are at least 0
	sum.Returned += row.Returned
	if sum.Discount < row.Discount || sum.Returned < row.Returned {
		return errSum
	}
	return nil
}

var errSum = errors.New("a sum of discounts is more than an int64 holds")

// AddUse adds one use, which must be made on one of the days.
func (s *Sums) AddUse(u redemption.Use) error {
	at := u.CreatedAt.UnixMicro()
	for _, run := range s.Runs {
		if u.State == redemption.Released || at < run.From || at >= run.Until {
			continue
		}
		return s.Add(run, SumRow{
			Offset: at - run.From, State: u.State.String(), Currency: u.Currency.Code(),
			Uses: 1, Restored: count(!u.RestoredAt.IsZero()), Discount: u.Discount, Returned: u.Returned,
		})
	}
	return nil
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// HistoryBounds returns the bounds of a call of [store.Journal].History.
func HistoryBounds(before int64, limit int) (version int64, most int) {
	if before <= 0 {
		before = int64(^uint64(0) >> 1)
	}
	return before, min(max(limit, 0), store.MaxJournalLimit)
}
