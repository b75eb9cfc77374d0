package api

import (
	"context"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

func (a *API) readExport(r *http.Request) (list store.CodeList, err error) {
	q := query{r: r}
	q.only(codeFilter...)
	if list = q.codes(); q.faults.Err() != nil {
		return list, q.faults.Err()
	}
	list.PageSize = coupon.MaxCodes
	if list.Batch != "" {
		_, err = a.batchOf(r.Context(), list.CouponID, list.Batch)
	} else {
		_, err = a.Service.Get(r.Context(), list.CouponID)
	}
	return list, err
}

// downloadCodes writes codes of a coupon as CSV, page by page. A download may take longer than other requests: each page
// has the time of a request, and the connection is broken off if the rest cannot be read. So a file that arrives whole is
// complete.
func (a *API) downloadCodes(w http.ResponseWriter, r *http.Request) error {
	list, err := a.readExport(r)
	if err != nil {
		return err
	}
	page, err := a.Service.ListCodes(r.Context(), list)
	if err != nil {
		return err
	}
	out, err := codecsv.NewWriter(w, codecsv.WriteOptions{ByteOrderMark: true})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(list.Batch)}))
	// After an error, the connection is broken off: a program must not take a part for the whole.
	if err := a.writePages(w, r, list, page, out); err != nil {
		a.Logger.WarnContext(r.Context(), "a download of codes was broken off", slog.String("coupon", list.CouponID), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (a *API) writePages(w http.ResponseWriter, r *http.Request, list store.CodeList, page store.CodePage, out *codecsv.Writer) error {
	connection := http.NewResponseController(w)
	for {
		// A test without a connection has no deadline that could pass.
		_ = connection.SetWriteDeadline(time.Now().Add(requestTime))
		for _, c := range page.Items {
			if err := out.Write(c); err != nil {
				return err
			}
		}
		if list.After = page.Next; list.After == "" {
			return out.Flush()
		}
		var err error
		if page, err = a.nextCodes(r, list); err != nil {
			return err
		}
	}
}

// nextCodes reads a page with a deadline of its own. A customer who hangs up is noticed when the page is written.
func (a *API) nextCodes(r *http.Request, list store.CodeList) (store.CodePage, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTime)
	defer cancel()
	return a.Service.ListCodes(ctx, list)
}

// fileName names a file after a batch, if there is one.
func fileName(batch string) string {
	if batch == "" {
		return "codes.csv"
	}
	return "codes-" + strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, batch) + ".csv"
}
