package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/ratelimit"
)

// Limits bound guessing, and what is opened at the processor. Zero fields are the defaults.
type Limits struct {
	// AttemptsPerUser and AttemptsPerAddress bound look-ups of coupon codes that do
	// not exist, or not for the customer. Default: 32 in 192 seconds, and 120 in 120.
	// AttemptsPerUser.Attempts is also how many codes a request may have.
	AttemptsPerUser    ratelimit.Limit
	AttemptsPerAddress ratelimit.Limit
	// LoginsPerUser and LoginsPerAddress bound wrong passwords. Default: 10 in 300
	// seconds, and 50 in 250.
	LoginsPerUser    ratelimit.Limit
	LoginsPerAddress ratelimit.Limit
	// CheckoutsPerUser and CheckoutsPerAddress bound checkouts and payment links, but for
	// those that are refused or repeated. Default: 30 in 600 seconds, and 300 in 600.
	CheckoutsPerUser    ratelimit.Limit
	CheckoutsPerAddress ratelimit.Limit
}

// What is limited. Each has a limit by user and one by address.
const (
	attempts  = "attempts"
	logins    = "logins"
	checkouts = "checkouts"

	perUser    = "_per_user"
	perAddress = "_per_address"
)

// Named returns the limits by the names under which the interface counts, for a [ratelimit.Limiter].
func (l Limits) Named() ratelimit.Limits {
	set := func(l ratelimit.Limit, n int, window time.Duration) ratelimit.Limit {
		return ratelimit.Limit{Attempts: cmp.Or(l.Attempts, n), Window: cmp.Or(l.Window, window)}
	}
	const every = 6 * time.Second
	return ratelimit.Limits{
		attempts + perUser:     set(l.AttemptsPerUser, pricing.MaxCoupons, pricing.MaxCoupons*every), // enough for the codes of one request
		attempts + perAddress:  set(l.AttemptsPerAddress, 120, 2*time.Minute),
		logins + perUser:       set(l.LoginsPerUser, 10, 5*time.Minute),
		logins + perAddress:    set(l.LoginsPerAddress, 50, 250*time.Second),
		checkouts + perUser:    set(l.CheckoutsPerUser, 30, 10*time.Minute),
		checkouts + perAddress: set(l.CheckoutsPerAddress, 300, 10*time.Minute),
	}
}

// longestName is the maximum length of a user's name, in bytes. Longer names at a sign-in are cut,
// because no user has such a name.
const longestName = email.MaxLength

// subjects returns who is limited: the address of a request, and the user, if there is one.
func (a *API) subjects(r *http.Request, what, user string) []ratelimit.Subject {
	address := cmp.Or(network(a.ClientAddress(r)), "unknown")
	subjects := []ratelimit.Subject{{Limit: what + perAddress, ID: address[:min(len(address), ratelimit.MaxIDLength)]}}
	if user != "" {
		subjects = append(subjects, ratelimit.Subject{Limit: what + perUser, ID: strings.Clone(user[:min(len(user), longestName)])})
	}
	return subjects
}

// guesser returns the request with the subjects for which the service counts wrong codes.
func (a *API) guesser(r *http.Request) *http.Request {
	return r.WithContext(couponkit.WithSubjects(r.Context(), a.subjects(r, attempts, customerOf(r).ID)...))
}

// take takes one attempt of the user and one of the address. An empty user is not counted. The result
// gives both attempts back. The caller calls it if the attempt has not failed.
func (a *API) take(r *http.Request, what, user string) (giveBack func(), err error) {
	subjects := a.subjects(r, what, user)
	if err := a.Limiter.Take(r.Context(), 1, subjects...); err != nil {
		return nil, err
	}
	return func() {
		const patience = 5 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
		defer cancel()
		if err := a.Limiter.Return(ctx, 1, subjects...); err != nil {
			a.Logger.WarnContext(ctx, "an attempt that did not fail is counted", slog.Any("error", err))
		}
	}, nil
}

// tooMany returns the problem for an error of a limiter.
func tooMany(err error) problem {
	p := problem{Status: http.StatusTooManyRequests, Code: "too_many_attempts", Title: "Too many attempts; try again later."}
	if refused, is := errors.AsType[*ratelimit.TooManyAttemptsError](err); is {
		p.retryAt = refused.RetryAt
	}
	return p
}
