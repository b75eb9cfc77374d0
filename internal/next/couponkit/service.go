package couponkit

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/next/store"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Errors of the service, beside those of packages coupon, pricing and store.
var (
	// ErrUnavailable: the payment processor did not answer. Whether the call took
	// effect there is not known; repeating it is safe.
	ErrUnavailable = processor.ErrUnavailable
	// ErrOrderEnded: the key belongs to an order that ended before the customer had a
	// session to pay. Start again with a new key.
	ErrOrderEnded = errors.New("the order has ended")
	// ErrNoLedger: the service was built without [WithPoints].
	ErrNoLedger = errors.New("no points ledger is configured")
)

// Defaults of the options.
const (
	DefaultSessionLifetime = time.Hour
	DefaultGrace           = 10 * time.Minute
	DefaultPaymentWait     = 14 * 24 * time.Hour
	DefaultExchangeTime    = 15 * time.Minute
	DefaultPendingTime     = 15 * time.Minute
)

// RecurringDiscount tells how long a discount on a recurring line lasts.
type RecurringDiscount uint8

// The lasting of a discount on recurring lines.
const (
	// FirstPeriod takes the discount off the first payment; renewals cost the list
	// price. It is the default.
	FirstPeriod RecurringDiscount = iota
	// EveryPeriod lowers the price of the plan itself, so that every renewal has the
	// discount.
	EveryPeriod
)

// Service is the front door; see the package documentation. It is safe for
// concurrent use, and keeps nothing between calls.
type Service struct {
	store     store.Store
	processor processor.Processor
	abilities processor.Abilities

	clock     func() time.Time
	newID     func(prefix string) string
	users     Users
	points    Points
	observer  Observer
	logger    *slog.Logger
	currency  pricing.Currency
	location  *time.Location
	locale    language.Tag
	recurring RecurringDiscount

	sessionLifetime time.Duration
	grace           time.Duration
	paymentWait     time.Duration
	exchangeTime    time.Duration
	pendingTime     time.Duration

	mirrors mirrorChecks
}

// Option configures a [Service].
type Option func(*Service)

// New returns a service on a store and a processor. Both are required; the options
// have defaults that their comments name. An option that makes no sense (no clock,
// a session lifetime that the processor does not allow) is a [*pricing.ValidationError]
// that names all that is wrong; a nil option is none.
func New(s store.Store, p processor.Processor, options ...Option) (*Service, error) {
	service := &Service{
		store: s, processor: p,
		clock: time.Now, logger: slog.New(slog.DiscardHandler),
		observer: ObserverFunc(func(context.Context, Attempt) {}),
		currency: pricing.EUR(), location: time.UTC, locale: language.English,
		sessionLifetime: DefaultSessionLifetime, grace: DefaultGrace, paymentWait: DefaultPaymentWait,
		exchangeTime: DefaultExchangeTime, pendingTime: DefaultPendingTime,
	}
	service.mirrors.ttl = DefaultMirrorTTL
	if p != nil {
		service.abilities = p.Abilities()
	}
	service.newID = service.idByTime
	for _, option := range options {
		if option != nil { // as of a host that has one only sometimes
			option(service)
		}
	}
	if err := service.validate(); err != nil {
		return nil, err
	}
	return service, nil
}

func (s *Service) validate() error {
	var faults pricing.ValidationError
	require := func(field string, given bool) {
		if !given {
			faults.Add(field, pricing.FieldRequired, "is required")
		}
	}
	require("store", s.store != nil)
	require("processor", s.processor != nil)
	require("clock", s.clock != nil)
	require("ids", s.newID != nil)
	require("observer", s.observer != nil)
	require("logger", s.logger != nil)
	require("location", s.location != nil)
	require("currency", !s.currency.IsZero())
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{
		{"sessionLifetime", s.sessionLifetime},
		{"grace", s.grace},
		{"paymentWait", s.paymentWait},
		{"exchangeTime", s.exchangeTime},
		{"pendingTime", s.pendingTime},
	} {
		if d.value <= 0 {
			faults.Add(d.field, pricing.FieldTooSmall, "must be longer than nothing")
		}
	}
	if s.mirrors.ttl < 0 {
		faults.Add("mirrorTTL", pricing.FieldTooSmall, "must not be negative")
	}
	if s.mirrors.ttl > maxMirrorTTL {
		faults.Add("mirrorTTL", pricing.FieldTooLarge, fmt.Sprintf("is at most %v", maxMirrorTTL))
	}
	if s.sessionLifetime > 0 && s.grace > math.MaxInt64-s.sessionLifetime {
		faults.Add("grace", pricing.FieldTooLarge, "with the sessions' lifetime it is longer than can be told")
	}
	if s.recurring > EveryPeriod {
		faults.Add("recurringDiscount", pricing.FieldUnknown, "must be FirstPeriod or EveryPeriod")
	}
	if least := s.abilities.MinSessionLifetime; s.sessionLifetime < least {
		faults.Add("sessionLifetime", pricing.FieldTooSmall, fmt.Sprintf("the processor's sessions live at least %v", least))
	}
	if most := s.abilities.MaxSessionLifetime; most > 0 && s.sessionLifetime > most {
		faults.Add("sessionLifetime", pricing.FieldTooLarge, fmt.Sprintf("the processor's sessions live at most %v", most))
	}
	return faults.Err()
}

// WithClock sets the clock; the default is time.Now.
func WithClock(now func() time.Time) Option { return func(s *Service) { s.clock = now } }

