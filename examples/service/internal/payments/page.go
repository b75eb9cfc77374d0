package payments

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

//go:embed templates static
var files embed.FS

// maxForm is the maximum size of a form of the payment page, in bytes.
const maxForm = 4 << 10

// Pages serves the payment pages and their style sheet.
type Pages struct {
	simulator *Simulator
	templates *template.Template
	static    http.Handler
}

// NewPages returns the payment pages of a simulator.
func NewPages(s *Simulator) (*Pages, error) {
	templates, err := template.ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	static, err := fs.Sub(files, "static")
	if err != nil {
		return nil, err
	}
	return &Pages{simulator: s, templates: templates, static: http.FileServerFS(static)}, nil
}

// Register adds the pages to a mux.
func (p *Pages) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+PagePrefix+"{session}", p.show)
	mux.HandleFunc("POST "+PagePrefix+"{session}", p.act)
	mux.HandleFunc("GET "+staticPrefix, p.serveStatic)
}

const staticPrefix = "/simulator/static/"

func (p *Pages) serveStatic(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/") {
		http.NotFound(w, r) // do not list folders
		return
	}
	http.StripPrefix(staticPrefix, p.static).ServeHTTP(w, r)
}

// view is the data of the payment page.
type view struct {
	ID      string
	Title   string
	Message string

	Open    bool
	Payable bool // the session is open and its total is above 0
	Waiting bool
	Paid    bool
	Failed  bool
	Expired bool

	Currency    string
	Lines       []viewLine
	Discount    string // discount of the first period, or ""
	CouponCodes []string
	Total       string
	Email       string
	SuccessURL  string
	CancelURL   string
	Minutes     int64 // minutes until the session expires
}

type viewLine struct {
	Name       string
	Quantity   int64
	UnitAmount string
	Total      string
	Recurs     string
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request) { p.render(w, r, http.StatusOK, "") }

func (p *Pages) act(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.render(w, r, http.StatusBadRequest, "The form could not be read.")
		return
	}
	done, err := p.simulator.act(r.Context(), r.PathValue("session"), r.PostForm.Get("action"))
	switch {
	case errors.Is(err, processor.ErrNotFound):
		p.render(w, r, http.StatusNotFound, "")
	case errors.Is(err, errAction):
		p.render(w, r, http.StatusBadRequest, "There is no such action.")
	case err != nil:
		p.render(w, r, http.StatusConflict, "That is not possible any more.")
	case done != "":
		http.Redirect(w, r, done, http.StatusSeeOther) //nolint:gosec // the address that the shop gave when it opened the session
	default:
		p.render(w, r, http.StatusOK, "Your bank declined the payment. Nothing was charged; you can try again.")
	}
}

var errAction = errors.New("unknown action")

// act plays an action of the customer or the bank. It returns the address that the customer is sent to,
// or "" if the customer stays. It returns after the shop got the webhook.
func (s *Simulator) act(ctx context.Context, id, action string) (string, error) {
	inner := s.internalID(id)
	request, err := s.fake.Request(inner)
	if err != nil {
		return "", err
	}
	wait := s.listen(inner)
	done, err := s.happens(ctx, request, action, inner)
	s.wakeRun()
	if err == nil && done != "" {
		wait(ctx)
	}
	return done, err
}

// happens applies the action at the processor. Its result is that of act.
func (s *Simulator) happens(ctx context.Context, request processor.SessionRequest, action, inner string) (string, error) {
	switch action {
	case "pay":
		return request.SuccessURL, s.fake.Pay(inner)
	case "later":
		return request.SuccessURL, s.fake.PayLater(inner)
	case "arrives":
		return request.SuccessURL, s.fake.PaymentArrives(inner)
	case "fails":
		return request.SuccessURL, s.fake.PaymentFails(inner)
	case "decline":
		return "", s.fake.Decline(inner)
	case "expire":
		return request.SuccessURL, s.expire(ctx, inner)
	}
	return "", errAction
}

// expire ends an open session before its time.
func (s *Simulator) expire(ctx context.Context, inner string) error {
	session, err := s.fake.ExpireSession(ctx, inner)
	if err == nil && session.Status != processor.SessionExpired {
		return processor.ErrRejected
	}
	return err
}

func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, message string) {
	v, err := p.view(r, message)
	if errors.Is(err, processor.ErrNotFound) {
		status, v = http.StatusNotFound, view{Title: "No such payment"}
	} else if err != nil {
		status, v = http.StatusServiceUnavailable, view{Title: "The payment page is out of order"}
	}
	name := "pay.html"
	if err != nil {
		name = "gone.html"
	}
	var page bytes.Buffer
	if err := p.templates.ExecuteTemplate(&page, name, v); err != nil {
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w)
}

func (p *Pages) view(r *http.Request, message string) (view, error) {
	id := r.PathValue("session")
	inner := p.simulator.internalID(id)
	request, err := p.simulator.fake.Request(inner)
	if err != nil {
		return view{}, err
	}
	session, err := p.simulator.fake.Session(r.Context(), inner)
	if err != nil {
		return view{}, err
	}
	complete := session.Status == processor.SessionComplete
	v := view{
		ID: id, Title: "Pay " + pricing.NewMoney(session.Total, session.Currency).String(), Message: message,
		Open:    session.Status == processor.SessionOpen,
		Payable: session.Status == processor.SessionOpen && session.Total > 0,
		Waiting: complete && !session.PaymentStatus.Settled() && !session.PaymentFailed,
		Paid:    complete && session.PaymentStatus.Settled(),
		Failed:  session.PaymentFailed, Expired: session.Status == processor.SessionExpired,
		Currency: session.Currency.Code(), Total: session.Currency.Format(session.Total),
		Email: request.CustomerEmail, SuccessURL: request.SuccessURL, CancelURL: request.CancelURL,
		Minutes: int64(session.ExpiresAt.Sub(p.simulator.now()).Round(time.Minute) / time.Minute),
	}
	for _, c := range request.Coupons {
		v.CouponCodes = append(v.CouponCodes, c.Code.String())
	}
	if request.FirstPeriodDiscount > 0 {
		v.Discount = session.Currency.Format(request.FirstPeriodDiscount)
	}
	for _, l := range request.Lines {
		v.Lines = append(v.Lines, viewLine{
			Name: l.Name, Quantity: l.Quantity, Recurs: l.Recurs.String(),
			UnitAmount: session.Currency.Format(l.UnitAmount), Total: session.Currency.Format(l.UnitAmount * l.Quantity),
		})
	}
	return v, nil
}
