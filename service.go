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

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// These errors come from the methods of a [Service]. Packages coupon, pricing and store define more
// errors.
var (
	// ErrUnavailable means that the payment processor did not answer. The processor may have carried
	// out the request anyway. Repeating the call is safe.
	ErrUnavailable = processor.ErrUnavailable
	// ErrOrderEnded means that the order of an idempotency key has ended unpaid. Check out again with
	// a new idempotency key.
	ErrOrderEnded = settle.ErrOrderEnded
	// ErrOrderPaid means that the customer has finished the payment session of an order. The payment
	// has arrived or is on its way. The order can neither be paid again nor be cancelled.
	ErrOrderPaid = settle.ErrOrderPaid
	// ErrInTransaction means that the store of the service works inside a transaction of the host, and
	// that the call would change something outside of it: a payment session, money, points or a mirror.
	// A rollback would forget the change. Nothing was stored, and nobody was asked. Call the method on
	// a service whose store has its own transactions.
	ErrInTransaction = errors.New("the store works inside a transaction of the host")
	// ErrNoProcessor means that the service was built without [WithProcessor].
	ErrNoProcessor = payments.ErrNoProcessor
	// ErrNoLedger means that the service was built without [WithPoints].
	ErrNoLedger = payments.ErrNoLedger
	// ErrPaymentOpen means that an earlier order of the customer, which the order has replaced, can perhaps
	// still be paid. Record the end of that payment first, or repeat the call later.
	ErrPaymentOpen = store.ErrPaymentOpen
)

// These constants are the default durations of the options.
const (
	DefaultSessionLifetime = time.Hour
	DefaultGrace           = 10 * time.Minute
	DefaultPaymentWait     = 14 * 24 * time.Hour
	DefaultExchangeTime    = 15 * time.Minute
	DefaultCreateTime      = 2 * time.Minute
	// DefaultMirrorTTL is how long a [Service] caches an answer about a mirror; see [WithMirrorTTL].
	DefaultMirrorTTL = time.Minute
)

// RecurringDiscount tells how many payments of a recurring line are discounted.
type RecurringDiscount uint8

// These constants are the values of RecurringDiscount.
const (
	// FirstPeriod discounts only the first payment. Renewals cost the list price. FirstPeriod is the
	// default.
	FirstPeriod RecurringDiscount = iota
	// EveryPeriod discounts the first payment and every renewal.
	EveryPeriod
)

// A Service validates coupons, prices carts and counts uses; see the package documentation. Use
// [New] to create a Service. A Service is safe for concurrent use.
type Service struct {
	store     store.Store
	processor processor.Processor
	recorder  func(context.Context, Payment) error
	abilities processor.Abilities

	clock     func() time.Time
	newID     func(prefix string) string
	users     Users
	points    Points
	observer  Observer
	logger    *slog.Logger
	currency  pricing.Currency
	location  *time.Location
	symbols   language.Tag
	recurring RecurringDiscount
	guests    bool

	limiter ratelimit.Limiter // may be nil
	opaque  bool
	forms   []codes.Form

	automatic *quote.Automatic // may be nil

	inTransaction bool // the store works in a transaction of the host

	sessionLifetime time.Duration
	grace           time.Duration
	paymentWait     time.Duration
	exchangeTime    time.Duration
	createTime      time.Duration

	mirrors *mirrors.Cache
}

// An Option configures a [Service].
type Option func(*Service)

