package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

const (
	// DefaultBatchTime is the time for which one request works on a batch. It leaves room within requestTime for a slow
	// part, and for the answer.
	DefaultBatchTime = 5 * time.Second
	// batchPart is the maximum number of codes that one request adds to a batch.
	batchPart = 20_000
)

// Batches are batches of a coupon, sorted by their IDs.
type Batches struct {
	Items []coupon.IssuedBatch `json:"items"`
	// Next asks for the next page. It is empty on the last page.
	Next string `json:"next"`
}

func (a *API) batches(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("after", "pageSize")
	size := q.number("pageSize", store.DefaultPageSize, store.MaxPageSize)
	list := store.BatchList{CouponID: r.PathValue("id"), After: q.text("after"), PageSize: min(size+1, store.MaxPageSize)}
	_, err := list.Normalize()
	q.faults.Merge("", err)
	if err := q.faults.Err(); err != nil {
		return err
	}
	if _, err := a.Service.Get(r.Context(), list.CouponID); err != nil {
		return err
	}
	view := Batches{Items: []coupon.IssuedBatch{}}
	for b, err := range a.Service.Batches(r.Context(), list) {
		if err != nil {
			return err
		}
		if len(view.Items) == size {
			view.Next = view.Items[size-1].ID
			break
		}
		view.Items = append(view.Items, b)
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// batchID returns the ID of the batch in the path of a request. Browsers treat . and .. as directories.
// The address of such a batch has a space after the dots.
func batchID(r *http.Request) string {
	id := r.PathValue("batch")
	if dots := strings.TrimSpace(id); dots == "." || dots == ".." {
		return dots
	}
	return id
}

// batchOf returns the batch that the path of a request names, or coupon.ErrNotFound.
func (a *API) batchOf(ctx context.Context, couponID, id string) (coupon.IssuedBatch, error) {
	if id != "" && len(id) <= coupon.MaxBatchIDLength {
		for b, err := range a.Service.Batches(ctx, store.BatchList{CouponID: couponID, ID: id, PageSize: 1}) {
			return b, err
		}
	}
	return coupon.IssuedBatch{}, coupon.Reject(couponID, coupon.CouponNotFound, coupon.Params{})
}

// inPart works on a batch for a bounded time. It answers with the batch: with the status done if the work is done, or 202
// if the same request has to be repeated. If the work made no progress, inPart returns its error.
func (a *API) inPart(w http.ResponseWriter, r *http.Request, id string, done int, work func(context.Context) (coupon.IssuedBatch, error)) error {
	couponID := r.PathValue("id")
	before, err := a.batchOf(r.Context(), couponID, id)
	if err != nil && !errors.Is(err, coupon.ErrNotFound) {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.BatchTime)
	defer cancel()
	b, err := work(ctx)
	if err == nil {
		writeJSON(w, done, b)
		return nil
	}
	if r.Context().Err() != nil || problemOf(err).Status < http.StatusInternalServerError {
		return err
	}
	b, read := a.batchOf(r.Context(), couponID, id)
	if read != nil || b.Added == before.Added && b.Removed == before.Removed && b.Inactive == before.Inactive {
		return err
	}
	writeJSON(w, http.StatusAccepted, b)
	return nil
}

// createBatch generates the codes of a batch, at most batchPart in one request.
func (a *API) createBatch(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	var draft coupon.BatchDraft
	read, err := readForm(r, map[string]any{
		"id": &draft.ID, "shape": &draft.Shape, "count": &draft.Count, "maxUses": &draft.MaxUses, "expiresAt": &draft.ExpiresAt,
	})
	if err != nil {
		return err
	}
	_, err = draft.Code(id, coupon.Edit{At: a.Now(), Location: a.Location})
	var rules validation.Error
	rules.Merge("", err)
	if err := read.besides(rules); err != nil {
		return err
	}
	err = a.inPart(w, r, draft.ID, http.StatusCreated, func(ctx context.Context) (coupon.IssuedBatch, error) {
		ctx, enough := context.WithCancel(ctx)
		defer enough()
		first := int64(-1)
		return a.Service.CreateCodes(ctx, id, draft, func(b coupon.IssuedBatch) {
			if first < 0 {
				first = b.Added
			}
			if b.Added-first >= batchPart-store.MaxNewCodes {
				enough()
			}
		})
	})
	a.audit(r, "create codes", id, err)
	return reusedBatch(err, "id")
}

// reusedBatch returns the problem for the ID of a batch that has other codes. field has the ID. Other errors stay.
func reusedBatch(err error, field string) error {
	if !errors.Is(err, store.ErrKeyReused) {
		return err
	}
	return problem{
		Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused", Title: "The coupon has a batch with this ID and other codes.",
		Errors: []validation.Field{{Path: field, Code: validation.Taken, Message: "the coupon has a batch with this ID and other codes"}},
	}
}

// switchBatch switches all codes of a batch on or off.
func (a *API) switchBatch(w http.ResponseWriter, r *http.Request) error {
	active, err := readActive(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	err = a.inPart(w, r, batchID(r), http.StatusOK, func(ctx context.Context) (coupon.IssuedBatch, error) {
		return a.Service.SetBatchActive(ctx, id, batchID(r), active)
	})
	a.audit(r, "switch a batch of codes", id, err)
	return err
}

// removeUnused removes the unused codes of a batch.
func (a *API) removeUnused(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	err := a.inPart(w, r, batchID(r), http.StatusOK, func(ctx context.Context) (coupon.IssuedBatch, error) {
		return a.Service.RemoveUnusedCodes(ctx, id, batchID(r))
	})
	a.audit(r, "remove unused codes", id, err)
	return err
}

// ownerList has the owners of a request. The reader of JSON stops at the bound.
type ownerList []coupon.Owner

// MaxEntries returns the maximum number of owners in a request.
func (*ownerList) MaxEntries() int { return coupon.MaxCodes }

// assignCodes gives each owner a code of a batch. The same call again has the same answer.
func (a *API) assignCodes(w http.ResponseWriter, r *http.Request) error {
	id, batch := r.PathValue("id"), batchID(r)
	var owners ownerList
	read, err := readForm(r, map[string]any{"owners": &owners})
	if err != nil {
		return err
	}
	var rules validation.Error
	switch {
	case len(owners) == 0:
		rules.Add("owners", validation.Required, "at least one owner")
	case len(owners) > coupon.MaxCodes:
		rules.Add("owners", validation.TooLong, fmt.Sprintf("at most %d owners", coupon.MaxCodes))
	}
	for i, owner := range owners {
		if owner.IsZero() {
			rules.Add(fmt.Sprintf("owners[%d]", i), validation.Required, "an owner is a customer")
		}
	}
	if err := read.besides(rules); err != nil {
		return err
	}
	view := Codes{Items: make([]coupon.IssuedCode, 0, len(owners))}
	for c, failed := range a.Service.AssignCodes(r.Context(), id, batch, func(yield func(coupon.Owner) bool) {
		for _, owner := range owners {
			if !yield(owner) {
				return
			}
		}
	}) {
		if err = failed; err != nil {
			break
		}
		view.Items = append(view.Items, c)
	}
	a.audit(r, "assign codes", id, err)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}
