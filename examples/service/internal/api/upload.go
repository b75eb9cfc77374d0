package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

const (
	// uploadBody is the maximum size of an uploaded file, in bytes. It has room for a million codes.
	uploadBody = 64 << 20
	// uploadPart is the part of an upload that has to arrive within the time of a request, in bytes.
	uploadPart = 1 << 20
	// maxUploads is the maximum number of files that are read at a time.
	maxUploads = 4
	// mediaLines is the media type of verdicts: one JSON value in each line.
	mediaLines = "application/jsonl"
)

// upload answers a request whose body is a CSV file. The body is stored in a temporary file first: browsers read no answer
// before they have sent the whole body. So the answer has a verdict for each row as soon as the row is done. work reads the
// file and writes the verdicts. Its context ends when no part of the work was done for the time of a request.
func (a *API) upload(w http.ResponseWriter, r *http.Request, what string, work func(context.Context, io.Reader, *verdicts) error) error {
	select {
	case a.uploads <- struct{}{}:
		defer func() { <-a.uploads }()
	default:
		return unavailable("unavailable", "Too many files are uploaded at the moment.")
	}
	file, err := os.CreateTemp("", "couponkit-upload-*.csv")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	if err := receive(w, r, file); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	patience := time.AfterFunc(requestTime, cancel)
	defer patience.Stop()
	v := &verdicts{w: w, out: bufio.NewWriter(w), patience: patience, counts: make(map[codecsv.Verdict]int64)}
	err = ofFile(work(ctx, file, v))
	a.audit(r, what, r.PathValue("id"), err)
	return a.finish(r, v, err)
}

// receive stores the body of a request in a file, and goes back to the beginning of the file.
func receive(w http.ResponseWriter, r *http.Request, file *os.File) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "text/csv" {
		return problem{Status: http.StatusUnsupportedMediaType, Code: "csv_required", Title: "The body has to be text/csv."}
	}
	connection := http.NewResponseController(w)
	for {
		// A test without a connection has no deadline that could pass.
		_ = connection.SetReadDeadline(time.Now().Add(requestTime))
		_, err := io.CopyN(file, r.Body, uploadPart)
		switch {
		case errors.Is(err, io.EOF):
			_ = connection.SetReadDeadline(time.Time{})
			_, err = file.Seek(0, io.SeekStart)
			return err
		case err != nil:
			return unreceived(err)
		}
	}
}

// unreceived returns the problem for a body that could not be stored.
func unreceived(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	if _, disk := errors.AsType[*os.PathError](err); disk {
		return err
	}
	return problem{Status: http.StatusBadRequest, Code: "bad_request", Title: "The body of the request did not arrive whole."}
}

// finish ends the answer. Before the first verdict, an error is the answer. Later it is the last line. If the client reads no
// more, the connection is broken off.
func (a *API) finish(r *http.Request, v *verdicts, err error) error {
	if err != nil && !v.begun {
		return err
	}
	last := summary{Done: err == nil, Counts: v.counts, Ignored: v.ignored}
	if err != nil && !v.broken {
		p := problemOf(err)
		p.Detail = cmp.Or(p.Detail, p.Title)
		last.Problem = &p
		if p.Status >= http.StatusInternalServerError {
			a.Logger.ErrorContext(r.Context(), "the work on a file ended early", slog.String("route", r.Pattern), slog.Any("error", err))
		}
	}
	if v.broken || v.line(last) != nil || v.flush() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// ofFile names the row in an error of a file.
func ofFile(err error) error {
	read, is := errors.AsType[*codecsv.Error](err)
	if is && errors.Is(err, codecsv.ErrTruncated) {
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "incomplete_file", Title: fmt.Sprintf("The file stops in the middle of row %d.", read.Row),
		}
	}
	return err
}

// verdicts writes one line for each row. Lines are sent after every part of the rows.
type verdicts struct {
	w        http.ResponseWriter
	out      *bufio.Writer
	patience *time.Timer
	counts   map[codecsv.Verdict]int64
	ignored  []string // names of columns
	lines    int
	begun    bool // there is an answer
	broken   bool // the client has gone
}

// rowVerdict is the line of a row.
type rowVerdict struct {
	Row     int64           `json:"row"`
	Verdict codecsv.Verdict `json:"verdict"`
	Code    string          `json:"code,omitempty"`
	// Owner is the customer who has the code.
	Owner string `json:"owner,omitempty"`
	// CouponID is the other coupon that has the code, or this coupon if another batch has the code.
	CouponID string `json:"couponId,omitempty"`
	// Errors has the invalid fields of a refused row.
	Errors []validation.Field `json:"errors,omitempty"`
}

// summary is the last line. It has counts of rows by verdict, and says whether every row has a verdict.
type summary struct {
	Done   bool                      `json:"done"`
	Counts map[codecsv.Verdict]int64 `json:"counts"`
	// Ignored has the names of columns of codes that are not read.
	Ignored []string `json:"ignored,omitempty"`
	Problem *problem `json:"problem,omitempty"`
}

