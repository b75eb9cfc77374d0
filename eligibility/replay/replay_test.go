package replay_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// histories is how many small shops are replayed beside a loop. A long run:
//
//	go test ./eligibility/replay -run Loop -histories 100000 -timeout 0
var histories = flag.Int("histories", testsize.Of(50, 600), "how many small shops are replayed")

func each(events []replay.Event) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func run(t *testing.T, coupons []*coupon.Coupon, events []replay.Event, o replay.Options) replay.Report {
	t.Helper()
	r, err := replay.Run(each(events), pass, slices.Values(coupons), o)
	require.NoError(t, err)
	return r
}

// The report equals that of a loop that tries every set for one cart after another.
func TestTheReportIsThatOfALoop(t *testing.T) {
	t.Parallel()
	var refused, budgets, kept int64
	for seed := range *histories {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		coupons, events := randomShop(r, r.IntN(7), r.IntN(30))
		o := replay.Options{MaxCoupons: r.IntN(4), Workers: r.IntN(3), Keep: r.IntN(2) == 0}
		got := run(t, coupons, events, o)
		loop := newNaive(coupons, o)
		for _, e := range events {
			loop.add(e)
		}
		want := loop.result()
		for i := range got.Currencies {
			s := &got.Currencies[i]
			checkHistogram(t, s.Histogram, loop.changes[s.Currency])
			s.Histogram = nil
			kept += s.Kept
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		for _, c := range got.Coupons {
			for _, of := range c.Refusals {
				if refused++; of.Reason == coupon.BudgetExhausted {
					budgets++
				}
			}
		}
	}
	require.Positive(t, refused)
	require.Positive(t, budgets)
	require.Positive(t, kept)
}

// checkHistogram compares buckets with the changes that they count.
func checkHistogram(t *testing.T, buckets []replay.Bucket, changes []int64) {
	t.Helper()
	counted := int64(0)
	for i, b := range buckets {
		require.LessOrEqual(t, b.From.Minor(), b.To.Minor())
		if i > 0 {
			require.Equal(t, buckets[i-1].To.Minor()+1, b.From.Minor())
		}
		want := int64(0)
		for _, c := range changes {
			if b.From.Minor() <= c && c <= b.To.Minor() {
				want++
			}
		}
		require.Equal(t, want, b.Carts)
		counted += b.Carts
	}
	require.Equal(t, int64(len(changes)), counted)
}

// The report does not depend on the number of workers. Limits run out within a round and between rounds.
func TestEveryNumberOfWorkersReportsTheSame(t *testing.T) {
	t.Parallel()
	for seed := range testsize.Of(1, 4) {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		coupons, events := randomShop(r, 5, 2_100)
		for _, c := range coupons {
			c.Limits.MaxUses *= 50
		}
		var want replay.Report
		for workers := 1; workers <= 4; workers += 3 {
			var refused, progress []int64
			o := replay.Options{Workers: workers, MaxNodes: 20, Keep: seed%2 == 0}
			o.Refused = func(item int64, err error) {
				require.Error(t, err)
				refused = append(refused, item)
			}
			o.Progress = func(items int64) { progress = append(progress, items) }
			got := run(t, coupons, events, o)
			require.True(t, slices.IsSorted(refused))
			require.Len(t, refused, int(got.Refused))
			require.Equal(t, []int64{2_048, 2_100}, progress)
			if workers == 1 {
				want = got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %d workers (-want +got):\n%s", seed, workers, diff)
			}
		}
	}
}

// Rounds change nothing: the carts of two rounds are decided as those of a loop.
func TestLimitsRunOutInTheOrderOfTheCarts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 9))
	coupons, events := randomShop(r, 2, 2_300)
	for _, c := range coupons {
		c.Limits.MaxUses *= 100
	}
	o := replay.Options{Workers: 2, MaxCoupons: 2}
	got := run(t, coupons, events, o)
	loop := newNaive(coupons, o)
	for _, e := range events {
		loop.add(e)
	}
	for i := range got.Currencies {
		got.Currencies[i].Histogram = nil
	}
	require.Empty(t, cmp.Diff(loop.result(), got))
}

