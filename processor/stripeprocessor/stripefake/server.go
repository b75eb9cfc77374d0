package stripefake

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Call is a request that the account has received.
type Call struct {
	// Number is the position of the call, counted from 1.
	Number int
	// Op is the operation, such as "coupons.create".
	Op   string
	Path string
	// Key is the idempotency key.
	Key string
	// Form contains the parameters.
	Form url.Values
	// Header contains the HTTP headers.
	Header http.Header
}

// Fault is a failure of a call.
type Fault uint8

// The faults. "saved" means that the same idempotency key returns the answer again.
const (
	None             Fault = iota
	LostBefore             // the connection breaks before the call takes effect
	LostAfter              // the connection breaks before the answer
	FailBefore             // 500 without an effect; saved
	FailAfter              // 500 with the effect; saved
	KeyInUse               // 409: another request with the key is running
	RateLimited            // 429
	LockTimeout            // 429: another request holds the object
	BadGateway             // 502 with a body that is not JSON
	Unavailable            // 503 with Stripe-Should-Retry: false
	DependencyFailed       // 424 without an effect; saved
)

// String returns the name of the constant.
func (f Fault) String() string {
	names := [...]string{
		None: "None", LostBefore: "LostBefore", LostAfter: "LostAfter", FailBefore: "FailBefore", FailAfter: "FailAfter",
		KeyInUse: "KeyInUse", RateLimited: "RateLimited", LockTimeout: "LockTimeout", BadGateway: "BadGateway",
		Unavailable: "Unavailable", DependencyFailed: "DependencyFailed",
	}
	if int(f) < len(names) {
		return names[f]
	}
	return ""
}

// Faults sets the function that chooses the fault of each call; nil means no faults. It
// is called once per request, in the order of arrival.
func (a *Account) Faults(f func(Call) Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = f
}

// Calls returns all requests so far.
func (a *Account) Calls() []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// answer is a response.
type answer struct {
	status int
	body   any
	header map[string]string
	// an unsaved answer is not replayed
	unsaved bool
}

type savedAnswer struct {
	fingerprint [sha256.Size]byte
	answer      answer
}

// problem is an error in Stripe's format.
type problem struct {
	Status  int    `json:"-"`
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Param   string `json:"param,omitempty"`
	Message string `json:"message"`
}

func (e *problem) Error() string { return "stripefake: " + e.Message }

func (e *problem) answer() answer {
	return answer{status: e.Status, body: map[string]any{"error": e}}
}

func invalid(code, param, format string, args ...any) *problem {
	return &problem{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Param: param,
		Message: fmt.Sprintf(format, args...),
	}
}

func missing(what, id string) *problem {
	e := invalid("resource_missing", what, "No such %s: '%s'", what, id)
	e.Status = http.StatusNotFound
	return e
}

const maxBody = 1 << 20

// ServeHTTP answers a call of Stripe's API.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	if refusal := a.validate(r, body); refusal != nil {
		refusal.send(w)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		invalid("", "", "malformed form").answer().send(w)
		return
	}
	for key, values := range r.URL.Query() {
		form[key] = append(form[key], values...)
	}
	a.serve(w, r, form)
}

// validate passes the request to the validator, if there is one.
func (a *Account) validate(r *http.Request, body []byte) *answer {
	if a.options.Validator == nil {
		return nil
	}
	copied := r.Clone(r.Context())
	copied.Body = io.NopCloser(bytes.NewReader(body))
	recorder := httptest.NewRecorder()
	a.options.Validator.ServeHTTP(recorder, copied)
	if recorder.Code < http.StatusBadRequest || recorder.Code == http.StatusNotFound && r.Method == http.MethodGet {
		return nil
	}
	return &answer{status: recorder.Code, body: json.RawMessage(recorder.Body.Bytes())}
}

func (a *Account) serve(w http.ResponseWriter, r *http.Request, form url.Values) {
	now := a.lock()
	defer a.mu.Unlock()
	path := r.URL.EscapedPath()
	op, ids := operationOf(r.Method, path)
	call := Call{
		Number: len(a.calls) + 1, Op: op.name, Path: path, Key: r.Header.Get("Idempotency-Key"),
		Form: form, Header: r.Header.Clone(),
	}
	a.calls = append(a.calls, call)
	fault := None
	if a.fault != nil {
		fault = a.fault(call)
	}
	if done := a.faultBefore(w, fault); done {
		return
	}
	result := a.answer(call, op, ids, form, fault, now)
	if fault == LostAfter {
		panic(http.ErrAbortHandler) // breaks the connection; net/http handles this panic
	}
	if a.options.OwnWording {
		result = reworded(result)
	}
	result.send(w)
}