// row writes the verdict of a row.
func (v *verdicts) row(line rowVerdict) error {
	v.counts[line.Verdict]++
	if err := v.line(line); err != nil {
		return err
	}
	if v.lines++; v.lines%coupon.MaxCodes == 0 {
		return v.flush()
	}
	return nil
}

func (v *verdicts) line(value any) error {
	if !v.begun {
		v.begun = true
		v.w.Header().Set("Content-Type", mediaLines)
		v.deadline()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err = v.out.Write(append(text, '\n')); err != nil {
		return v.gone()
	}
	return nil
}

// deadline gives the client, and the next part of the work, the time of a request.
func (v *verdicts) deadline() {
	v.patience.Reset(requestTime)
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(requestTime))
}

// flush sends the lines so far.
func (v *verdicts) flush() error {
	v.deadline()
	if err := v.out.Flush(); err != nil {
		return v.gone()
	}
	_ = http.NewResponseController(v.w).Flush() // a test without a connection cannot flush
	return nil
}

// gone returns the error for an answer that nobody reads. The connection is broken off.
func (v *verdicts) gone() error {
	v.broken = true
	return http.ErrAbortHandler
}

// refusalFields returns the invalid fields of a row.
func refusalFields(refusal error) []validation.Field {
	if invalid, is := errors.AsType[*validation.Error](refusal); is {
		return invalid.Fields
	}
	return nil
}

// ignored reads the names of columns that a file may lose, separated by commas.
func ignored(r *http.Request) (names []string, err error) {
	q := query{r: r}
	q.only("ignore")
	for name := range strings.SplitSeq(q.text("ignore"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names, q.faults.Err()
}

// importCodes adds the codes of a file to a batch. A code that a coupon has stays as it is, so that a file can be sent again.
func (a *API) importCodes(w http.ResponseWriter, r *http.Request) error {
	id, batch := r.PathValue("id"), batchID(r)
	ignore, err := ignored(r)
	if err != nil {
		return err
	}
	if _, err := a.Service.Get(r.Context(), id); err != nil {
		return err
	}
	return a.upload(w, r, "import codes", func(ctx context.Context, file io.Reader, v *verdicts) error {
		rows, err := codecsv.NewReader(file, codecsv.Options{Location: a.Location, Ignore: ignore})
		if err != nil {
			return err
		}
		v.ignored = rows.Ignored()
		for row, err := range a.Service.ImportCodes(ctx, id, batch, rows.Rows()) {
			if err != nil {
				return reusedBatch(err, "id")
			}
			line := rowVerdict{Row: row.Number, Verdict: row.Verdict, Code: row.Draft.Code, Errors: refusalFields(row.Refusal)}
			if row.Verdict == codecsv.Taken {
				line.CouponID = row.CouponID
			}
			if err := v.row(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// assigned is the verdict of a row whose customer has a code.
const assigned codecsv.Verdict = "assigned"

// assignFile gives each customer of a file a code of a batch. A customer who has a code of the batch keeps it, so that a file
// can be sent again. Verdicts of refused rows come at once, and those of other rows after each part.
func (a *API) assignFile(w http.ResponseWriter, r *http.Request) error {
	id, batch := r.PathValue("id"), batchID(r)
	ignore, err := ignored(r)
	if err != nil {
		return err
	}
	if _, err := a.batchOf(r.Context(), id, batch); err != nil {
		return err
	}
	return a.upload(w, r, "assign codes", func(ctx context.Context, file io.Reader, v *verdicts) error {
		rows, err := codecsv.NewRecipientReader(file, codecsv.Options{Ignore: ignore})
		if err != nil {
			return err
		}
		list := recipients{rows: rows, verdicts: v}
		for c, err := range a.Service.AssignCodes(ctx, id, batch, list.owners) {
			if errors.Is(err, store.ErrNoCodesLeft) && len(list.waiting) > 0 {
				return problem{
					Status: http.StatusConflict, Code: "no_codes_left",
					Title: fmt.Sprintf("The batch has too few free codes for the customers from row %d on. They have no code yet.", list.waiting[0]),
				}
			}
			if err == nil {
				err = v.row(rowVerdict{Row: list.waiting[0], Verdict: assigned, Code: c.Code.String(), Owner: c.Owner.String()})
			}
			if err != nil {
				return err
			}
			list.waiting = list.waiting[1:]
		}
		return list.failed
	})
}

// recipients are the customers of a file.
type recipients struct {
	rows     *codecsv.RecipientReader
	verdicts *verdicts
	// waiting has the numbers of the rows whose customers have no code yet. There are at most coupon.MaxCodes.
	waiting []int64
	failed  error
}

// owners yields the customers of the accepted rows.
func (l *recipients) owners(yield func(coupon.Owner) bool) {
	for row, err := range l.rows.Recipients() {
		switch {
		case err != nil:
			l.failed = err
			return
		case row.Refusal != nil:
			if l.failed = l.verdicts.row(rowVerdict{Row: row.Number, Verdict: codecsv.Refused, Errors: refusalFields(row.Refusal)}); l.failed != nil {
				return
			}
		default:
			l.waiting = append(l.waiting, row.Number)
			if !yield(row.Owner) {
				return
			}
		}
	}
}
