package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/couponkit/couponkit/examples/service/internal/api"
)

// Config of a service. The zero value listens on a free loopback port, keeps
// everything in memory and seeds nothing.
type Config struct {
	// Addr is where to listen; empty is a free port of 127.0.0.1.
	Addr string
	// Store is "memory", the path of an SQLite file, or a postgres:// address; empty
	// is memory.
	Store string
	// Seed makes the demo's users, catalogue and coupons when the store is empty.
	Seed bool
	// Crowd is how many more customers the demo has, see shop.DemoCrowd.
	Crowd int
	// PublicURL is where customers reach the service; empty is http:// and the
	// address that is listened on, localhost for all of them.
	PublicURL string
	// StripeKey and StripeWebhookSecret switch to Stripe; both or none.
	StripeKey           string
	StripeWebhookSecret string
	// StripeURL is where Stripe's API is, for a stand-in; empty is Stripe.
	StripeURL string

	// InsecureCookies lets browsers send sessions over plain HTTP to other hosts than
	// their own machine.
	InsecureCookies bool
	// Guests lets customers pay a cart with an e-mail address, without signing in.
	Guests bool
	// SuggestBest shows customers the best coupon for their cart, and SuggestNearly the coupons that they nearly
	// get. Both show every coupon with a plain code that the customer may use.
	SuggestBest   bool
	SuggestNearly bool
	// Location is the time zone of the shop, in which dates begin and end; nil is UTC.
	Location *time.Location
	// BehindProxy takes the client's address from the last entry of X-Forwarded-For,
	// which the proxy in front has written.
	BehindProxy bool
	// Limits of attempts; zero fields are the defaults of package api.
	Limits api.Limits
	// PlainRefusals tells customers why a code is not for them. By default, such a code is refused like one that
	// does not exist; see couponkit.WithOpaqueRefusals.
	PlainRefusals bool

	// Logger hears what happens; nil discards.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// PasswordCost is bcrypt's work factor; 0 is its default.
	PasswordCost int
	// Sweep, Reconcile and Deliver are how often what has lapsed is released, mirrors
	// are compared, and webhooks of the simulated processor are delivered at the
	// latest; 0 is the default.
	Sweep     time.Duration
	Reconcile time.Duration
	Deliver   time.Duration
	// Follow is how often the index of coupons is brought up to date; 0 is the default.
	Follow time.Duration
	// SweepTime and ReconcileTime bound one such run; 0 is the default. What a run does
	// not come to is left to the next.
	SweepTime     time.Duration
	ReconcileTime time.Duration
	// Drain is how long requests are taken after the service has said that it is not ready
	// any more, before it ends: until a balancer has heard of it. 0 is not at all.
	Drain time.Duration
}

// Defaults of Config.
const (
	DefaultAddr      = "127.0.0.1:8080"
	DefaultSweep     = 30 * time.Second
	DefaultReconcile = 5 * time.Minute
	DefaultDeliver   = time.Second
	DefaultFollow    = time.Second

	// DefaultSweepTime is enough for a thousand sessions at Stripe's rate. While the
	// processor does not answer, each costs its adapter's patience, and a run without a
	// bound would take hours.
	DefaultSweepTime = 5 * time.Minute
	// DefaultReconcileTime is enough for tens of thousands of coupons, for a run always
	// begins with the newest.
	DefaultReconcileTime = time.Hour
)

// Memory is the Store that keeps everything in memory.
const Memory = "memory"

func (c Config) orDefaults() Config {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.Store == "" {
		c.Store = Memory
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	for _, d := range [...]struct {
		value    *time.Duration
		fallback time.Duration
	}{{&c.Sweep, DefaultSweep}, {&c.Reconcile, DefaultReconcile}, {&c.Deliver, DefaultDeliver}, {&c.Follow, DefaultFollow}, {&c.SweepTime, DefaultSweepTime}, {&c.ReconcileTime, DefaultReconcileTime}} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	return c
}

// DefaultStore is the SQLite file in the user's cache directory, or in the
// directory for temporary files where there is none.
func DefaultStore() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "couponkit", "couponkit.db")
}

func isPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}