// faultBefore simulates a fault before Stripe reads the request.
func (a *Account) faultBefore(w http.ResponseWriter, fault Fault) (done bool) {
	switch fault {
	case None, LostAfter, FailBefore, FailAfter, DependencyFailed:
		return false
	case LostBefore:
		panic(http.ErrAbortHandler) // breaks the connection; net/http handles this panic
	case KeyInUse:
		(&problem{
			Status: http.StatusConflict, Type: "idempotency_error", Code: "idempotency_key_in_use",
			Message: "There is currently another in-progress request using this Idempotent Key.",
		}).answer().send(w)
	case RateLimited:
		(&problem{Status: http.StatusTooManyRequests, Type: "invalid_request_error", Code: "rate_limit", Message: "Too many requests"}).answer().send(w)
	case LockTimeout:
		(&problem{Status: http.StatusTooManyRequests, Type: "invalid_request_error", Code: "lock_timeout", Message: "Lock timeout"}).answer().send(w)
	case BadGateway:
		http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
	case Unavailable:
		down := (&problem{Status: http.StatusServiceUnavailable, Type: "api_error", Message: "Down"}).answer()
		down.header = map[string]string{"Stripe-Should-Retry": "false"}
		down.send(w)
	}
	return true
}

// answer authenticates the call. Then it replays the answer saved for the key, or runs the operation.
// Stripe saves the result of every call that it has begun, refusals included. It does not begin a call
// with invalid parameters, so a refusal that names a parameter is not saved.
func (a *Account) answer(call Call, op operation, ids []string, form url.Values, fault Fault, now int64) answer {
	if refusal := a.authorize(call, op); refusal != nil {
		return refusal.answer()
	}
	if op.run == nil {
		return (&problem{
			Status: http.StatusNotFound, Type: "invalid_request_error", Message: "Unrecognized request URL (" + call.Path + ").",
		}).answer()
	}
	sum := sha256.Sum256([]byte(call.Path + "?" + form.Encode()))
	idempotent := op.write && call.Key != ""
	if saved, ok := a.answers[call.Key]; ok && idempotent {
		if saved.fingerprint != sum {
			return (&problem{
				Status: http.StatusBadRequest, Type: "idempotency_error",
				Message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
			}).answer()
		}
		replay := saved.answer
		replay.header = map[string]string{"Idempotent-Replayed": "true"}
		return replay
	}
	result := a.run(op, ids, form, fault, now)
	if idempotent && !result.unsaved {
		a.answers[call.Key] = &savedAnswer{fingerprint: sum, answer: result}
	}
	return result
}

func (a *Account) run(op operation, ids []string, form url.Values, fault Fault, now int64) answer {
	failure := (&problem{Status: http.StatusInternalServerError, Type: "api_error", Message: "Something went wrong"}).answer()
	switch fault { //nolint:exhaustive // those without an effect that are saved
	case FailBefore:
		return failure
	case DependencyFailed:
		return (&problem{Status: http.StatusFailedDependency, Type: "api_error", Message: "A dependency has failed"}).answer()
	}
	body, refusal := op.run(a, ids, form, now)
	if refusal != nil {
		answer := refusal.answer()
		answer.unsaved = refusal.Param != "" // Stripe did not begin a call with invalid parameters
		return answer
	}
	if fault == FailAfter {
		return failure
	}
	// Encode now, so that later changes of the object do not change the saved answer.
	text, err := json.Marshal(body)
	if err != nil {
		return failure
	}
	return answer{status: http.StatusOK, body: json.RawMessage(text)}
}