// New returns a Service that uses the given store. The store must not be nil. Each option's comment
// names its default. New ignores nil options. A nil given to WithRecorder, WithUsers, WithPoints, WithLimiter or
// WithAutomatic leaves that part out. Any other option with a nil is invalid.
//
// New returns a [*validation.Error] that names every invalid option, such as a session
// lifetime that the processor does not allow.
func New(s store.Store, options ...Option) (*Service, error) {
	service := &Service{
		store: s, processor: payments.NoProcessor{}, mirrors: &mirrors.Cache{TTL: DefaultMirrorTTL},
		clock: time.Now, logger: slog.New(slog.DiscardHandler),
		observer: ObserverFunc(func(context.Context, Attempt) {}),
		currency: pricing.EUR(), location: time.UTC, symbols: language.English,
		sessionLifetime: DefaultSessionLifetime, grace: DefaultGrace, paymentWait: DefaultPaymentWait,
		exchangeTime: DefaultExchangeTime, createTime: DefaultCreateTime,
	}
	if t, found := store.As[store.Transactional](s); found {
		service.inTransaction = t.InTransaction()
	}
	service.newID = service.idByTime
	for _, option := range options {
		if option != nil {
			option(service)
		}
	}
	service.mirrors.Mirrors, service.mirrors.Logger = service.processor, service.logger
	if service.processor != nil {
		service.abilities = service.processor.Abilities()
	}
	if err := service.validate(); err != nil {
		return nil, err
	}
	return service, nil
}

func (s *Service) validate() error {
	var faults validation.Error
	require := func(field string, given bool) {
		if !given {
			faults.Add(field, validation.Required, "is required")
		}
	}
	require("store", s.store != nil)
	require("processor", s.processor != nil)
	var at time.Time
	if s.clock != nil {
		at = s.clock()
	}
	require("clock", !at.IsZero())
	faults.Merge("clock", calendar.CheckInstant(at))
	require("ids", s.newID != nil)
	f, is := s.observer.(ObserverFunc)
	require("observer", s.observer != nil && (!is || f != nil))
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
		{"createTime", s.createTime},
	} {
		if d.value <= 0 {
			faults.Add(d.field, validation.TooSmall, "must be longer than 0")
		}
	}
	if s.mirrors.TTL < 0 {
		faults.Add("mirrorTTL", validation.TooSmall, "must not be negative")
	}
	if s.mirrors.TTL > mirrors.MaxTTL {
		faults.Add("mirrorTTL", validation.TooLarge, fmt.Sprintf("is at most %v", mirrors.MaxTTL))
	}
	if s.sessionLifetime > 0 && s.grace > math.MaxInt64-s.sessionLifetime {
		faults.Add("grace", validation.TooLarge, "is too long together with the session lifetime")
	}
	for i, form := range s.forms {
		if form.Shape().Symbols == 0 {
			faults.Add(fmt.Sprintf("codeForms[%d]", i), validation.Required, "a form has a shape")
		}
	}
	if s.recurring > EveryPeriod {
		faults.Add("recurringDiscount", validation.Unknown, "must be FirstPeriod or EveryPeriod")
	}
	if least := s.abilities.MinSessionLifetime; s.sessionLifetime > 0 && s.sessionLifetime < least {
		faults.Add("sessionLifetime", validation.TooSmall, fmt.Sprintf("the processor's sessions live at least %v", least))
	}
	if most := s.abilities.MaxSessionLifetime; most > 0 && s.sessionLifetime > most {
		faults.Add("sessionLifetime", validation.TooLarge, fmt.Sprintf("the processor's sessions live at most %v", most))
	}
	return faults.Err()
}

// WithProcessor sets the payment processor, in which coupons are mirrored and customers pay. Without a
// processor, the host makes its own payments, and tells the service of them; see [Ledger]. The methods that
// need a payment session then return [ErrNoProcessor].
func WithProcessor(p processor.Processor) Option { return func(s *Service) { s.processor = p } }

// WithRecorder sets how the service records what it hears of payments: from webhook events, sweeps,
// [Service.CancelCheckout], [Service.CancelExchange], [Service.Refresh], [Service.Refund], [Service.RunDue],
// and while it opens a session. The recorder calls [Ledger.Record] with the payment, in a transaction in
// which the host changes its own orders as the [Outcome] tells. It calls Record once in a transaction, and
// again after a rollback. Handle an Outcome without an order, too: the payment is of nobody. If the recorder
// returns an error, nothing was recorded, and the service returns the error. By default, the recorder is
// [Service.Record].
//
// A host with orders of its own and without a recorder can lose an outcome, if it dies between a change of
// the service and its own.
func WithRecorder(record func(context.Context, Payment) error) Option {
	return func(s *Service) { s.recorder = record }
}

