package stripeprocessor

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Options configures a [Processor]. The zero value talks to Stripe with the
// defaults that the fields name, and accepts no webhook because it has no secret.
type Options struct {
	// WebhookSecrets are the signing secrets (whsec_…) of the webhook endpoint. A
	// delivery signed with any of them is accepted, so that a secret can be rolled.
	WebhookSecrets []string
	// Environment tells whether the account's live or sandbox data is meant; events
	// of the other are refused. Zero reads it from the prefix of the key, which it must
	// not contradict.
	Environment Environment
	// Account is the connected account (acct_…) for which a platform's key is used: calls
	// are made in its name, and only its events are accepted. Empty is the account that
	// the key belongs to.
	Account string
	// AnyAPIVersion accepts webhook deliveries of another release train of Stripe's
	// API than that of stripe-go. Fields may then be missing or mean something else.
	AnyAPIVersion bool

	// App marks the objects of this application in their metadata, sessions among them.
	// Two applications, or two stages of one, that share a Stripe account need different
	// ones: each gets the events of both and ignores those about sessions of the other.
	// Under another App than before, sessions that are still open are another's: change it
	// when there are none, or let the host's sweep find what was paid. Letters, digits, dash
	// and underscore, at most 40; default "couponkit".
	App string
	// IDPrefix begins the IDs of our coupons at Stripe; the same rules as App, at most
	// 20; default "ck".
	IDPrefix string
	// MirrorExpiry puts the coupon's expiry on the promotion code. Stripe then shows
	// it, but a code that has expired there has to be replaced when the coupon is
	// prolonged. An expiry more than five years ahead is not put there.
	MirrorExpiry bool

	// SettlementCurrency is the currency in which the account is paid out. Stripe's
	// minimum charges are those of the settlement currency: with it set, only charges
	// in this currency are checked before the call, others by Stripe. Zero means that
	// every currency is settled in itself.
	SettlementCurrency pricing.Currency
	// MinimumCharge overrides Stripe's table: minor units by currency, 0 for no
	// minimum.
	MinimumCharge map[pricing.Currency]int64
	// SessionLifetime is how long a session without ExpiresAt is open; default one
	// hour. Stripe allows 30 minutes to 24 hours; it may be 31 minutes to 23 hours and 59
	// minutes, both included. The repetition of such a request is known as one for a day.
	SessionLifetime time.Duration
	// AutomaticTax lets Stripe add taxes to sessions. The totals of sessions and events
	// are then those without what Stripe has added, which are the order's.
	AutomaticTax bool
	// TaxBehavior is "inclusive" or "exclusive" and is put on every line; empty leaves
	// it to the account.
	TaxBehavior string

	// Retry bounds the attempts of one call.
	Retry Retry
	// RequestsPerSecond bounds all calls, after a burst of as many; default 25, which is
	// what a sandbox allows. A live account may do 100. Negative is no bound. Besides,
	// each operation is bounded in the same way by 25, which is what Stripe allows it. A
	// call that is too many all the same is repeated.
	RequestsPerSecond float64

	// BaseURL of the API; default Stripe's.
	BaseURL string
	// HTTPClient is copied and used for all calls; default one with a timeout of 20
	// seconds and its own connections.
	HTTPClient *http.Client
	// Clock tells the time; default time.Now.
	Clock func() time.Time
	// Logger gets a record for every repeated attempt and every webhook delivery that
	// is refused, without keys, secrets and bodies. nil logs nothing.
	Logger *slog.Logger
}

// Environment is a side of a Stripe account.
type Environment uint8

// The environments.
const (
	EnvironmentOfKey Environment = iota // as the key's prefix says
	Sandbox                             // test data
	Live                                // real money
)

// String returns "of the key", "sandbox" or "live".
func (e Environment) String() string {
	switch e {
	case EnvironmentOfKey:
		return "of the key"
	case Sandbox:
		return "sandbox"
	case Live:
		return "live"
	}
	return ""
}

// Processor implements package processor on Stripe. Make one with [New]. It is safe
// for use by many goroutines.
type Processor struct {
	options Options
	client  *stripe.Client
	limits  *limiter
	minimum map[pricing.Currency]int64
}

var (
	_ processor.Processor    = (*Processor)(nil)
	_ processor.MirrorLister = (*Processor)(nil)
)