// WithIDs sets the maker of IDs: it returns a new ID that begins with the prefix,
// has at most [coupon.MaxIDLength] characters and is never made again. New makes none to
// try; with a maker of others every Create fails, and it is no invalid input. The default
// appends 26 letters and digits: the millisecond, so that IDs sort by the time at
// which they were made, and 80 random bits.
func WithIDs(newID func(prefix string) string) Option { return func(s *Service) { s.newID = newID } }

// WithUsers sets the directory in which users are looked up. Its e-mail address is then
// the one that counts, and that of the customer whom a caller passes is not read. Without
// a directory that customer is taken to exist.
func WithUsers(u Users) Option { return func(s *Service) { s.users = u } }

// WithPoints sets the ledger of points. Without one, points cannot be exchanged.
func WithPoints(p Points) Option { return func(s *Service) { s.points = p } }

// WithObserver sets who is told of every attempt; the default is nobody.
func WithObserver(o Observer) Option { return func(s *Service) { s.observer = o } }

// WithLogger sets the logger for what no caller is told: failures in the
// background of a call that itself succeeded. The default discards.
func WithLogger(l *slog.Logger) Option { return func(s *Service) { s.logger = l } }

// WithCurrency sets the currency of coupons that name none; the default is EUR.
func WithCurrency(c pricing.Currency) Option { return func(s *Service) { s.currency = c } }

// WithLocation sets where a date without a time begins and ends; the default is
// UTC.
func WithLocation(loc *time.Location) Option { return func(s *Service) { s.location = loc } }

// WithLocale sets whose currency symbols are shown; the default is English.
func WithLocale(tag language.Tag) Option { return func(s *Service) { s.locale = tag } }

// WithRecurringDiscount sets how long a discount on recurring lines lasts; the
// default is [FirstPeriod].
func WithRecurringDiscount(r RecurringDiscount) Option { return func(s *Service) { s.recurring = r } }

// WithSessionLifetime sets how long a customer has to pay; the default is
// [DefaultSessionLifetime].
func WithSessionLifetime(d time.Duration) Option { return func(s *Service) { s.sessionLifetime = d } }

// WithGrace sets how long a reservation outlives its session, so that a payment in
// the last second still finds its place; the default is [DefaultGrace].
func WithGrace(d time.Duration) Option { return func(s *Service) { s.grace = d } }

// WithPaymentWait sets how long a reservation waits for a delayed payment before
// the sweep asks the processor; the default is [DefaultPaymentWait].
func WithPaymentWait(d time.Duration) Option { return func(s *Service) { s.paymentWait = d } }

// WithExchangeTime sets how long an exchange of points may take before the sweep
// undoes it; the default is [DefaultExchangeTime].
func WithExchangeTime(d time.Duration) Option { return func(s *Service) { s.exchangeTime = d } }

// WithPendingTime sets how old a half-made coupon must be before a reconcile undoes
// it; the default is [DefaultPendingTime]. It must be longer than Create takes.
func WithPendingTime(d time.Duration) Option { return func(s *Service) { s.pendingTime = d } }

// WithMirrorTTL sets how long [Service.Quote] and [Service.Validate] use the processor's answer
// that a coupon's mirror is valid. The default is [DefaultMirrorTTL], the most is 24 hours, and
// 0 asks the processor in every call.
//
// The first caller after that time asks again, and waits at most two seconds for the answer. All
// others use the old answer meanwhile. While the processor does not answer, the last valid answer
// is used for ten times the TTL. A change of the coupon by this service is seen at once.
//
// [Service.Checkout], [Service.PaymentLink] and [Service.ExchangePoints] always ask.
func WithMirrorTTL(d time.Duration) Option { return func(s *Service) { s.mirrors.ttl = d } }

// now returns the instant in the form in which it is stored.
func (s *Service) now() time.Time { return coupon.Instant(s.clock()) }

// idByTime makes IDs that databases write to the end of their indexes, on pages that
// they have at hand; random ones would each touch a page of their own.
func (s *Service) idByTime(prefix string) string {
	const ofTime = 6
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(s.clock().UnixMilli())<<(64-8*ofTime))
	_, _ = rand.Read(id[ofTime:]) // never fails
	return prefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(id[:]))
}

// observed tells the observer of an attempt; callers defer its result. A panic of what the
// host has lent to the service, which goes on, is no success.
func (s *Service) observed(ctx context.Context, op Operation, a *Attempt, err *error) func() {
	began := s.clock()
	return func() {
		a.Operation, a.Err, a.At = op, *err, coupon.Instant(began)
		if cause := recover(); cause != nil {
			a.Err = fmt.Errorf("panic: %v", cause)
			defer panic(cause)
		}
		a.Duration = s.clock().Sub(began)
		var refused *coupon.Rejection
		if errors.As(a.Err, &refused) {
			a.CouponID = cmp.Or(refused.CouponID, a.CouponID)
			for _, r := range refused.Reasons {
				a.Reasons = append(a.Reasons, r.Code)
			}
		}
		s.observer.Observe(ctx, *a)
	}
}

// customer looks the customer up in the directory. Nobody, and a user that does
// not exist, is the zero value.
func (s *Service) customer(ctx context.Context, c eligibility.Customer) (eligibility.Customer, error) {
	if s.users == nil || c.ID == "" {
		return c, nil
	}
	user, err := s.users.User(ctx, c.ID)
	if errors.Is(err, ErrUserNotFound) {
		return eligibility.Customer{}, nil
	}
	if err != nil {
		return eligibility.Customer{}, fmt.Errorf("look up user: %w", err)
	}
	return eligibility.Customer{ID: user.ID, Email: user.Email}, nil
}

// detached returns a context for finishing what must not stay half done because
// the caller has gone; it ends by itself.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	const cleanup = 10 * time.Second
	return context.WithTimeout(context.WithoutCancel(ctx), cleanup)
}