// WithClock sets the service's clock. The default clock is time.Now. [New] reads the clock once: a time that is zero, or
// outside of the years 1 to 9999, is invalid.
func WithClock(now func() time.Time) Option { return func(s *Service) { s.clock = now } }

// WithIDs sets the function that makes IDs. Each ID must be unique and begin with the given prefix.
// An ID has at most [coupon.MaxIDLength] bytes, including the prefix. A call that gets an invalid ID stores
// nothing and fails. The error is no validation.ErrInvalid, because the request is not at fault.
//
// By default, an ID consists of the prefix and 26 letters and digits. The letters and digits encode
// the time in milliseconds and 80 random bits. Default IDs therefore sort by creation time.
func WithIDs(newID func(prefix string) string) Option { return func(s *Service) { s.newID = newID } }

// WithUsers sets the user directory. The service takes each customer's e-mail address from the
// directory, not from the request. Without a directory, the service assumes that every customer
// exists.
func WithUsers(u Users) Option { return func(s *Service) { s.users = u } }

// WithPoints sets the ledger of points. Without a ledger, customers cannot exchange points.
func WithPoints(p Points) Option { return func(s *Service) { s.points = p } }

// WithObserver sets the observer that receives every attempt. The default observer does nothing.
func WithObserver(o Observer) Option { return func(s *Service) { s.observer = o } }

// WithLogger sets the logger for failures that no method returns as an error. For example, the
// service logs a refund of points that failed. By default, the service logs nothing.
func WithLogger(l *slog.Logger) Option { return func(s *Service) { s.logger = l } }

// WithCurrency sets the currency of new coupons whose draft names no currency. The default currency
// is EUR.
func WithCurrency(c pricing.Currency) Option { return func(s *Service) { s.currency = c } }

// WithLocation sets the time zone in which a date without a time begins and ends. The default time
// zone is UTC.
func WithLocation(loc *time.Location) Option { return func(s *Service) { s.location = loc } }

// WithSymbolLanguage sets the language of [Validation].CurrencySymbol. The default language is
// English. The language of messages does not change: render a [coupon.Reason] by its Code and Params
// for messages in other languages.
func WithSymbolLanguage(tag language.Tag) Option { return func(s *Service) { s.symbols = tag } }

// WithRecurringDiscount sets how many payments of a recurring line are discounted. The default is
// [FirstPeriod].
func WithRecurringDiscount(r RecurringDiscount) Option { return func(s *Service) { s.recurring = r } }

// WithSessionLifetime sets how long a payment session stays open. The default is
// [DefaultSessionLifetime].
func WithSessionLifetime(d time.Duration) Option { return func(s *Service) { s.sessionLifetime = d } }

// WithGrace sets how long an order keeps its uses after its payment session has expired. The grace
// period gives a last-second payment time to arrive. The default is [DefaultGrace].
func WithGrace(d time.Duration) Option { return func(s *Service) { s.grace = d } }

// WithPaymentWait sets how long an order waits for a delayed payment, such as a bank transfer.
// After the payment wait, the sweep asks the processor whether the payment has arrived. The default
// is [DefaultPaymentWait].
func WithPaymentWait(d time.Duration) Option { return func(s *Service) { s.paymentWait = d } }

// WithExchangeTime sets how long an exchange of points may take. The sweep undoes an exchange that
// takes longer than the exchange time. The default is [DefaultExchangeTime].
func WithExchangeTime(d time.Duration) Option { return func(s *Service) { s.exchangeTime = d } }

