package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
)

// Options configure an [API]. Service, Shop, Catalog and Webhook are required, and
// GuestKey with Guests.
type Options struct {
	// Service decides about coupons.
	Service *couponkit.Service
	// Shop knows users, sessions and points.
	Shop *shop.DB
	// Catalog has the prices.
	Catalog shop.Catalog
	// Webhook makes the endpoint that authenticates the processor's deliveries.
	Webhook func(handle func(context.Context, processor.Event) error) http.Handler
	// BaseURL is where customers reach the service, without a slash at the end. If that is
	// by https, browsers are told to stay with it, and keep sessions from other hosts.
	BaseURL string
	// Metrics counts requests; nil makes its own.
	Metrics *Metrics
	// Logger hears of failures; nil discards.
	Logger *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Limiter counts failed attempts, with the limits of Limits.Named. The Service has the same limiter. nil counts in
	// memory, with the usual limits.
	Limiter ratelimit.Limiter
	// ClientAddress tells who asks; nil is the address of the connection.
	ClientAddress func(*http.Request) string
	// ErrorPage answers a browser with a page where a program gets a problem document: with
	// this status, what happened, and perhaps more of it; nil is a document for all.
	ErrorPage func(w http.ResponseWriter, r *http.Request, status int, title, text string)
	// BatchTime is the time for which one request works on a batch of codes. 0 means DefaultBatchTime.
	BatchTime time.Duration
	// InsecureCookies lets browsers send the session over plain HTTP.
	InsecureCookies bool
	// Suggestions tell customers about coupons for their cart. By default, they do not.
	Suggestions Suggestions
	// Guests lets customers buy a cart without signing in. The Service then has the option
	// couponkit.WithGuests.
	Guests bool
	// GuestKey signs the cookies of guests.
	GuestKey []byte
	// Location is the time zone of the shop, in which dates begin and end; nil is UTC.
	Location *time.Location
}

// API serves the HTTP interface. Make it with [New]; it is safe for concurrent use.
type API struct {
	Options
	origins *http.CrossOriginProtection
	ending  atomic.Bool
	uploads chan struct{} // has an entry for each upload
	replays chan struct{} // has an entry while a replay runs
}

// New returns the interface. An origin in BaseURL that cannot be read is an error.
func New(o Options) (*API, error) {
	if o.Service == nil || o.Shop == nil || o.Webhook == nil {
		return nil, errors.New("api: Service, Shop and Webhook are required")
	}
	if o.Guests && len(o.GuestKey) == 0 {
		return nil, errors.New("api: guests need a key for their cookies")
	}
	o.Location = cmp.Or(o.Location, time.UTC)
	o.BatchTime = cmp.Or(o.BatchTime, DefaultBatchTime)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limiter == nil {
		limiter, err := ratelimit.NewMemory(Limits{}.Named(), ratelimit.MemoryOptions{Now: o.Now})
		if err != nil {
			return nil, err
		}
		o.Limiter = limiter
	}
	if o.ClientAddress == nil {
		o.ClientAddress = connectionAddress
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	a := &API{Options: o, origins: http.NewCrossOriginProtection(), uploads: make(chan struct{}, maxUploads), replays: make(chan struct{}, 1)}
	a.origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, problem{Status: http.StatusForbidden, Code: "cross_origin", Title: "This request comes from another site."})
	}))
	a.origins.AddInsecureBypassPattern(webhookPattern) // webhooks are signed and use no session
	if o.BaseURL != "" {
		if err := a.origins.AddTrustedOrigin(o.BaseURL); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// access says who may send a call.
type access uint8

const (
	anyone access = iota
	buyer         // a signed-in customer, or anyone if the shop has guests
	signedIn
	administrator
)

// Maximum sizes of request bodies, in bytes.
const (
	smallBody = 64 << 10
	// couponBody allows an allow-list of a hundred thousand addresses, or the codes of a batch.
	couponBody = 8 << 20
)

// call is one row of the table of calls.
type call struct {
	pattern string
	access  access
	maxBody int64
	handle  func(*API, http.ResponseWriter, *http.Request) error
}

// calls is the table of all calls of the HTTP interface.
var calls = []call{
	{"GET /session", anyone, 0, (*API).session},
	{"POST /login", anyone, smallBody, (*API).login},
	{"POST /logout", signedIn, 0, (*API).logout},
	{"GET /catalog", anyone, 0, (*API).catalog},

	{"GET /admin/coupon/all", administrator, 0, (*API).listCoupons},
	{"POST /admin/coupon", administrator, couponBody, (*API).createCoupon},
	{"POST /admin/coupon/preview", administrator, couponBody, (*API).preview},
	{"POST /admin/coupon/generate-code", administrator, 0, (*API).generateCode},
	{"GET /admin/coupon/{id}", administrator, 0, (*API).getCoupon},
	{"PATCH /admin/coupon/{id}", administrator, couponBody, (*API).updateCoupon},
	{"PATCH /admin/coupon/{id}/status", administrator, smallBody, (*API).setStatus},
	{"DELETE /admin/coupon/{id}", administrator, 0, (*API).deleteCoupon},
	{"GET /admin/coupon/{id}/redemptions", administrator, 0, (*API).redemptions},
	{"GET /admin/coupon/{id}/usage", administrator, 0, (*API).usage},
	{"GET /admin/coupon/{id}/replay", administrator, 0, (*API).replay},
	{"GET /admin/coupon/{id}/history", administrator, 0, (*API).history},
	{"GET /admin/coupon/{id}/codes", administrator, 0, (*API).codes},
	{"POST /admin/coupon/{id}/codes", administrator, couponBody, (*API).addCodes},
	{"GET /admin/coupon/{id}/codes.csv", administrator, 0, (*API).downloadCodes},
	{"GET /admin/coupon/{id}/codes/{code}", administrator, 0, (*API).getCode},
	{"PATCH /admin/coupon/{id}/codes/{code}", administrator, smallBody, (*API).updateCode},
	{"GET /admin/coupon/{id}/batches", administrator, 0, (*API).batches},
	{"POST /admin/coupon/{id}/batches", administrator, smallBody, (*API).createBatch},
	{"PATCH /admin/coupon/{id}/batches/{batch}", administrator, smallBody, (*API).switchBatch},
	{"DELETE /admin/coupon/{id}/batches/{batch}/unused", administrator, 0, (*API).removeUnused},
	{"POST /admin/coupon/{id}/batches/{batch}/assign", administrator, couponBody, (*API).assignCodes},
	{"POST /admin/coupon/{id}/batches/{batch}/assign.csv", administrator, uploadBody, (*API).assignFile},
	{"POST /admin/coupon/{id}/batches/{batch}/codes.csv", administrator, uploadBody, (*API).importCodes},
	{"GET /admin/order/all", administrator, 0, (*API).listOrders},
	{"GET /admin/order/{id}", administrator, 0, (*API).soldOrder},
	{"POST /admin/order/{id}/refund", administrator, smallBody, (*API).makeRefund},
	{"POST /admin/order/{id}/refund/preview", administrator, smallBody, (*API).showRefund},
	{"GET /admin/catalog/search", administrator, 0, (*API).searchCatalog},

	{"GET /payment/apply-coupon/{codeOrId}", buyer, 0, (*API).applyCoupon},
	{"POST /payment/quote", anyone, smallBody, (*API).quote},
	{"POST /payment/offers", anyone, smallBody, (*API).offers},
	{"POST /payment/cart-checkout", buyer, smallBody, (*API).cartCheckout},
	{"POST /payment/payment-link", signedIn, smallBody, (*API).paymentLink},
	{"POST /payment/cancel", signedIn, smallBody, (*API).cancelOrder},
	{"GET /payment/return", anyone, 0, (*API).comeBack},
	{"GET /order/{id}", buyer, 0, (*API).order},

	{"GET /points", signedIn, 0, (*API).points},
	{"POST /points/redeem/{couponId}", signedIn, 0, (*API).redeemPoints},
	{"DELETE /points/reservation/{id}", signedIn, 0, (*API).cancelReservation},
}

// Register adds every call to a mux, the webhook and the pages for operators
// included.
func (a *API) Register(mux *http.ServeMux) {
	for _, c := range calls {
		mux.HandleFunc(c.pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(c, w, r) })
	}
	for pattern, handler := range a.operations() {
		mux.Handle(pattern, handler)
	}
	mux.HandleFunc("GET /docs/docs.css", serveDocsStyle)
	// Without a code, answer with a fault of the code. The answer would otherwise be "unknown page".
	for _, pattern := range []string{"GET /payment/apply-coupon", "GET /payment/apply-coupon/{$}"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			a.serve(call{access: buyer, handle: (*API).applyCoupon}, w, r)
		})
	}
}