// A replay of many carts needs no more memory than one of few, if no limit counts customers.
func TestTheMemoryDoesNotGrowWithTheCarts(t *testing.T) { // not in parallel: it reads the memory of the program
	coupons, events := randomShop(rand.New(rand.NewPCG(2, 5)), 6, 2_048)
	for _, c := range coupons {
		c.Limits, c.Conditions.FirstOrder = coupon.Limits{}, false
	}
	at := events[0].At
	repeated := func(yield func(replay.Event, error) bool) {
		for range testsize.Of(8, 40) {
			for _, e := range events {
				at = at.Add(time.Second)
				if e.At = at; !yield(e, nil) {
					return
				}
			}
		}
	}
	var heaps []uint64
	_, err := replay.Run(repeated, pass, slices.Values(coupons), replay.Options{Workers: 2, MaxCoupons: 1, Progress: func(int64) {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		heaps = append(heaps, stats.HeapAlloc)
	}})
	require.NoError(t, err)
	require.Less(t, heaps[len(heaps)-1], heaps[3]+2<<20)
}

func TestAnErrorEndsTheReplay(t *testing.T) {
	t.Parallel()
	coupons, events := randomShop(rand.New(rand.NewPCG(1, 1)), 1, 3_000)
	broken := errors.New("broken")
	items := func(yield func(replay.Event, error) bool) {
		for i, e := range events {
			if i == 2_500 {
				yield(e, broken)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	r, err := replay.Run(items, pass, slices.Values(coupons), replay.Options{Workers: 2})
	require.ErrorIs(t, err, broken)
	require.Equal(t, int64(2_048), r.Carts+r.Refused)

	_, err = replay.Run(each(events), pass, slices.Values(coupons), replay.Options{MaxCounters: 1})
	require.ErrorIs(t, err, replay.ErrTooManyCounters)

	var invalid *validation.Error
	_, err = replay.Run(each(nil), pass, slices.Values(coupons), replay.Options{MaxCoupons: 33, MaxNodes: -1, Workers: 5_000, MaxCounters: -1})
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Fields, 4)
	_, err = replay.Run(each(nil), pass, slices.Values([]*coupon.Coupon{nil}), replay.Options{})
	require.ErrorIs(t, err, validation.ErrInvalid)
}

func TestAnOverflowIsAnError(t *testing.T) {
	t.Parallel()
	e := replay.Event{At: noon, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "i1", Quantity: 1, UnitPrice: 1 << 62},
	}}}
	_, err := replay.Run(each([]replay.Event{e, e}), pass, slices.Values([]*coupon.Coupon(nil)), replay.Options{})
	require.ErrorIs(t, err, replay.ErrOverflow)
}

// The image has a title, a description and every number as text.
func TestSVG(t *testing.T) {
	t.Parallel()
	coupons, events := randomShop(rand.New(rand.NewPCG(4, 1)), 5, 200)
	r := run(t, coupons, events, replay.Options{})
	require.Len(t, r.Currencies, 2)
	var b strings.Builder
	require.NoError(t, r.WriteSVG(&b))
	var image struct {
		Title string   `xml:"title"`
		Desc  string   `xml:"desc"`
		Texts []string `xml:"text"`
		Bars  []struct {
			Width int `xml:"width,attr"`
		} `xml:"rect"`
	}
	require.NoError(t, xml.Unmarshal([]byte(b.String()), &image))
	require.Equal(t, "Carts by the change of what they cost", image.Title)
	require.Contains(t, image.Desc, fmt.Sprintf("EUR: %d carts would cost less", r.Currencies[0].Wins.Carts))
	bars := 0
	for _, s := range r.Currencies {
		for _, bucket := range s.Histogram {
			require.Contains(t, image.Texts, fmt.Sprint(bucket.Carts))
			require.Equal(t, bucket.Carts > 0, image.Bars[bars].Width > 0)
			bars++
		}
	}
	require.Len(t, image.Bars, bars)
	require.Contains(t, image.Texts, "no change")

	b.Reset()
	require.NoError(t, replay.Report{}.WriteSVG(&b))
	require.Contains(t, b.String(), "There is no cart.")
	require.ErrorIs(t, r.WriteSVG(fullDisk{}), errUnreadable)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errUnreadable }
