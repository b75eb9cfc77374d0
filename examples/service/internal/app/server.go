package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/payments"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/ratelimit"
)

// Server is a running service.
type Server struct {
	// URL is where it is reached, without a slash at the end.
	URL string
	// Service and Shop are what the HTTP interface calls.
	Service *couponkit.Service
	Shop    *shop.DB
	// Simulator is the simulated processor; nil with Stripe.
	Simulator *payments.Simulator

	config   Config
	calls    *api.API
	offers   *couponkit.Offers
	storage  *storage
	provider provider
	http     *http.Server
	listener net.Listener
	stop     context.CancelFunc
	running  sync.WaitGroup
	failed   chan error
}

// Limits of connections.
const (
	headerTime     = 5 * time.Second
	readTime       = 20 * time.Second
	writeTime      = 30 * time.Second
	idleTime       = time.Minute
	maxHeaderBytes = 64 << 10
)

// Start starts a service: it opens the store, seeds it, repairs the mirrors of an
// earlier run, and then serves. Close ends it.
func Start(ctx context.Context, c Config) (_ *Server, err error) {
	s := &Server{config: c.orDefaults(), failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.storage, err = openStorage(ctx, s.config.Store); err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	if s.listener, err = listen.Listen(ctx, "tcp", s.config.Addr); err != nil {
		return nil, err
	}
	local := "http://" + reached(s.listener.Addr())
	if s.URL = strings.TrimSuffix(s.config.PublicURL, "/"); s.URL == "" {
		s.URL = local
	}
	handler, err := s.assemble(ctx)
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelWarn),
	}
	s.run(local)
	return s, nil
}

// reached returns the address of a listener for a browser on the same machine. It replaces an
// unspecified address by localhost, because browsers send no session cookie to the unspecified address.
func reached(listening net.Addr) string {
	if tcp, is := listening.(*net.TCPAddr); is && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return listening.String()
}

// assemble builds the service on the storage and returns the handler.
func (s *Server) assemble(ctx context.Context) (http.Handler, error) {
	c := s.config
	var err error
	if s.Shop, err = shop.Open(ctx, s.storage.shop, shop.Options{Now: c.Now, PasswordCost: c.PasswordCost, Prepare: !isPostgres(c.Store)}); err != nil {
		return nil, err
	}
	s.storage.closes(s.Shop.Close)
	if s.provider, err = newProvider(c, s.URL); err != nil {
		return nil, err
	}
	s.Simulator = s.provider.simulator
	metrics := api.NewMetrics()
	if s.Simulator != nil {
		metrics.Register(payments.NewCollector(s.Simulator))
	}
	limiter, err := s.service(metrics)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	catalog, err := s.Shop.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	site, err := newSite(c, func() *api.API { return s.calls })
	if err != nil {
		return nil, err
	}
	guestKey, err := s.Shop.Secret(ctx, "guests")
	if err != nil {
		return nil, err
	}
	s.calls, err = api.New(api.Options{
		Service: s.Service, Shop: s.Shop, Catalog: catalog, Webhook: s.provider.webhook,
		BaseURL: s.URL, Metrics: metrics, Logger: c.Logger, Now: c.Now, Limiter: limiter,
		ClientAddress: clientAddress(c), InsecureCookies: c.InsecureCookies, Suggestions: api.Suggestions{Best: c.SuggestBest, Nearly: c.SuggestNearly, Offers: s.offers}, Guests: c.Guests, GuestKey: guestKey, Location: c.Location,
		ErrorPage: site.Error,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	s.calls.Register(mux)
	if s.Simulator != nil {
		pages, err := payments.NewPages(s.Simulator)
		if err != nil {
			return nil, err
		}
		pages.Register(mux)
	}
	site.Register(mux)
	return s.calls.Wrap(mux), nil
}

// service makes the service. It returns the limiter of attempts.
func (s *Server) service(metrics *api.Metrics) (ratelimit.Limiter, error) {
	c := s.config
	limiter, guarding, err := guard(c, s.storage.coupons)
	if err != nil {
		return nil, err
	}
	s.offers = couponkit.NewOffers(s.storage.coupons, offers.Limits{})
	options := append(s.options(metrics), couponkit.WithProcessor(s.provider.processor))
	s.Service, err = couponkit.New(s.storage.coupons, append(options, guarding...)...)
	return limiter, err
}

// options returns the options of the service, apart from its guard and its processor.
func (s *Server) options(metrics *api.Metrics) []couponkit.Option {
	c := s.config
	options := []couponkit.Option{
		couponkit.WithUsers(s.Shop), couponkit.WithPoints(s.Shop), couponkit.WithLogger(c.Logger), couponkit.WithClock(c.Now),
		couponkit.WithLocation(c.Location), couponkit.WithAutomatic(s.offers),
		couponkit.WithObserver(couponkit.ObserverFunc(func(ctx context.Context, a couponkit.Attempt) {
			metrics.Observe(ctx, a)
			if a.Flag != couponkit.FlagNone { // called for every payment: by an event, a sweep or a checkout
				c.Logger.WarnContext(ctx, "a payment was recorded that somebody should look at",
					slog.String("flag", string(a.Flag)), slog.String("order", a.OrderID), slog.String("session", a.SessionID))
			}
		})),
	}
	if c.Guests {
		options = append(options, couponkit.WithGuests())
	}
	return options
}

// prepare seeds an empty store. It restores the mirrors of a simulated processor, which were lost at
// the last stop.
func (s *Server) prepare(ctx context.Context) error {
	if s.Simulator != nil {
		if _, err := s.Service.Reconcile(ctx, couponkit.ReconcileOptions{}); err != nil {
			return fmt.Errorf("bring the mirrors back: %w", err)
		}
	}
	if !s.config.Seed {
		return nil
	}
	return s.seed(ctx)
}

// run serves requests and runs the background work.
func (s *Server) run(local string) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	})
	s.running.Go(func() { s.provider.deliver(ctx, s.config, local+"/payment/webhook") })
	s.running.Go(func() { s.every(ctx, s.config.Sweep, s.sweep) })
	s.running.Go(func() { s.every(ctx, s.config.Reconcile, s.reconcile) })
	s.running.Go(func() {
		s.follow(ctx)
		s.every(ctx, s.config.Follow, s.follow)
	})
}

