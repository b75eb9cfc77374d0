package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// failingImports fails to save the second part of an import.
type failingImports struct {
	store.Store

	parts int
}

func (s *failingImports) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	if c.Kind == store.ImportCodes {
		if s.parts++; s.parts == 2 {
			return nil, errors.New("the database has gone")
		}
	}
	return s.Store.SaveCodes(ctx, c)
}

// uploads returns what sends a file to a batch of a coupon.
func uploads(t *testing.T, s store.Store) (a *API, id string, send func(file io.Reader) (*httptest.ResponseRecorder, error)) {
	t.Helper()
	service, c := withBatch(t, s, 1)
	a, err := New(Options{Service: service, Shop: &shop.DB{}, Webhook: func(func(context.Context, processor.Event) error) http.Handler { return nil }})
	require.NoError(t, err)
	return a, c.ID, func(file io.Reader) (*httptest.ResponseRecorder, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", file)
		r.Header.Set("Content-Type", "text/csv")
		r.SetPathValue("id", c.ID)
		r.SetPathValue("batch", "file")
		w := httptest.NewRecorder()
		return w, a.importCodes(w, r)
	}
}

// TestAnImportThatFails: the rows before the failure have verdicts, and the last line tells that rows are missing.
func TestAnImportThatFails(t *testing.T) {
	t.Parallel()
	_, _, send := uploads(t, &failingImports{Store: memstore.New()})
	var file strings.Builder
	file.WriteString("code\n")
	for i := range 2*store.MaxNewCodes + 1 {
		fmt.Fprintf(&file, "CODE-%d\n", i)
	}
	w, err := send(strings.NewReader(file.String()))
	require.NoError(t, err)
	lines := bufio.NewScanner(w.Body)
	rows, last := 0, summary{}
	for lines.Scan() {
		last = summary{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &last))
		rows++
	}
	require.NoError(t, lines.Err())
	require.Equal(t, store.MaxNewCodes+1, rows)
	require.False(t, last.Done)
	require.Equal(t, "unavailable", last.Problem.Code)
	require.NotContains(t, last.Problem.Detail, "database")
}

// TestUploadsThatAreRefused: a body that breaks off imports nothing, and few files are read at a time.
func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	a, id, send := uploads(t, memstore.New())
	_, err := send(io.MultiReader(strings.NewReader("code\nA\n"), iotest.ErrReader(errors.New("connection reset"))))
	require.Equal(t, "bad_request", problemOf(err).Code)
	for range maxUploads {
		a.uploads <- struct{}{}
	}
	_, err = send(strings.NewReader("code\nA\n"))
	require.Equal(t, "unavailable", problemOf(err).Code)
	<-a.uploads
	page, err := a.Service.ListCodes(t.Context(), store.CodeList{CouponID: id, Batch: "file"})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	_, err = send(strings.NewReader("code\nA\n"))
	require.NoError(t, err)
	require.Len(t, a.uploads, maxUploads-1)
}

// hungUp is a client that reads nothing.
type hungUp struct{ *httptest.ResponseRecorder }

func (hungUp) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestAClientThatHangsUp: the connection is broken off, and what was imported stays.
func TestAClientThatHangsUp(t *testing.T) {
	t.Parallel()
	a, id, _ := uploads(t, memstore.New())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("code\nA\n"))
	r.Header.Set("Content-Type", "text/csv")
	r.SetPathValue("id", id)
	r.SetPathValue("batch", "file")
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { _ = a.importCodes(hungUp{httptest.NewRecorder()}, r) })
	require.Empty(t, a.uploads)
	c, err := a.Service.FindCode(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "file", c.Batch)
}
