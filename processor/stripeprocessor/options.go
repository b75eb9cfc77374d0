package stripeprocessor

import (
	"cmp"
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
	"github.com/couponkit/couponkit/validation"
)

// Options configures a [Processor]. The zero value uses Stripe with the defaults below.
// It accepts no webhook deliveries, because it has no secret.
type Options struct {
	// WebhookSecrets are the signing secrets (whsec_…) of the webhook endpoint. A
	// delivery may be signed with any of them.
	WebhookSecrets []string
	// Environment is the environment of the account: live or sandbox. Events of the
	// other environment are refused. The zero value uses the prefix of the key. Any
	// other value must match that prefix.
	Environment Environment
	// Account is a connected account (acct_…), if the key belongs to a platform. Calls
	// act for that account, and only its events are accepted. Empty means the account
	// of the key.
	Account string
	// AnyAPIVersion accepts webhook deliveries of a Stripe API release other than that
	// of stripe-go. Their fields may be missing or have another meaning.
	AnyAPIVersion bool

	// App marks the Stripe objects of this application. It has at most 40 letters,
	// digits, dashes and underscores; default "couponkit". Applications that share an
	// account need different values. Each ignores the sessions of all other values.
	// Change App only while no session is open.
	App string
	// IDPrefix is the beginning of the IDs of Stripe coupons. It has at most 20
	// letters, digits, dashes and underscores; default "ck".
	IDPrefix string
	// MirrorExpiry copies the coupon's expiry to the promotion code, so that Stripe
	// shows it. An expired promotion code is replaced when the coupon is extended. An
	// expiry more than five years ahead is not copied.
	MirrorExpiry bool

	// SettlementCurrency is the currency of the account's payouts. If it is set,
	// minimum charges are checked before the call for this currency only. Stripe checks
	// the other currencies. Zero means that every currency is paid out in itself.
	SettlementCurrency pricing.Currency
	// MinimumCharge overrides Stripe's minimum charges, in minor units by currency; 0
	// means no minimum.
	MinimumCharge map[pricing.Currency]int64
	// SessionLifetime is the lifetime of a session without ExpiresAt. It is 31 minutes
	// to 23 hours 59 minutes, both included; default 1 hour. A repetition of such a
	// request is recognized for one day.
	SessionLifetime time.Duration
	// AutomaticTax lets Stripe calculate taxes of sessions. The totals of sessions and events
	// exclude the taxes that Stripe adds to the prices. They are in Session.Tax and Event.Tax.
	AutomaticTax bool
	// TaxBehavior is the tax behavior of every line: "inclusive" or "exclusive". Empty
	// means the account's default.
	TaxBehavior string

	// Retry limits the attempts of one call.
	Retry Retry
	// RequestsPerSecond limits all calls; default 25. The burst has the same size. A
	// negative value means no limit. Stripe allows 25 for a sandbox and 100 for a live
	// account. Each operation is also limited to 25.
	RequestsPerSecond float64

	// BaseURL is the URL of the API; default Stripe's.
	BaseURL string
	// HTTPClient is copied and used for all calls. The default has a timeout of 20
	// seconds and its own connections.
	HTTPClient *http.Client
	// Clock returns the current time; default time.Now.
	Clock func() time.Time
	// Logger logs every repeated attempt and every refused webhook delivery. Records
	// contain no keys, secrets or bodies. nil means no logging.
	Logger *slog.Logger
}

// Environment is an environment of a Stripe account.
type Environment uint8

// The environments.
const (
	EnvironmentOfKey Environment = iota // according to the prefix of the key
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

// Processor implements package processor with Stripe. Create it with [New]. It is safe
// for concurrent use.
type Processor struct {
	options Options
	client  *stripe.Client
	limits  *limiter
	minimum map[pricing.Currency]int64
}

var (
	_ processor.Processor     = (*Processor)(nil)
	_ processor.MirrorLister  = (*Processor)(nil)
	_ processor.Refunder      = (*Processor)(nil)
	_ processor.SessionFinder = (*Processor)(nil)
)

// New returns a processor for a secret or restricted key. It makes no call. An error
// lists all invalid options. It never contains the key.
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
	o.App = cmp.Or(o.App, "couponkit")
	o.IDPrefix = cmp.Or(o.IDPrefix, "ck")
	o.SessionLifetime = cmp.Or(o.SessionLifetime, defaultSessionLifetime)
	o.RequestsPerSecond = cmp.Or(o.RequestsPerSecond, defaultRate)
	o.BaseURL = cmp.Or(o.BaseURL, stripe.APIURL)
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

// objectName matches the characters of a Stripe ID.
var objectName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// whiteSpace has the white space to trim from keys and secrets. Files often add it.
const whiteSpace = " \t\r\n"

func (o Options) faults(key string) error {
	var faults validation.Error
	o.originFaults(&faults, key)
	if !objectName.MatchString(o.App) || len(o.App) > maxAppLength {
		faults.Add("app", validation.Malformed, fmt.Sprintf("letters, digits, dash and underscore, at most %d", maxAppLength))
	}
	if !objectName.MatchString(o.IDPrefix) || len(o.IDPrefix) > maxPrefixLength {
		faults.Add("idPrefix", validation.Malformed, fmt.Sprintf("letters, digits, dash and underscore, at most %d", maxPrefixLength))
	}
	if o.SessionLifetime < minSessionLifetime || o.SessionLifetime > maxSessionLifetime {
		faults.Add("sessionLifetime", validation.TooSmall, fmt.Sprintf("between %s and %s", minSessionLifetime, maxSessionLifetime))
	}
	if !slices.Contains([]string{"", "inclusive", "exclusive"}, o.TaxBehavior) {
		faults.Add("taxBehavior", validation.Unknown, "must be inclusive or exclusive")
	}
	for currency, minimum := range o.MinimumCharge {
		if currency.IsZero() || minimum < 0 {
			faults.Add("minimumCharge", validation.TooSmall, "needs currencies, and amounts of at least 0")
		}
	}
	return faults.Err()
}

// originFaults checks the options that say which account calls and events belong to.
func (o Options) originFaults(faults *validation.Error, key string) {
	if strings.TrimSpace(key) == "" || strings.ContainsAny(key, whiteSpace) {
		faults.Add("key", validation.Required, "a secret or restricted key is required")
	} else if o.Environment == EnvironmentOfKey {
		faults.Add("environment", validation.Required, "the key does not tell live from test: set Environment")
	}
	if o.Environment > Live {
		faults.Add("environment", validation.Unknown, "must be Sandbox or Live")
	} else if keyEnvironment := environmentOf(key); keyEnvironment != EnvironmentOfKey && keyEnvironment != o.Environment {
		faults.Add("environment", validation.Mismatch, fmt.Sprintf("the key is of %s: the events of its sessions would be refused", keyEnvironment))
	}
	if o.Account != "" && !objectName.MatchString(o.Account) {
		faults.Add("account", validation.Malformed, "the ID of a connected account, such as acct_1")
	}
	for _, secret := range o.WebhookSecrets {
		if secret == "" {
			faults.Add("webhookSecrets", validation.Required, "a secret is not empty: everybody could sign with it")
		} else if strings.ContainsAny(secret, whiteSpace) {
			faults.Add("webhookSecrets", validation.Malformed, "a secret has no white space: nobody signs with that")
		}
	}
}
