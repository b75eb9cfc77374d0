package scale_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/scale"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestSearchByPart: however the index is asked, a search finds every coupon that has
// the text in a field, and no other, newest first. Half of the texts have a frequent
// word, so that the index is asked for their rare part.
func TestSearchByPart(t *testing.T) {
	t.Parallel()
	var parts partCounter
	pool := loaded(t, scale.Size{Coupons: 2_000, Redemptions: 8_000, Seed: 11}, true,
		func(config *pgxpool.Config) { config.ConnConfig.Tracer = &parts })
	s := newStore(t, pool, pgxstore.Options{})
	shelf := newestFirst(t, pool)
	random := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		text := searched(random, shelf)
		var want []string
		for _, c := range shelf {
			if c.has(text) {
				want = append(want, c.id)
			}
		}
		page, err := s.ListCoupons(t.Context(), store.CouponList{Search: text, PageSize: store.MaxPageSize})
		if err != nil {
			t.Fatal(err)
		}
		if page.AtLeast || page.Total != int64(len(want)) {
			t.Errorf("%q: total %d (at least: %t), want %d", text, page.Total, page.AtLeast, len(want))
		}
		var got []string
		for _, c := range page.Items {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(want[:min(len(want), store.MaxPageSize)], got, equalEmpty); diff != "" {
			t.Errorf("%q (-want +found):\n%s", text, diff)
		}
	}
	if n := parts.n.Load(); n < 200 {
		t.Errorf("only %d statements looked for a part", n)
	}
}

var equalEmpty = cmp.Transformer("listed", func(list []string) string { return strings.Join(list, " ") })

// shelved is a coupon as it is searched.
type shelved struct{ id, code, name, description string }

func (c shelved) has(text string) bool {
	for _, field := range []string{c.code, c.name, c.description} {
		if strings.Contains(strings.ToLower(field), strings.ToLower(text)) {
			return true
		}
	}
	return false
}

func newestFirst(t *testing.T, pool *pgxpool.Pool) []shelved {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT id, code, name, description FROM coupons ORDER BY created_at DESC, id DESC")
	if err != nil {
		t.Fatal(err)
	}
	shelf, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c shelved, err error) {
		err = row.Scan(&c.id, &c.code, &c.name, &c.description)
		return c, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return shelf
}

// searched draws a text: a code or a part of one, one with the word of another, or
// something from a name or a description; in either letter case, sometimes with a
// sign that LIKE gives a meaning.
func searched(random *rand.Rand, shelf []shelved) string {
	c, other := shelf[random.IntN(len(shelf))], shelf[random.IntN(len(shelf))]
	word, own, _ := strings.Cut(c.code, "-")
	otherWord, _, _ := strings.Cut(other.code, "-")
	text := [...]string{
		c.code, word + "-" + own[:5], otherWord + "-" + own, word[2:] + "-" + own[:7], own + " " + c.name,
		c.name, c.name + " " + otherWord, c.description[:30], c.description[10:],
	}[random.IntN(9)]
	if random.IntN(2) == 0 {
		text = strings.ToLower(text)
	}
	if random.IntN(6) == 0 {
		at := random.IntN(len(text))
		text = text[:at] + string(`%_\`[random.IntN(3)]) + text[at+1:]
	}
	return text
}

// partCounter counts the statements that hold what the index has found to the whole
// text.
type partCounter struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (p *partCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "strpos(") {
		p.n.Add(1)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (p *partCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
