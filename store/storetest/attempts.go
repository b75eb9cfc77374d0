package storetest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// cost is the time in which an attempt of the suite comes back. A bucket of the suite holds three.
const cost = time.Minute

// attempts returns a change of n attempts of each bucket at the given second.
func attempts(kind store.AttemptKind, n, second int, keys ...string) store.AttemptChange {
	c := store.AttemptChange{Kind: kind, At: at(second)}
	for _, key := range keys {
		c.Buckets = append(c.Buckets, store.Bucket{Key: key, Size: 3 * cost, Cost: time.Duration(n) * cost})
	}
	return c
}

// attempted makes a change and compares the answer with an instant, which is zero after a success.
func (p *probe) attempted(c store.AttemptChange, retryAt time.Time, what string) {
	p.Helper()
	same(p, answer(p, store.Store.SaveAttempts, c), retryAt, "the answer about %s", what)
}

func attemptClauses() []clause {
	var done time.Time
	return []clause{
		{"attempts are taken", "a bucket gives what it holds, fills with time, and refuses more, with the instant from which it has enough", func(p *probe) {
			p.attempted(attempts(store.TakeAttempts, 2, 0, "ann"), done, "the first two of three attempts")
			p.attempted(attempts(store.TakeAttempts, 2, 0, "ann"), at(60), "two more")
			p.attempted(attempts(store.TakeAttempts, 1, 0, "ann"), done, "one more after a refusal")
			p.attempted(attempts(store.TakeAttempts, 3, 30, "ann"), at(180), "three when one is half there")
			p.attempted(attempts(store.TakeAttempts, 1, 60, "ann"), done, "the one that came back")
			p.attempted(attempts(store.TakeAttempts, 3, 9999, "ann"), done, "all when the bucket is full")
			p.attempted(attempts(store.TakeAttempts, 1, 9999, "ann"), at(9999+60), "one more than a bucket holds, however long it was full")
			p.attempted(attempts(store.TakeAttempts, 3, 0, "Ann"), done, "those of another bucket")
		}},
		{"attempts are given back", "an attempt that is given back can be taken again; no bucket has more than it holds", func(p *probe) {
			p.attempted(attempts(store.TakeAttempts, 3, 0, "ann"), done, "all attempts")
			p.attempted(attempts(store.ReturnAttempts, 2, 0, "ann"), done, "giving back")
			p.attempted(attempts(store.TakeAttempts, 2, 0, "ann"), done, "what was given back")
			p.attempted(attempts(store.TakeAttempts, 1, 0, "ann"), at(60), "more than was given back")
			for range 5 {
				p.attempted(attempts(store.ReturnAttempts, 3, 0, "ann", "bob"), done, "giving back too much")
			}
			for _, key := range []string{"ann", "bob"} {
				p.attempted(attempts(store.TakeAttempts, 3, 0, key), done, "what a bucket holds")
				p.attempted(attempts(store.TakeAttempts, 1, 0, key), at(60), "more than a bucket holds")
			}
		}},
		{"attempts of several buckets", "attempts are taken from all buckets, or from none; the last instant counts", func(p *probe) {
			p.attempted(attempts(store.TakeAttempts, 3, 0, "ann"), done, "all of one bucket")
			p.attempted(attempts(store.TakeAttempts, 2, 30, "bob"), done, "two of another bucket")
			p.attempted(attempts(store.TakeAttempts, 2, 30, "cid", "bob", "ann"), at(120), "two of three buckets")
			p.attempted(attempts(store.TakeAttempts, 1, 30, "bob"), done, "what the refusal has left")
			p.attempted(attempts(store.TakeAttempts, 3, 30, "cid"), done, "what the refusal has left of a new bucket")
		}},
		{"attempts when the clock goes back", "a bucket fills within its size, whatever the clock was before", func(p *probe) {
			p.attempted(attempts(store.TakeAttempts, 1, 99_999, "ann"), done, "an attempt of the future")
			p.attempted(attempts(store.TakeAttempts, 1, 0, "ann"), at(60), "an attempt after the clock went back")
			p.attempted(attempts(store.TakeAttempts, 3, 99_999, "bob"), done, "attempts of the future")
			p.attempted(attempts(store.TakeAttempts, 1, 0, "bob"), at(60), "an attempt after the clock went back")
		}},
		{"attempts are forgotten", "full buckets are forgotten, at most MaxForgotten at once; all others stay", func(p *probe) {
			many := store.MaxForgotten + 5
			for i := 0; i < many; i += store.MaxBuckets {
				var keys []string
				for j := i; j < min(many, i+store.MaxBuckets); j++ {
					keys = append(keys, fmt.Sprint("b", j))
				}
				p.attempted(attempts(store.TakeAttempts, 1, 0, keys...), done, "attempts of many buckets")
			}
			p.attempted(attempts(store.TakeAttempts, 1, 1, "ann"), done, "an attempt that is back later")
			forgotten := 0
			for range 2 {
				n := answer(p, store.Store.ForgetAttempts, at(60))
				forgotten += n
				if n > store.MaxForgotten {
					p.stop("one call has forgotten %d buckets", n)
				}
			}
			same(p, forgotten, many, "how many buckets two calls have forgotten")
			p.attempted(attempts(store.TakeAttempts, 3, 60, "ann"), at(61), "attempts of a bucket that was not full")
			p.attempted(attempts(store.TakeAttempts, 3, 60, "b0"), done, "attempts of a bucket that was full")
		}},
		{"invalid changes of attempts", "validation.ErrInvalid: a change of attempts that does not validate names its fields and changes nothing", invalidAttempts},
		race("race for attempts", "a bucket never gives more than it holds, whoever asks for it at once", func(p *probe) {
			shared := fmt.Sprint("shared-", p.next())
			answers, errs := atOnce(p, p.can.Goroutines, store.Store.SaveAttempts, func(i int) store.AttemptChange {
				return attempts(store.TakeAttempts, 1, 0, shared, fmt.Sprint(shared, "-", i%4))
			})
			p.succeeded(errs)
			got := 0
			for _, retryAt := range answers {
				if retryAt.IsZero() {
					got++
				}
			}
			same(p, got, 3, "how many of %d attempts at once are taken", p.can.Goroutines)
		}),
	}
}

