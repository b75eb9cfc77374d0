package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
)

// SessionCookie is the name of the cookie that holds a sign-in, behind "__Host-" where
// customers reach the service by https, unless sessions may go over plain HTTP. Browsers
// take a cookie of that prefix from this host alone, and not from a site beside it.
const SessionCookie = "couponkit_session"

// cookieName returns the name that a cookie has in this deployment.
func (a *API) cookieName(name string) string {
	if a.byHTTPS() && !a.InsecureCookies {
		return "__Host-" + name
	}
	return name
}

// byHTTPS reports whether customers use the service over https.
func (a *API) byHTTPS() bool {
	scheme, _, _ := strings.Cut(a.BaseURL, "://")
	return strings.EqualFold(scheme, "https")
}

// maxSecrets is the maximum number of sessions that a request can try. Each needs a look-up.
const maxSecrets = 8

// secrets returns the session secrets in the cookies of a request. There may be several: a browser also
// sends cookies that another host of the same site has set, and may send them first.
func (a *API) secrets(r *http.Request) []string {
	var secrets []string
	for _, c := range r.CookiesNamed(a.cookieName(SessionCookie)) {
		if len(secrets) < maxSecrets && !slices.Contains(secrets, c.Value) {
			secrets = append(secrets, c.Value)
		}
	}
	return secrets
}

// signOut ends every session of a request.
func (a *API) signOut(r *http.Request) error {
	for _, secret := range a.secrets(r) {
		if err := a.Shop.SignOut(r.Context(), secret); err != nil {
			return err
		}
	}
	return nil
}

// CSRFHeader is the header that a request with a session has to repeat the
// session's token in, if it changes something.
const CSRFHeader = "X-CSRF-Token"

type sessionKey struct{}

// sessionFrom returns the session that admit stored in the context.
func sessionFrom(ctx context.Context) (shop.Session, bool) {
	s, ok := ctx.Value(sessionKey{}).(shop.Session)
	return s, ok
}

// Session returns the session of a request; ok is false when nobody is signed in.
func (a *API) Session(r *http.Request) (s shop.Session, ok bool, err error) {
	for _, secret := range a.secrets(r) {
		s, err = a.Shop.Session(r.Context(), secret)
		if !errors.Is(err, shop.ErrNotFound) {
			return s, err == nil, err
		}
	}
	return shop.Session{}, false, nil
}

// admit decides whether a request may be served. It stores the session in the request's context.
func (a *API) admit(c call, r *http.Request) (*http.Request, error) {
	session, known, err := a.Session(r)
	if err != nil {
		return r, err
	}
	if known {
		r = r.WithContext(shop.Known(context.WithValue(r.Context(), sessionKey{}, session), session.User))
	}
	if c.access == buyer && a.Guests && !known {
		return r, nil // a request without a session cannot be forged by another site
	}
	if c.access > anyone && !known {
		return r, problem{Status: http.StatusUnauthorized, Code: "user_required", Title: "Sign in first."}
	}
	if c.access == administrator && session.User.Role != shop.Administrator {
		return r, problem{Status: http.StatusForbidden, Code: "administrator_required", Title: "Only administrators may do this."}
	}
	if c.access == administrator {
		r = r.WithContext(couponkit.WithActor(r.Context(), session.User.ID)) // the actor in the journal
	}
	if c.access > anyone && changes(r.Method) && !sameToken(r.Header.Get(CSRFHeader), session.CSRFToken) {
		return r, problem{Status: http.StatusForbidden, Code: "csrf_token_invalid", Title: "The header " + CSRFHeader + " is missing or wrong."}
	}
	return r, nil
}

func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

func sameToken(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

// setCookie sets the session cookie, or removes it if the token is empty.
func (a *API) setCookie(w http.ResponseWriter, token string) {
	age := 0 // until the browser is closed
	if token == "" {
		age = -1
	}
	a.cookie(w, SessionCookie, token, age)
}

// cookie sets a cookie that scripts cannot read. With an age of 0 the cookie lasts until the browser is
// closed.
func (a *API) cookie(w http.ResponseWriter, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure unless the operator has asked for plain HTTP
		Name: a.cookieName(name), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: !a.InsecureCookies, SameSite: http.SameSiteLaxMode,
	})
}

// connectionAddress returns the address at the other end of the connection.
func connectionAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// network returns the part of an address that counts as one client. For IPv4 this is the address. For
// IPv6 it is the 64-bit network that a provider assigns to one customer. Some proxies write the address
// in brackets or with the port, which differs for each connection.
func network(address string) string {
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"))
	if with, withPort := netip.ParseAddrPort(address); withPort == nil {
		ip, err = with.Addr(), nil
	}
	if err != nil {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		const subnet = 64
		if prefix, err := ip.Prefix(subnet); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
