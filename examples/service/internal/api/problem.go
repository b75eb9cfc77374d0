package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// problem is a problem document of RFC 9457, with the members of contract section 8.
type problem struct {
	// Status is the HTTP status.
	Status int `json:"status"`
	// Code is stable and for programs. Title is the same in words. Detail is about this request.
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Params has the facts behind a refusal.
	Params *json.RawMessage `json:"params,omitempty"`
	// Rejections has all reasons of a refusal. Title belongs to the first reason.
	Rejections []coupon.Reason `json:"rejections,omitempty"`
	// Coupons has the refused coupons if there are several, each with its reasons.
	Coupons []refusedCoupon `json:"coupons,omitempty"`
	// CouponID is the coupon that already has the code.
	CouponID string `json:"couponId,omitempty"`
	// Errors has the invalid fields.
	Errors []validation.Field `json:"errors,omitempty"`

	retryAfter time.Duration
	retryAt    time.Time // another form of retryAfter
}

// refusedCoupon is a refused coupon with its reasons.
type refusedCoupon struct {
	Code       string          `json:"code"`
	CouponID   string          `json:"couponId,omitempty"`
	Rejections []coupon.Reason `json:"rejections"`
}

// Error implements error, so that handlers can return a problem.
func (p problem) Error() string { return p.Code + ": " + p.Title }

// retryUnavailable is the value of Retry-After when a service is unavailable.
const retryUnavailable = 5 * time.Second

// challenge is the WWW-Authenticate header that RFC 9110 requires with a 401. No scheme is registered
// for sessions in cookies. A scheme that browsers know would make them open their own dialog.
const challenge = `Session realm="couponkit"`

// statusHungUp is nginx's status for a client that closed the connection. Nobody receives it.
const statusHungUp = 499

// fail answers with the problem for an error. An error after the client has closed the connection is
// not logged as a failure.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if !p.retryAt.IsZero() {
		p.retryAfter = max(p.retryAt.Sub(a.Now()), time.Second)
	}
	if p.Status >= http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled) {
		p = problem{Status: statusHungUp, Code: "client_hung_up", Title: "The client did not wait for the answer."}
	}
	if p.Status >= http.StatusInternalServerError {
		a.Logger.ErrorContext(r.Context(), "a request failed", slog.String("route", r.Pattern), slog.Any("error", err))
	}
	a.problem(w, r, p)
}

// announce sets the headers of a problem.
func (p problem) announce(h http.Header) {
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge)
	}
	h.Set("Cache-Control", "no-store")
}

func writeProblem(w http.ResponseWriter, p problem) {
	if p.Detail == "" {
		p.Detail = p.Title
	}
	p.announce(w.Header())
	writeAs(w, "application/problem+json", p.Status, p)
}

// problemOf converts an error to a problem. Refusals and invalid input are client errors. Every other
// error is a failure of a dependency.
func problemOf(err error) problem {
	var (
		own     problem
		taken   *coupon.TakenError
		refused = coupon.RejectionsOf(err)
		invalid *validation.Error
		large   *http.MaxBytesError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &large):
		return problem{
			Status: http.StatusRequestEntityTooLarge, Code: "too_large", Title: "The request is too large.",
			Detail: "At most " + strconv.FormatInt(large.Limit, 10) + " bytes are read.",
		}
	case errors.Is(err, couponkit.ErrTooManyAttempts):
		return tooMany(err)
	case errors.Is(err, couponkit.ErrUnavailable):
		return unavailable("processor_unavailable", "The payment processor does not answer at the moment.")
	case errors.As(err, &taken):
		return takenCodes(taken)
	case refused != nil:
		return refusal(refused, err)
	case errors.As(err, &invalid):
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "invalid_input", Title: "The input is invalid.",
			Detail: invalid.Error(), Errors: invalid.Fields,
		}
	}
	if p, known := conflictOf(err); known {
		return p
	}
	if errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrForbidden) {
		return problem{Status: http.StatusBadGateway, Code: "processor_refused", Title: "The payment processor refused the request."}
	}
	return unavailable("unavailable", "The service is not available at the moment.")
}