func invalidAttempts(p *probe) {
	sound := attempts(store.TakeAttempts, 1, 0, "ann")
	bucket := func(change func(b *store.Bucket)) store.AttemptChange {
		c := attempts(store.TakeAttempts, 1, 0, "ann")
		change(&c.Buckets[0])
		return c
	}
	long := make([]byte, store.MaxBucketKey+1)
	for i := range long {
		long[i] = 'x'
	}
	twice, many, none, timeless, kindless := attempts(store.TakeAttempts, 1, 0, "ann", "ann"), sound, sound, sound, sound
	for i := range store.MaxBuckets + 1 {
		many.Buckets = append(many.Buckets[:i:i], store.Bucket{Key: fmt.Sprint("b", i), Size: cost, Cost: cost})
	}
	none.Buckets, timeless.At, kindless.Kind = nil, time.Time{}, 0
	invalid := map[string]store.AttemptChange{
		"kind": kindless, "at": timeless, "buckets": none, "buckets[1].key": twice,
		"buckets[0].key":  bucket(func(b *store.Bucket) { b.Key = "" }),
		"buckets[0].size": bucket(func(b *store.Bucket) { b.Size = 0 }),
		"buckets[0].cost": bucket(func(b *store.Bucket) { b.Cost = -cost }),
	}
	allNamed(p, store.Store.SaveAttempts, invalid)
	for what, c := range map[string]store.AttemptChange{
		"of too many buckets": many,
		"of a long key":       bucket(func(b *store.Bucket) { b.Key = string(long) }),
		"of a key with space": bucket(func(b *store.Bucket) { b.Key = "a b" }),
		"of a huge bucket":    bucket(func(b *store.Bucket) { b.Size = store.MaxBucketSize + cost }),
		"of too much":         bucket(func(b *store.Bucket) { b.Cost = b.Size + cost }),
	} {
		fails(p, store.Store.SaveAttempts, c, validation.ErrInvalid, "%s", what)
	}
	p.attempted(attempts(store.TakeAttempts, 3, 0, "ann"), time.Time{}, "all attempts after invalid changes")
}

// attempt takes, returns or forgets attempts in a history.
func (h *history) attempt(t *rapid.T) {
	second := rapid.IntRange(0, 400).Draw(t, "second")
	if rapid.IntRange(0, 5).Draw(t, "forget") == 0 {
		_, _ = compare(h, fmt.Sprint("ForgetAttempts ", second), func(s store.Store) (int, error) { return s.ForgetAttempts(h.Context(), at(second)) })
		return
	}
	keys := rapid.SliceOfN(rapid.SampledFrom([]string{"ann", "bob", "Ann", ""}), 0, 3).Draw(t, "buckets")
	c := attempts(store.AttemptKind(rapid.IntRange(1, 2).Draw(t, "kind")), rapid.IntRange(1, 4).Draw(t, "attempts"), second, keys...)
	_, _ = compare(h, fmt.Sprintf("SaveAttempts %+v", c), func(s store.Store) (time.Time, error) { return s.SaveAttempts(h.Context(), c) })
}