// serve checks access and size of one request, and answers it.
func (a *API) serve(c call, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	r, err := a.admit(c, r)
	if err == nil {
		r = a.guesser(r)
		r.Body = http.MaxBytesReader(w, r.Body, c.maxBody)
		err = c.handle(a, w, r)
	}
	if err != nil {
		a.fail(w, r, err)
	}
}

// customerOf returns the signed-in user. Only calls that require a session may use it.
func customerOf(r *http.Request) shop.User {
	s, _ := sessionFrom(r.Context())
	return s.User
}

type status struct {
	Status string `json:"status"`
}

// Drain tells who asks from now on whether the service is ready that it is not, because it
// is about to end. Everything else is answered as before. It reports whether that is news.
func (a *API) Drain() bool { return a.ending.CompareAndSwap(false, true) }

func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	if a.ending.Load() {
		a.problem(w, r, unavailable("unavailable", "The service is about to end."))
		return
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	_, err := a.Service.Order(ctx, couponkit.OrderRequest{OrderID: "ready", AnyCustomer: true}) // a cheap look-up of an order that does not exist
	if errors.Is(err, store.ErrNotFound) {
		err = a.Shop.Ping(ctx)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, status{"ready"})
}

func (a *API) currency() pricing.Currency { return a.Catalog.Currency }

const webhookPattern = "POST /payment/webhook"

// operations returns the endpoints outside the table of calls. The webhook checks a signature. The
// other endpoints are for operators and readers.
func (a *API) operations() map[string]http.Handler {
	return map[string]http.Handler{
		webhookPattern:      a.withProblems(a.Webhook(a.Service.Webhook(nil))),
		"GET /healthz":      http.HandlerFunc(alive),
		"GET /readyz":       http.HandlerFunc(a.ready),
		"GET /metrics":      a.Metrics.handler(),
		"GET /openapi.json": http.HandlerFunc(serveOpenAPI),
		"GET /docs":         http.HandlerFunc(serveDocs),
	}
}

// Patterns returns method and path of every call, for comparison with the OpenAPI
// document.
func Patterns() []string {
	var patterns []string
	for _, c := range calls {
		patterns = append(patterns, c.pattern)
	}
	empty := &API{Options: Options{
		Metrics: NewMetrics(),
		Webhook: func(func(context.Context, processor.Event) error) http.Handler { return http.NotFoundHandler() },
	}}
	for pattern := range empty.operations() {
		patterns = append(patterns, pattern)
	}
	return patterns
}

func alive(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, status{"ok"}) }