// Problem returns the status of the answer to an error, what happened, and the faults of fields.
func Problem(err error) (status int, text string, faults []validation.Field) {
	p := problemOf(err)
	if p.Detail == "" || len(p.Errors) > 0 {
		p.Detail = p.Title
	}
	return p.Status, p.Detail, p.Errors
}

// takenCodes returns the problem for a batch of codes that other coupons already have. It names each
// code.
func takenCodes(taken *coupon.TakenError) problem {
	title := coupon.Reason{Code: coupon.CodeTaken}.Message()
	var faults validation.Error
	for _, t := range taken.Taken {
		faults.Add(fmt.Sprintf("codes[%d].code", t.Index), validation.Taken, title)
	}
	p := problem{Status: http.StatusConflict, Code: coupon.CodeTaken.String(), Title: title, Detail: taken.Error(), Errors: faults.Fields}
	if len(taken.Taken) == 1 {
		p.CouponID = taken.Taken[0].CouponID
	}
	return p
}

func conflictOf(err error) (problem, bool) {
	for _, known := range [...]struct {
		is     error
		status int
		code   string
		title  string
	}{
		{store.ErrStaleRevision, http.StatusConflict, "stale_revision", "The coupon was changed by somebody else since it was read."},
		{store.ErrKeyReused, http.StatusUnprocessableEntity, "idempotency_key_reused", "The Idempotency-Key was used for another request."},
		{store.ErrNoCodesLeft, http.StatusConflict, "no_codes_left", "The batch has fewer free codes than customers who need one. No code of this request was assigned."},
		{couponkit.ErrOrderEnded, http.StatusConflict, "order_ended", "The order has ended; start again with a new Idempotency-Key."},
		{couponkit.ErrOrderPaid, http.StatusConflict, "order_paid", "The order is paid, or its payment is on its way."},
		{couponkit.ErrPaymentOpen, http.StatusConflict, "payment_open", "The payment of an earlier order may still be paid; try again in a minute."},
		{couponkit.ErrReservationClosed, http.StatusConflict, "reservation_closed", "The reservation was given up; exchange points again."},
		{redemption.ErrIllegal, http.StatusConflict, "conflict", "That is not possible any more."},
		{store.ErrConflict, http.StatusConflict, "conflict", "The record was changed at the same time; try again."},
		{store.ErrUnreadable, http.StatusInternalServerError, "unreadable", "A stored record cannot be read."},
		{store.ErrNotFound, http.StatusNotFound, "not_found", "There is no such thing."},
		{shop.ErrNotFound, http.StatusNotFound, "not_found", "There is no such thing."},
	} {
		if errors.Is(err, known.is) {
			return problem{Status: known.status, Code: known.code, Title: known.title}, true
		}
	}
	return problem{}, false
}

func unavailable(code, title string) problem {
	return problem{Status: http.StatusServiceUnavailable, Code: code, Title: title, retryAfter: retryUnavailable}
}

// refusal returns the problem for refused coupons. Its title belongs to the first reason.
func refusal(refused coupon.Rejections, err error) problem {
	var all coupon.Rejection
	var coupons []refusedCoupon
	for _, r := range refused {
		all.Reasons = append(all.Reasons, r.Reasons...)
		if r.Code != "" {
			coupons = append(coupons, refusedCoupon{r.Code, r.CouponID, r.Reasons})
		}
	}
	slices.SortStableFunc(all.Reasons, coupon.CompareReasons)
	headline := all.Headline()
	p := problem{
		Status: http.StatusUnprocessableEntity, Code: headline.Code.String(), Coupons: coupons,
		Title: headline.Message(), Detail: detail(headline), Rejections: all.Reasons, Params: paramsOf(headline),
	}
	switch headline.Code { //nolint:exhaustive // the others are 422
	case coupon.CouponNotFound:
		p.Status = http.StatusNotFound
	case coupon.CodeTaken:
		p.Status, p.CouponID = http.StatusConflict, refused[0].CouponID
		p.Errors = []validation.Field{{Path: "code", Code: validation.Taken, Message: headline.Message()}}
	case coupon.UserRequired:
		p.Status = http.StatusUnauthorized
	}
	if errors.Is(err, couponkit.ErrInsufficientPoints) {
		p.Detail = "You do not have enough points for this coupon."
	}
	return p
}