// New returns a processor that calls Stripe with a secret or restricted key. It
// makes no call. Options that contradict each other are an error that names every
// one; the error never contains the key.
func New(key string, o Options) (*Processor, error) {
	o, err := o.withDefaults(key)
	if err != nil {
		return nil, err
	}
	return &Processor{
		options: o,
		client:  newClient(key, o),
		limits:  newLimiter(o.RequestsPerSecond),
		minimum: minimumCharges(o),
	}, nil
}

const (
	defaultSessionLifetime = time.Hour
	defaultHTTPTimeout     = 20 * time.Second
	defaultRate            = 25
	maxAppLength           = 40
	maxPrefixLength        = 20
)

func (o Options) withDefaults(key string) (Options, error) {
	o.App = orDefault(o.App, "couponkit")
	o.IDPrefix = orDefault(o.IDPrefix, "ck")
	o.SessionLifetime = orDefault(o.SessionLifetime, defaultSessionLifetime)
	o.RequestsPerSecond = orDefault(o.RequestsPerSecond, defaultRate)
	o.BaseURL = orDefault(o.BaseURL, stripe.APIURL)
	o.Retry = o.Retry.withDefaults()
	o.WebhookSecrets = slices.Clone(o.WebhookSecrets)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Environment == EnvironmentOfKey {
		o.Environment = environmentOf(key)
	}
	return o, o.faults(key)
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// environmentOf reads the prefixes sk_live_, rk_live_, sk_test_ and rk_test_.
func environmentOf(key string) Environment {
	_, rest, _ := strings.Cut(key, "_")
	switch {
	case strings.HasPrefix(rest, "live_"):
		return Live
	case strings.HasPrefix(rest, "test_"):
		return Sandbox
	}
	return EnvironmentOfKey
}

// objectName is what an ID at Stripe may consist of.
var objectName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// whiteSpace comes along with keys and secrets that are read from files.
const whiteSpace = " \t\r\n"

func (o Options) faults(key string) error {
	var faults pricing.ValidationError
	o.originFaults(&faults, key)
	if !objectName.MatchString(o.App) || len(o.App) > maxAppLength {
		faults.Add("app", pricing.FieldMalformed, fmt.Sprintf("letters, digits, dash and underscore, at most %d", maxAppLength))
	}
	if !objectName.MatchString(o.IDPrefix) || len(o.IDPrefix) > maxPrefixLength {
		faults.Add("idPrefix", pricing.FieldMalformed, fmt.Sprintf("letters, digits, dash and underscore, at most %d", maxPrefixLength))
	}
	if o.SessionLifetime < minSessionLifetime || o.SessionLifetime > maxSessionLifetime {
		faults.Add("sessionLifetime", pricing.FieldTooSmall, fmt.Sprintf("between %s and %s", minSessionLifetime, maxSessionLifetime))
	}
	if !slices.Contains([]string{"", "inclusive", "exclusive"}, o.TaxBehavior) {
		faults.Add("taxBehavior", pricing.FieldUnknown, "must be inclusive or exclusive")
	}
	for currency, minimum := range o.MinimumCharge {
		if currency.IsZero() || minimum < 0 {
			faults.Add("minimumCharge", pricing.FieldTooSmall, "needs currencies, and amounts of at least 0")
		}
	}
	return faults.Err()
}

// originFaults is about whose calls and events these are.
func (o Options) originFaults(faults *pricing.ValidationError, key string) {
	if strings.TrimSpace(key) == "" || strings.ContainsAny(key, whiteSpace) {
		faults.Add("key", pricing.FieldRequired, "a secret or restricted key is required")
	} else if o.Environment == EnvironmentOfKey {
		faults.Add("environment", pricing.FieldRequired, "the key does not tell live from test: set Environment")
	}
	if o.Environment > Live {
		faults.Add("environment", pricing.FieldUnknown, "must be Sandbox or Live")
	} else if told := environmentOf(key); told != EnvironmentOfKey && told != o.Environment {
		faults.Add("environment", pricing.FieldMismatch, fmt.Sprintf("the key is of %s: the events of its sessions would be refused", told))
	}
	if o.Account != "" && !objectName.MatchString(o.Account) {
		faults.Add("account", pricing.FieldMalformed, "the ID of a connected account, such as acct_1")
	}
	for _, secret := range o.WebhookSecrets {
		if secret == "" {
			faults.Add("webhookSecrets", pricing.FieldRequired, "a secret is not empty: everybody could sign with it")
		} else if strings.ContainsAny(secret, whiteSpace) {
			faults.Add("webhookSecrets", pricing.FieldMalformed, "a secret has no white space: nobody signs with that")
		}
	}
}
