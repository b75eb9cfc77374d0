package app

import (
	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
)

// guard returns the limiter of attempts, and the options that keep customers from guessing codes. Limits hold
// across all processes on a database. What is kept in memory is that of one process.
func guard(c Config, s store.Store) (ratelimit.Limiter, []couponkit.Option, error) {
	limits := c.Limits.Named()
	var limiter ratelimit.Limiter
	var err error
	if c.Store == Memory {
		limiter, err = ratelimit.NewMemory(limits, ratelimit.MemoryOptions{Now: c.Now})
	} else {
		limiter, err = ratelimit.NewStored(s, limits, c.Now)
	}
	if err != nil {
		return nil, nil, err
	}
	usual, err := codes.NewForm(coupon.CodeShape{}) // that of the panel's button
	if err != nil {
		return nil, nil, err
	}
	options := []couponkit.Option{couponkit.WithLimiter(limiter), couponkit.WithCodeForms(usual)}
	if !c.PlainRefusals {
		options = append(options, couponkit.WithOpaqueRefusals())
	}
	return limiter, options, nil
}
