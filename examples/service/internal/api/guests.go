package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// GuestCookie is the name of the cookie that lets a browser see the orders that a guest has placed in
// it. As that of [SessionCookie], the name begins with "__Host-" where customers come by https.
//
// The cookie lists these orders and is signed with a key of the service. An address alone shows no
// order: nobody has verified that it is the guest's.
const GuestCookie = "couponkit_guest"

// placedOrder is an order that a guest placed in this browser.
type placedOrder struct{ GuestID, OrderID, Key string }

// maxGuestCookie is the maximum size of the cookie, in bytes. Browsers keep at most 4,096 bytes.
const maxGuestCookie = 3_500

// buyerOf returns the buyer: the signed-in user, or a guest with the given address. An invalid address
// is a fault of the field email.
func (a *API) buyerOf(r *http.Request, typed string, faults *validation.Error) eligibility.Customer {
	if typed == "" {
		return customer(r)
	}
	_, signedIn := sessionFrom(r.Context())
	switch {
	case signedIn:
		faults.Add("email", validation.NotAllowed, "only guests give an address; you are signed in")
		return customer(r)
	case !a.Guests:
		faults.Add("email", validation.NotAllowed, "this shop has no guests; sign in first")
		return customer(r)
	}
	address, err := email.Parse(typed)
	faults.At("email", err)
	return eligibility.Customer{Email: address}
}

// payerOf is buyerOf for a checkout. A guest must give an address there.
func (a *API) payerOf(r *http.Request, email string, faults *validation.Error) eligibility.Customer {
	if _, signedIn := sessionFrom(r.Context()); a.Guests && !signedIn && email == "" {
		faults.Add("email", validation.Required, "an e-mail address is required")
	}
	return a.buyerOf(r, email, faults)
}

// readerID returns the ID of the customer whose order is requested. This is the signed-in user, or the
// guest who placed such an order in this browser. The ID is empty if there is neither.
func (a *API) readerID(r *http.Request, asked func(placedOrder) bool) string {
	if s, signedIn := sessionFrom(r.Context()); signedIn || !a.Guests {
		return s.User.ID
	}
	placed := a.placed(r)
	if i := slices.IndexFunc(placed, asked); i >= 0 {
		return placed[i].GuestID
	}
	return ""
}

// placed returns the orders in the guest cookie, newest first. It accepts only cookies that this
// service has signed.
func (a *API) placed(r *http.Request) (orders []placedOrder) {
	for _, c := range r.CookiesNamed(a.cookieName(GuestCookie)) {
		content, given, _ := strings.Cut(c.Value, ".")
		if !hmac.Equal([]byte(given), []byte(a.signature(content))) {
			continue
		}
		text, err := base64.RawURLEncoding.DecodeString(content)
		if err == nil && json.Unmarshal(text, &orders) == nil {
			return orders
		}
	}
	return nil
}

func (a *API) signature(content string) string {
	mac := hmac.New(sha256.New, a.GuestKey)
	mac.Write([]byte(content))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// remember adds the order to the guest's cookie. The guest can then see the order until the browser is
// closed. If the cookie is full, its oldest orders are dropped.
func (a *API) remember(w http.ResponseWriter, r *http.Request, c eligibility.Customer, o redemption.Order) error {
	if c.ID != "" {
		return nil
	}
	guest, err := couponkit.GuestID(c.Email)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(a.placed(r), func(p placedOrder) bool { return p.OrderID == o.ID })
	orders := append([]placedOrder{{guest, o.ID, o.Key}}, others...)
	var content string
	for {
		text, err := json.Marshal(orders)
		if err != nil {
			return err
		}
		if content = base64.RawURLEncoding.EncodeToString(text); len(content) <= maxGuestCookie || len(orders) == 1 {
			break
		}
		orders = orders[:len(orders)-1]
	}
	a.cookie(w, GuestCookie, content+"."+a.signature(content), 0)
	return nil
}
