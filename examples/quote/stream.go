package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// The exit statuses.
const (
	statusDone      = 0 // every document was answered
	statusFailed    = 1 // reading or writing failed
	statusMalformed = 2 // a document is malformed
)

const (
	// maxDocument is the maximum size of a document, in bytes, with the white space before it. It
	// allows a cart with the maximum number of lines, or an allow-list of some hundred thousand
	// addresses.
	maxDocument = 16 << 20
	// blockSize is the size of reads and writes, in bytes.
	blockSize = 64 << 10
)

var errTooLarge = fmt.Errorf("a document has at most %d bytes", maxDocument)

// run answers the documents of in on out, and returns the exit status. now returns the instant for
// documents without an instant.
func run(in io.Reader, out, diagnostics io.Writer, now func() time.Time) int {
	err := answer(in, out, now)
	if err == nil {
		return statusDone
	}
	// There is no way to report a failure of standard error.
	fmt.Fprintln(diagnostics, "quote:", err) //nolint:errcheck // see above
	if malformed := (*malformedError)(nil); errors.As(err, &malformed) {
		return statusMalformed
	}
	return statusFailed
}

// answer writes the results of all documents before the first malformed document.
func answer(in io.Reader, out io.Writer, now func() time.Time) (err error) {
	results := bufio.NewWriterSize(out, blockSize)
	defer func() { err = errors.Join(err, results.Flush()) }()
	documents := newDocuments(promptReader{in: in, out: results})
	var q quoter
	var line []byte
	for {
		raw, err := documents.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		line, err = q.appendResult(line[:0], raw, now)
		if err != nil {
			return &malformedError{number: documents.number, id: q.document.id, cause: err}
		}
		if _, err := results.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// promptReader flushes all results before it waits for input. A program can thus read the last result
// before it sends the next document.
type promptReader struct {
	in  io.Reader
	out *bufio.Writer
}

func (r promptReader) Read(p []byte) (int, error) {
	if err := r.out.Flush(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

// documents splits a stream into JSON values.
type documents struct {
	in     *bufio.Reader
	json   *json.Decoder
	raw    json.RawMessage // memory of the current document
	number int             // number of the current document, from 1
	read   int64           // bytes that json has read
	most   int64           // maximum of read until the current document ends
}

func newDocuments(in io.Reader) *documents {
	d := &documents{in: bufio.NewReaderSize(in, blockSize)}
	d.json = json.NewDecoder(d)
	return d
}

// Read implements [io.Reader] for the JSON decoder. It reads from in, up to the maximum size of a
// document.
func (d *documents) Read(p []byte) (int, error) {
	left := d.most - d.read
	if left <= 0 {
		return 0, errTooLarge
	}
	n, err := d.in.Read(p[:min(int64(len(p)), left)])
	d.read += int64(n)
	return n, err
}

// next returns the next document as valid JSON. The next call overwrites it. At the end of the stream,
// the error is [io.EOF]. If the text is not JSON or too long, the error is a *malformedError.
func (d *documents) next() ([]byte, error) {
	start := d.json.InputOffset()
	d.most = start + maxDocument
	d.number++
	err := d.json.Decode(&d.raw)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return d.raw, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the JSON text ends too early")
	case errors.As(err, &syntax):
		err = fmt.Errorf("not JSON at byte %d of the input", start+faultWithin(d.json.Buffered(), syntax.Offset-start))
	case errors.Is(err, errTooLarge):
	default:
		return nil, err
	}
	return nil, &malformedError{number: d.number, id: idWithin(d.json.Buffered()), cause: err}
}

// faultWithin returns the position of the first byte that is not JSON, counted from 1. It does not use
// the decoder's errors, because they depend on the Go version.
func faultWithin(text io.Reader, unknown int64) int64 {
	raw, err := io.ReadAll(text)
	if err == nil {
		_, err = strictjson.Raw(raw)
	}
	var fault *strictjson.SyntaxError
	if !errors.As(err, &fault) {
		return unknown
	}
	return int64(fault.Byte)
}

// idWithin returns the ID from the beginning of a malformed document, so that the sender knows which
// document is meant.
func idWithin(text io.Reader) string {
	dec := json.NewDecoder(text)
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return ""
		}
		var id string
		if name == "id" && json.Unmarshal(value, &id) == nil {
			return id
		}
	}
	return ""
}

// malformedError says which document cannot be answered, and why.
type malformedError struct {
	number int
	id     string
	cause  error
}

// Error lists every invalid field on its own line.
func (e *malformedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "document %d", e.number)
	if e.id != "" {
		fmt.Fprintf(&b, " (id %.120q)", e.id)
	}
	b.WriteString(" is malformed; nothing after it was read")
	var invalid *validation.Error
	if !errors.As(e.cause, &invalid) {
		fmt.Fprintf(&b, "\n  %s", e.cause)
		return b.String()
	}
	for _, f := range invalid.Fields {
		b.WriteString("\n  ")
		if f.Path != "" {
			b.WriteString(printable(f.Path) + ": ")
		}
		b.WriteString(printable(f.Message))
	}
	return b.String()
}

func (e *malformedError) Unwrap() error { return e.cause }

// printable escapes characters that control a terminal. Names of unknown fields come from outside.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
