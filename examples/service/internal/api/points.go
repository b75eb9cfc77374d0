package api

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

type pointsView struct {
	Balance      int64             `json:"balance"`
	Reservations []reservationView `json:"reservations"`
}

type reservationView struct {
	ID         string           `json:"id"`
	CouponID   string           `json:"couponId"`
	CouponCode string           `json:"couponCode,omitempty"`
	CouponName string           `json:"couponName,omitempty"`
	State      redemption.State `json:"state"`
	Points     int64            `json:"points"`
	OrderID    string           `json:"orderId,omitempty"`
	CreatedAt  time.Time        `json:"createdAt"`
}

// reservation returns a view of a reservation, with its code and the coupon's name. The name is missing
// if the coupon was deleted.
func (a *API) reservation(r *http.Request, held redemption.Use) reservationView {
	view := reservationView{
		ID: held.ExchangeID, CouponID: held.CouponID, State: held.State, Points: held.Points,
		OrderID: held.OrderID, CreatedAt: held.CreatedAt,
	}
	if c, err := a.Service.Get(r.Context(), held.CouponID); err == nil {
		view.CouponCode, view.CouponName = held.Code.String(), c.Name
	}
	return view
}

func (a *API) points(w http.ResponseWriter, r *http.Request) error {
	user := customerOf(r)
	balance, err := a.Shop.Balance(r.Context(), user.ID)
	if err != nil {
		return err
	}
	held, err := a.Service.Exchanges(r.Context(), user.ID)
	if errors.Is(err, store.ErrUnreadable) { // show the reservations that can be read
		a.Logger.ErrorContext(r.Context(), "a reservation cannot be read", slog.Any("error", err))
	} else if err != nil {
		return err
	}
	view := pointsView{Balance: balance, Reservations: make([]reservationView, len(held))}
	for i, h := range held {
		view.Reservations[i] = a.reservation(r, h)
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

func (a *API) redeemPoints(w http.ResponseWriter, r *http.Request) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	code := r.PathValue("couponId")
	held, err := a.Service.ExchangePoints(r.Context(), couponkit.ExchangeRequest{Key: key, Coupon: code, Customer: customer(r)})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, a.reservation(r, held))
	return nil
}

func (a *API) cancelReservation(w http.ResponseWriter, r *http.Request) error {
	if err := a.Service.CancelExchange(r.Context(), customerOf(r).ID, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