func (a *Account) authorize(call Call, op operation) *problem {
	key, ok := strings.CutPrefix(call.Header.Get("Authorization"), "Bearer ")
	if !ok || a.options.Key != "" && key != a.options.Key {
		return &problem{Status: http.StatusUnauthorized, Type: "invalid_request_error", Message: "Invalid API Key provided"}
	}
	if name := call.Header.Get("Stripe-Account"); name != a.options.ConnectedAccount {
		return &problem{
			Status: http.StatusForbidden, Type: "invalid_request_error", Code: "account_invalid",
			Message: fmt.Sprintf("The provided key does not have access to account '%s' (or that account does not exist).", name),
		}
	}
	if a.denied[op.name] {
		return &problem{
			Status: http.StatusForbidden, Type: "invalid_request_error", Code: "more_permissions_required",
			Message: "The provided key does not have the required permissions for this endpoint.",
		}
	}
	return nil
}

// reworded returns the same error with other text. It removes code and param, which Stripe does not
// promise.
func reworded(a answer) answer {
	wrapper, ok := a.body.(map[string]any)
	if !ok {
		return a
	}
	e, ok := wrapper["error"].(*problem)
	if !ok {
		return a
	}
	changed := *e
	changed.Message = "Request refused (reference " + strconv.Itoa(len(e.Message)) + ")."
	return answer{status: a.status, body: map[string]any{"error": &changed}, header: a.header}
}

func (a answer) send(w http.ResponseWriter) {
	text, err := json.Marshal(a.body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_stripefake")
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // the client has closed the connection
}

// operation is one endpoint.
type operation struct {
	name  string
	write bool
	run   func(a *Account, ids []string, form url.Values, now int64) (any, *problem)
}

// operationOf finds the endpoint of a path such as /v1/coupons/abc.
func operationOf(method, path string) (operation, []string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var ids []string
	pattern := make([]string, len(parts))
	for i, part := range parts {
		if text, err := url.PathUnescape(part); err == nil && isID(parts, i) {
			ids = append(ids, text)
			part = "*"
		}
		pattern[i] = part
	}
	name := method + " /" + strings.Join(pattern, "/")
	op := endpoints()[name]
	if op.name == "" {
		op.name = name
	}
	return op, ids
}

// isID reports whether a part of a path is an ID. An ID follows the name of a collection.
func isID(parts []string, i int) bool {
	if i == 0 || parts[i] == "" {
		return false
	}
	switch parts[i-1] {
	case "coupons", "promotion_codes":
		return true
	case "sessions":
		return i >= 2 && parts[i-2] == "checkout"
	}
	return false
}

func endpoints() map[string]operation {
	return map[string]operation{
		"POST /v1/coupons":                       {"coupons.create", true, (*Account).opCreateCoupon},
		"GET /v1/coupons":                        {"coupons.list", false, (*Account).opListCoupons},
		"GET /v1/coupons/*":                      {"coupons.retrieve", false, (*Account).opRetrieveCoupon},
		"POST /v1/coupons/*":                     {"coupons.update", true, (*Account).opUpdateCoupon},
		"DELETE /v1/coupons/*":                   {"coupons.delete", false, (*Account).opDeleteCoupon},
		"POST /v1/promotion_codes":               {"promotion_codes.create", true, (*Account).opCreateCode},
		"GET /v1/promotion_codes":                {"promotion_codes.list", false, (*Account).opListCodes},
		"GET /v1/promotion_codes/*":              {"promotion_codes.retrieve", false, (*Account).opRetrieveCode},
		"POST /v1/promotion_codes/*":             {"promotion_codes.update", true, (*Account).opUpdateCode},
		"POST /v1/checkout/sessions":             {"sessions.create", true, (*Account).opCreateSession},
		"GET /v1/checkout/sessions":              {"sessions.list", false, (*Account).opListSessions},
		"GET /v1/checkout/sessions/*":            {"sessions.retrieve", false, (*Account).opRetrieveSession},
		"POST /v1/checkout/sessions/*/expire":    {"sessions.expire", true, (*Account).opExpireSession},
		"GET /v1/checkout/sessions/*/line_items": {"sessions.line_items", false, (*Account).opListLineItems},
		"POST /v1/refunds":                       {"refunds.create", true, (*Account).opCreateRefund},
		"GET /v1/refunds":                        {"refunds.list", false, (*Account).opListRefunds},
		"GET /v1/disputes":                       {"disputes.list", false, (*Account).opListDisputes},
		"GET /v1/invoice_payments":               {"invoice_payments.list", false, (*Account).opListInvoicePayments},
	}
}
