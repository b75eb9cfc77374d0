// Package web serves the pages of the reference service: the administration of
// coupons, the three checkout flows, the order page and the sign-in.
//
// # Idea
//
// A page is a template that holds everything that does not depend on data, and
// an ES module that fills in what the API answers. The pages compute nothing
// about money and decide nothing about coupons: every price, discount, total and
// reason is a string that came from the API (specification 1).
//
// There is no build step. Templates and static files are embedded. The address
// of a static file begins with a digest of all of them, so that browsers may
// keep a file for a year and never mix files of two versions. The content
// security policy allows no inline script or style and nothing from elsewhere.
package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed templates static
var files embed.FS

// ContentSecurityPolicy is the policy of every page: only the service's own
// files and its own API, nothing inline, in no frame.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page describes a page: its address, its title, and its files.
type page struct {
	pattern  string // of http.ServeMux
	template string // name of the file in templates, without extension
	title    string
	script   string // name of a static file
	style    string // name of a static file, in addition to the common ones
	section  string // marked entry of the navigation
}

func pages() []page {
	return []page{
		{"/admin/coupons", "admin_coupons", "Coupons", "js/admin/list.js", "css/admin.css", "coupons"},
		{"/admin/orders", "admin_orders", "Orders", "js/admin/page.js", "css/admin.css", "orders"},
		{oneOrder, "admin_order", "Order", "js/admin/page.js", "css/admin.css", "orders"},
		{"/admin/coupons/{id}", "admin_coupon", "Redemptions", "js/admin/detail.js", "css/admin.css", "coupons"},
		{"/admin/coupons/{id}/batches", "admin_batches", "Campaign", "js/admin/batches.js", "css/admin.css", "coupons"},
		{"/plans", "plans", "Plans", "js/shop/plans.js", "css/shop.css", "plans"},
		{"/accessories", "accessories", "Devices and accessories", "js/shop/products.js", "css/shop.css", "accessories"},
		{cart, "cart", "Cart", "js/shop/cart.js", "css/shop.css", "cart"},
		{"/orders/{id}", "order", "Order", "js/shop/order.js", "css/shop.css", ""},
		{"/login", "login", "Sign in", "js/shop/login.js", "css/shop.css", ""},
	}
}

// view is the data of a template.
type view struct {
	Title   string
	Script  string
	Style   string
	Section string
	Notice  string
	Form    couponForm
	Problem string
	Data    any
}

const (
	// cart is the address of the page that can show a notice.
	cart = "/cart"
	// oneOrder is the address of the page with the refund form.
	oneOrder = "/admin/orders/{id}"
)

// notices returns the texts that the cart can show to a redirected customer. The parameter "notice" of
// the address selects a text. The address itself never contains the text.
func notices() map[string]string {
	return map[string]string{
		"other_account": "This account has no order for the payment that you come back from. " +
			"If you paid with another account, sign in with that one and follow the link of the payment page again.",
	}
}

// Options configure a [Site].
type Options struct {
	// Who tells who asks: whether somebody is signed in, and as an administrator.
	// The pages of the administration send others to sign in. nil is nobody.
	Who func(r *http.Request) (signedIn, administrator bool)
	// Panel answers what pages of administrators show; nil shows nothing.
	Panel Panel
	// Location is the time zone of the shop, in which pages show instants; nil is UTC.
	Location *time.Location
}

// Site is the set of pages. Make it with [New]. It is safe for concurrent use.
type Site struct {
	who    func(r *http.Request) (signedIn, administrator bool)
	panel  Panel
	zone   *time.Location
	digest string
	pages  map[string]http.Handler // by pattern
	static http.Handler
	failed *template.Template // page for an error
}

// New parses the embedded templates. An error means that the program was built
// from broken files.
func New(options Options) (*Site, error) {
	if options.Who == nil {
		options.Who = func(*http.Request) (bool, bool) { return false, false }
	}
	digest, err := digestOf(files)
	if err != nil {
		return nil, err
	}
	static, err := fs.Sub(files, "static")
	if err != nil {
		return nil, err
	}
	site := &Site{
		who:    options.Who,
		panel:  options.Panel,
		zone:   cmp.Or(options.Location, time.UTC),
		digest: digest,
		pages:  map[string]http.Handler{},
		static: http.StripPrefix("/static/"+digest+"/", http.FileServerFS(static)),
	}
	for _, p := range pages() {
		if site.pages[p.pattern], err = site.handler(p); err != nil {
			return nil, fmt.Errorf("page %s: %w", p.pattern, err)
		}
	}
	site.failed, err = template.New("error.html").Funcs(site.functions()).ParseFS(files, "templates/error.html", "templates/look.html")
	return site, err
}

// handler returns the handler of a page.
func (s *Site) handler(p page) (http.Handler, error) {
	switch p.template {
	case "admin_orders", "admin_order", "admin_coupon":
		return s.panelPage(p)
	}
	body, err := s.render(p, "")
	switch {
	case err != nil:
		return nil, err
	case strings.HasPrefix(p.pattern, "/admin/"):
		return s.administration(body), nil
	case p.pattern == cart:
		return s.noticing(p, body)
	}
	return document(body), nil
}

