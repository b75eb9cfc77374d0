package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ceiling writes the rows in natural batches with one statement, and checks
// nothing: what the tables and their indexes allow.
func ceiling(_ context.Context, pool *pgxpool.Pool) (redeemer, func() error, error) {
	type job struct {
		request
		done chan error
	}
	queue := make(chan job, 4096)
	ended := make(chan struct{})
	write := func(jobs []job) error {
		n := len(jobs)
		ids, keys, coupons, customers := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		deadlines, created := make([]time.Time, n), make([]time.Time, n)
		for i, j := range jobs {
			ids[i], keys[i], coupons[i], customers[i] = j.id, j.key, j.coupon, j.customer
			deadlines[i], created[i] = j.at.Add(hour), j.at
		}
		_, err := pool.Exec(context.Background(), `INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state,
				origin, points, points_state, deadline, created_at, updated_at)
			SELECT w.id, w.key, w.coupon, w.customer, 'reserved', 'points', 50, 'pending', w.deadline, w.at, w.at
			FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[])
				AS w (id, key, coupon, customer, deadline, at)`, ids, keys, coupons, customers, deadlines, created)
		return err
	}
	go func() {
		defer close(ended)
		for first := range queue {
			jobs := append(make([]job, 0, 512), first)
			for more := true; more && len(jobs) < 512; {
				select {
				case j, open := <-queue:
					if more = open; open {
						jobs = append(jobs, j)
					}
				default:
					more = false
				}
			}
			err := write(jobs)
			for _, j := range jobs {
				j.done <- err
			}
		}
	}()
	redeem := func(_ context.Context, r request) error {
		j := job{r, make(chan error, 1)}
		queue <- j
		return <-j.done
	}
	return redeem, func() error { close(queue); <-ended; return nil }, nil
}