// WithCreateTime sets how long a call that creates a payment may take. A payment that was begun within that
// time, and that is not found, may be created right now. The default is [DefaultCreateTime].
func WithCreateTime(d time.Duration) Option { return func(s *Service) { s.createTime = d } }

// WithMirrorTTL sets how long the service caches the processor's answers about mirrors. A mirror is
// the processor's own copy of a coupon. Only [Service.Quote] and [Service.Validate] read the cache.
// The default TTL is [DefaultMirrorTTL]. The longest TTL is 24 hours. With a TTL of 0, every call
// asks the processor.
//
//   - When an answer is older than the TTL, one caller asks the processor again and waits at most
//     two seconds. Until the new answer arrives, other callers use the old answer if the mirror was
//     valid.
//   - If the processor does not answer, the service still treats a valid mirror as valid for ten
//     times the TTL.
//   - When the service changes or repairs a coupon, it drops the cached answer about the coupon.
//   - [Service.Checkout], [Service.PaymentLink] and [Service.ExchangePoints] always ask the
//     processor.
//
// The service caches at most 10,000 answers.
func WithMirrorTTL(d time.Duration) Option { return func(s *Service) { s.mirrors.TTL = d } }

// now returns the current instant in its stored form.
func (s *Service) now() time.Time { return calendar.Instant(s.clock()) }

// id returns a new ID. If it is invalid, the host is at fault, and not a request: the error is no *validation.Error.
func (s *Service) id(prefix string) (string, error) {
	id := s.newID(prefix)
	rest, begins := strings.CutPrefix(id, prefix)
	if !begins || rest == "" || len(id) > coupon.MaxIDLength || !store.IsText(id) || prefix == coupon.IDPrefix && !coupon.IsID(id) {
		return "", fmt.Errorf("the function of WithIDs returned %.80q, which is no ID with the prefix %q", id, prefix)
	}
	return id, nil
}

// idByTime returns an ID that begins with the time. Databases then write it to the end of their
// indexes, on pages that are in memory. Random IDs would each touch another page.
func (s *Service) idByTime(prefix string) string {
	const ofTime = 6
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(s.clock().UnixMilli())<<(64-8*ofTime))
	_, _ = rand.Read(id[ofTime:]) // never fails
	return prefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(id[:]))
}

// observed returns a function that reports an attempt to the observer. Callers defer it. If an
// implementation of the host panics, the attempt counts as failed, and the panic continues.
func (s *Service) observed(ctx context.Context, op Operation, about *settle.Attempt, err *error) func() {
	began := s.clock()
	return func() {
		a := Attempt{
			Operation: op, CouponID: about.CouponID, CustomerID: about.CustomerID, OrderID: about.OrderID, SessionID: about.SessionID,
			Flag: Flag(about.Flag), Err: *err, At: calendar.Instant(began),
		}
		if cause := recover(); cause != nil {
			a.Err = fmt.Errorf("panic: %v", cause)
			defer panic(cause)
		}
		a.Duration = s.clock().Sub(began)
		refusedID := ""
		for _, told := range coupon.RejectionsOf(a.Err) {
			refused := about.True(told)
			refusedID = cmp.Or(refusedID, refused.CouponID)
			for _, r := range refused.Reasons {
				a.Reasons = append(a.Reasons, r.Code)
			}
		}
		a.CouponID = cmp.Or(refusedID, a.CouponID)
		s.observer.Observe(ctx, a)
	}
}

// changesOutside returns [ErrInTransaction] if the store works in a transaction of the host. Methods
// call it first if they change something outside the store that a rollback would not undo.
func (s *Service) changesOutside() error {
	if s.inTransaction {
		return ErrInTransaction
	}
	return nil
}

// detached returns a context for work that must be finished even if the caller's context has ended. It
// has its own timeout.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	const cleanup = 10 * time.Second
	return context.WithTimeout(context.WithoutCancel(ctx), cleanup)
}