// every runs work at each interval until the context ends.
func (s *Server) every(ctx context.Context, interval time.Duration, work func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			work(ctx)
		}
	}
}

func (s *Server) sweep(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, s.config.SweepTime)
	defer cancel()
	report, err := s.Service.Sweep(bounded, 0)
	if err != nil && ctx.Err() == nil {
		s.config.Logger.ErrorContext(ctx, "a sweep has left work", slog.Any("error", err))
	}
	if !report.IsZero() {
		s.config.Logger.InfoContext(ctx, "swept", slog.Any("report", report))
	}
}

// follow brings the index of coupons up to date. After a failure, the index stays as it is until the next try.
func (s *Server) follow(ctx context.Context) {
	if _, err := s.offers.Update(ctx); err != nil && ctx.Err() == nil {
		s.config.Logger.WarnContext(ctx, "the index of coupons is not up to date", slog.Any("error", err))
	}
}

func (s *Server) reconcile(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, s.config.ReconcileTime)
	defer cancel()
	drifts, err := s.Service.Reconcile(bounded, couponkit.ReconcileOptions{})
	if err != nil && ctx.Err() == nil {
		s.config.Logger.ErrorContext(ctx, "a reconcile has left work", slog.Any("error", err))
	}
	for _, d := range drifts {
		s.config.Logger.InfoContext(ctx, "a mirror differed",
			slog.String("coupon", d.CouponID), slog.String("kind", string(d.Kind)), slog.Bool("repaired", d.Repaired))
	}
}

// Failed tells when the service has stopped serving by itself.
func (s *Server) Failed() <-chan error { return s.failed }

// Close ends the service: it says that it is not ready any more, and waits as long as it was
// told to for those who send it requests to hear of it. Then requests that are under way are
// finished as long as the context lives, then the background work, then the store. Requests
// that take longer, as those of clients do that send or read nothing, are cut off and no
// failure.
func (s *Server) Close(ctx context.Context) error {
	if s.calls.Drain() {
		select {
		case <-ctx.Done():
		case <-time.After(s.config.Drain):
		}
	}
	err := s.http.Shutdown(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		s.config.Logger.WarnContext(ctx, "requests were cut off that were still under way")
		err = nil
	}
	err = errors.Join(err, s.http.Close()) // does nothing after a shutdown
	s.stop()
	s.running.Wait()
	return errors.Join(err, s.release())
}

// release closes the listener and the storage.
func (s *Server) release() error {
	if s.listener != nil {
		_ = s.listener.Close() // already closed after a shutdown
	}
	if s.storage == nil {
		return nil
	}
	return s.storage.Close()
}

// clientAddress returns the address of the client of a request. Without -behind-proxy, the first
// request with the header of a proxy is logged.
func clientAddress(c Config) func(*http.Request) string {
	if !c.BehindProxy {
		var warning sync.Once
		return func(r *http.Request) string {
			if len(r.Header.Values("X-Forwarded-For")) > 0 {
				warning.Do(func() {
					c.Logger.WarnContext(r.Context(), "a request has X-Forwarded-For, which counts with -behind-proxy only: if a proxy has written it, "+
						"all who come by it are one address and share its limits")
				})
			}
			return r.RemoteAddr
		}
	}
	return func(r *http.Request) string {
		entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(entries[len(entries)-1]); last != "" {
			return last
		}
		return r.RemoteAddr
	}
}
