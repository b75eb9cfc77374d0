package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// mostInBatch is as in the store.
const mostInBatch = 512

// natural joins calls into batches: those that wait when the last batch returns are
// the next. The function that ends it waits for the last.
func natural(write func([]request) []error) (redeemer, func() error) {
	type job struct {
		request
		done chan error
	}
	queue := make(chan job, 4096)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for first := range queue {
			jobs := append(make([]job, 0, mostInBatch), first)
			for more := true; more && len(jobs) < mostInBatch; {
				select {
				case j, open := <-queue:
					if more = open; open {
						jobs = append(jobs, j)
					}
				default:
					more = false
				}
			}
			requests := make([]request, len(jobs))
			for i, j := range jobs {
				requests[i] = j.request
			}
			for i, err := range write(requests) {
				jobs[i].done <- err
			}
		}
	}()
	redeem := func(_ context.Context, r request) error {
		j := job{r, make(chan error, 1)}
		queue <- j
		return <-j.done
	}
	return redeem, func() error { close(queue); <-ended; return nil }
}

// ceiling writes the rows in natural batches with one statement, and checks
// nothing: what the tables and their indexes allow.
func ceiling(_ context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
	redeem, finish := natural(func(requests []request) []error {
		n := len(requests)
		ids, keys, coupons, customers := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		deadlines, created := make([]time.Time, n), make([]time.Time, n)
		for i, r := range requests {
			ids[i], keys[i], coupons[i], customers[i] = r.id, r.key, r.coupon, r.customer
			deadlines[i], created[i] = r.at.Add(hour), r.at
		}
		_, err := pool.Exec(context.Background(), `INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state,
				origin, points, points_state, deadline, created_at, updated_at)
			SELECT w.id, w.key, w.coupon, w.customer, 'reserved', 'points', 50, 'pending', w.deadline, w.at, w.at
			FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[])
				AS w (id, key, coupon, customer, deadline, at)`, ids, keys, coupons, customers, deadlines, created)
		errs := make([]error, n)
		for i := range errs {
			errs[i] = err
		}
		return errs
	})
	return redeem, finish, nil
}
