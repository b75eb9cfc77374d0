package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// readBody returns the body of a request. The body must be JSON.
func readBody(r *http.Request) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, problem{Status: http.StatusUnsupportedMediaType, Code: "json_required", Title: "The body has to be application/json."}
	}
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	if err == nil || errors.As(err, &large) {
		return body, err
	}
	return nil, problem{ // the body ended early, came too slowly, or is malformed
		Status: http.StatusBadRequest, Code: "bad_request", Title: "The body of the request did not arrive whole.",
	}
}

// readObject reads a JSON object strictly. One *validation.Error names all unknown, repeated and
// malformed fields.
func readObject(r *http.Request, targets map[string]any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return strictjson.Object(body, targets)
}

// form has the fields of a request that could not be read. The other fields are still checked.
type form struct{ unread []validation.Field }

// readForm is readObject, except that it returns unreadable fields in form, not as an error.
func readForm(r *http.Request, targets map[string]any) (form, error) {
	err := readObject(r, targets)
	var invalid *validation.Error
	if !errors.As(err, &invalid) || slices.ContainsFunc(invalid.Fields, func(f validation.Field) bool { return f.Path == "" }) {
		return form{}, err
	}
	return form{invalid.Fields}, nil
}

// besides returns one error with the unreadable fields and the faults found by rules. It drops faults
// of fields that could not be read. It returns nil if there are none.
func (f form) besides(rules validation.Error) error {
	all := validation.Error{Fields: slices.Clone(f.unread)}
	for _, refused := range rules.Fields {
		if !slices.ContainsFunc(f.unread, func(u validation.Field) bool { return within(u.Path, refused.Path) }) {
			all.Fields = append(all.Fields, refused)
		}
	}
	return all.Err()
}

// within reports whether path is whole, or a part of it. "lines[2].kind" is within "lines[2]", but not
// within "lines[2].itemId".
func within(whole, path string) bool {
	rest, below := strings.CutPrefix(path, whole)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// idempotencyKey reads the Idempotency-Key header.
func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	var faults validation.Error
	if len(r.Header.Values("Idempotency-Key")) > 1 {
		faults.Add("Idempotency-Key", validation.Malformed, "the header is given twice")
	}
	if len(key) > redemption.MaxIDLength-len(keyPrefix) {
		faults.Add("Idempotency-Key", validation.TooLong, fmt.Sprintf("at most %d characters", redemption.MaxIDLength-len(keyPrefix)))
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			faults.Add("Idempotency-Key", validation.Malformed, "printable ASCII without white space")
			break
		}
	}
	return key, faults.Err()
}

// query reads the query parameters of a request.
type query struct {
	r      *http.Request
	faults validation.Error
}

// only refuses unknown parameters and a malformed query. A malformed query is refused as a whole,
// because its readable part would ask for something else.
func (q *query) only(names ...string) {
	given, err := url.ParseQuery(q.r.URL.RawQuery)
	if err != nil {
		q.faults.Add("", validation.Malformed, "the query of the address is malformed")
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for name, values := range given {
		switch {
		case !known[name]:
			q.faults.Add(name, validation.Unknown, "there is no such parameter")
		case len(values) > 1:
			q.faults.Add(name, validation.Malformed, "the parameter is given twice")
		}
	}
}

func (q *query) text(name string) string { return q.r.URL.Query().Get(name) }

// number reads a whole number from 1 to most. It returns fallback if the parameter is absent.
func (q *query) number(name string, fallback, most int) int {
	text := q.text(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange) && text[0] != '-':
		q.faults.Add(name, validation.TooLarge, fmt.Sprintf("must be at most %d", most))
	case err != nil && !errors.Is(err, strconv.ErrRange):
		q.faults.Add(name, validation.Malformed, "must be a whole number")
	case n < 1:
		q.faults.Add(name, validation.TooSmall, "must be at least 1")
	case n > most:
		q.faults.Add(name, validation.TooLarge, fmt.Sprintf("must be at most %d", most))
	default:
		return n
	}
	return fallback
}

// choice reads one of several words. It returns the first word if the parameter is absent.
func (q *query) choice(name string, words ...string) string {
	text := q.text(name)
	if text == "" {
		return words[0]
	}
	if slices.Contains(words, text) {
		return text
	}
	q.faults.Add(name, validation.Unknown, fmt.Sprintf("must be one of %v", words))
	return words[0]
}

// flag reads true or false; absent is false.
func (q *query) flag(name string) bool {
	switch q.text(name) {
	case "", "false":
	case "true":
		return true
	default:
		q.faults.Add(name, validation.Malformed, "must be true or false")
	}
	return false
}