// Register adds the pages and their files to a mux: GET of each page, of "/",
// which leads to the plans, and of everything below /static/. The form of an order is sent by
// POST.
func (s *Site) Register(mux *http.ServeMux) {
	for pattern, handler := range s.pages {
		mux.Handle("GET "+pattern, handler)
	}
	mux.Handle("POST "+oneOrder, s.pages[oneOrder])
	mux.Handle("GET /static/", http.HandlerFunc(s.serveStatic))
	mux.Handle("GET /{$}", http.RedirectHandler("/plans", http.StatusFound))
}

// ServeHTTP serves the site alone, without an API.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	s.Register(mux)
	mux.ServeHTTP(w, r)
}

// Asset returns the address of a static file, such as "css/base.css": for pages
// that other packages render in the same clothes.
func (s *Site) Asset(name string) string { return path.Join("/static", s.digest, name) }

func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset": s.Asset, "date": dateText, "zone": s.zone.String,
		"moment": func(at time.Time) string { return at.In(s.zone).Format(momentLayout) },
		"change": s.changeText,
		"flag":   flagText, "repayment": repaymentText, "dispute": disputeText, "due": dueText,
		"words": words,
	}
}

func (s *Site) parse(p page) (*template.Template, error) {
	return template.New("layout.html").
		Funcs(s.functions()).Funcs(formFunctions()).
		ParseFS(files, "templates/layout.html", "templates/look.html", "templates/coupon_form.html", "templates/"+p.template+".html")
}

func (s *Site) render(p page, notice string) ([]byte, error) {
	t, err := s.parse(p)
	if err != nil {
		return nil, err
	}
	return s.fill(t, p, view{Notice: notice})
}

// fill renders a page.
func (s *Site) fill(t *template.Template, p page, v view) ([]byte, error) {
	v.Title, v.Script, v.Style, v.Section = p.title, p.script, p.style, p.section
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// administered serves a page to administrators only. It redirects everybody else to the sign-in.
func (s *Site) administered(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signedIn, administrator := s.who(r)
		switch {
		case administrator:
			h.ServeHTTP(w, r)
		case signedIn:
			s.Error(w, r, http.StatusForbidden, "Administrators only", "Your account cannot manage coupons.")
		default:
			next := r.URL.RequestURI()
			if r.Method == http.MethodPost { // a sent form must be filled in again
				next = r.URL.Path
			}
			http.Redirect(w, r, "/login?next="+url.QueryEscape(next), http.StatusSeeOther)
		}
	})
}

// administration serves a page to administrators and redirects everybody else to the sign-in. The API
// checks access itself. This only spares users a page that they cannot use.
func (s *Site) administration(body []byte) http.Handler {
	admitted := document(body)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signedIn, administrator := s.who(r)
		switch {
		case administrator:
			admitted.ServeHTTP(w, r)
		case signedIn:
			documentWith(http.StatusForbidden, body).ServeHTTP(w, r)
		default:
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		}
	})
}

// noticing serves a page with the notice that its address selects.
func (s *Site) noticing(p page, plain []byte) (http.Handler, error) {
	said := map[string]http.Handler{}
	for name, text := range notices() {
		body, err := s.render(p, text)
		if err != nil {
			return nil, err
		}
		said[name] = document(body)
	}
	silent := document(plain)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler, known := said[r.URL.Query().Get("notice")]; known {
			handler.ServeHTTP(w, r)
			return
		}
		silent.ServeHTTP(w, r)
	}), nil
}

// Error answers with the page of an error: what happened, in one sentence and perhaps a
// second one, and where to go from there. It needs no script and nobody's sign-in, so that
// it can be read whatever has failed.
func (s *Site) Error(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	var out bytes.Buffer
	err := s.failed.Execute(&out, map[string]any{
		"Title": strings.TrimSuffix(title, "."), "Text": text, "Unknown": status == http.StatusUnauthorized, "Failure": status >= http.StatusInternalServerError,
	})
	if err != nil {
		http.Error(w, title, status)
		return
	}
	setHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = out.WriteTo(w) // ignore a browser that closed the connection
	}
}

// document serves a rendered page. Pages have no data of users, but they refer to files of one version.
// So browsers must revalidate them.
func document(body []byte) http.Handler { return documentWith(http.StatusOK, body) }

func documentWith(status int, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // ignore a browser that closed the connection
		}
	})
}

// setHeaders sets the headers of every page.
func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", ContentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
}

func (s *Site) serveStatic(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/") || !strings.HasPrefix(r.URL.Path, "/static/"+s.digest+"/") {
		http.NotFound(w, r) // do not list folders, and serve only files of this version
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	s.static.ServeHTTP(w, r)
}

// digestOf returns a digest that identifies the version of the files.
func digestOf(fsys fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:12], err
}