// paramsOf returns the parameters of a reason in the JSON form of the library.
func paramsOf(r coupon.Reason) *json.RawMessage {
	text, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	var parts struct {
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(text, &parts) != nil {
		return nil
	}
	return &parts.Params
}

// moment formats an instant for people. HTML pages format the parameters again, in the customer's time
// zone.
func moment(at time.Time) string { return at.UTC().Format("Monday, 2 January 2006, 15:04 UTC") }

// detail returns a reason as a sentence with its facts.
func detail(r coupon.Reason) string {
	p := r.Params
	switch r.Code { //nolint:exhaustive // the others have no facts
	case coupon.CouponNotStarted:
		return "This coupon is valid from " + moment(p.StartsAt) + " on."
	case coupon.CouponExpired:
		return "This coupon has expired on " + moment(p.ExpiresAt) + "."
	case coupon.OutsideSchedule:
		if !p.OpensAt.IsZero() {
			return "This coupon is valid again from " + moment(p.OpensAt) + " on."
		}
	case coupon.PeriodLimitReached:
		return "This coupon has been used as often as it allows until " + moment(p.EndsAt) + "."
	case coupon.MinimumQuantityNotMet:
		return "This coupon needs " + strconv.FormatInt(p.MinQuantity, 10) + " units; " + strconv.FormatInt(p.MissingQuantity, 10) + " are missing."
	case coupon.MinimumPurchaseNotMet:
		return "This coupon needs a purchase of " + p.MinPurchase.String() + "; " + p.Missing.String() + " are missing."
	case coupon.MaximumPurchaseExceeded:
		return "This coupon is for purchases of at most " + p.MaxPurchase.String() + "; " + p.Excess.String() + " are too much."
	case coupon.MaximumQuantityExceeded:
		return "This coupon is for at most " + strconv.FormatInt(p.MaxQuantity, 10) + " units; " + strconv.FormatInt(p.ExcessQuantity, 10) + " are too many."
	case coupon.RequiredItemsMissing:
		if !p.Missing.IsZero() {
			return "This coupon needs certain items for " + p.MinPurchase.String() + " in the cart; " + p.Missing.String() + " are missing."
		}
		return "This coupon needs " + strconv.FormatInt(p.Contains.Quantity, 10) + " units of certain items in the cart; " + strconv.FormatInt(p.MissingQuantity, 10) + " are missing."
	case coupon.ExcludedItemsContained:
		return "This coupon cannot be used with " + strconv.FormatInt(p.ExcludedQuantity, 10) + " of the units in the cart."
	case coupon.PointsNotRedeemed:
		return "Exchange " + strconv.FormatInt(p.PointsRequired, 10) + " points for this coupon first."
	case coupon.CurrencyMismatch:
		return "This coupon is for " + p.CouponCurrency.Code() + ", the cart is in " + p.CartCurrency.Code() + "."
	case coupon.CartTotalsInvalid:
		return "The " + p.Field + " is " + p.Computed.String() + " and not " + p.Submitted.String() + "."
	case coupon.NotCombinable:
		return "This coupon cannot be combined with " + strings.Join(p.ExcludedBy, ", ") + "."
	case coupon.BelowMinimumCharge:
		if p.Minimum.IsZero() {
			return "The total of " + p.Total.String() + " is below the least amount that can be charged."
		}
		return "The total of " + p.Total.String() + " is below the least amount that can be charged, " + p.Minimum.String() + "."
	}
	return r.Message()
}

func writeJSON(w http.ResponseWriter, status int, v any) { writeAs(w, "application/json", status, v) }

func writeAs(w http.ResponseWriter, contentType string, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		body = []byte(`{"status":500,"code":"internal","title":"The answer could not be written.","detail":"The answer could not be written."}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // ignore a client that closed the connection
}
