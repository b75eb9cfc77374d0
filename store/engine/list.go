package engine

import (
	"errors"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// List collects the rows of a list. A row that cannot be read does not end the list. The zero value
// is an empty list.
type List[R coupon.Coupon | store.Settled | redemption.Use] struct {
	// Records are the records in the order of the list. A record that cannot be read has its ID and
	// its creation time.
	Records []R

	unreadable map[int]*store.UnreadableError // by index in Records
}

// Add appends a record. The error is the error of reading the record. Add returns every error
// except a [*store.UnreadableError].
func (l *List[R]) Add(record R, err error) error {
	l.Records = append(l.Records, record)
	return l.note(len(l.Records)-1, err)
}

// note remembers that a record cannot be read. It returns every error except a
// [*store.UnreadableError].
func (l *List[R]) note(index int, err error) error {
	var unreadable *store.UnreadableError
	if !errors.As(err, &unreadable) {
		return err
	}
	if l.unreadable == nil {
		l.unreadable = map[int]*store.UnreadableError{}
	}
	if l.unreadable[index] == nil {
		l.unreadable[index] = unreadable
	}
	return nil
}

// NoteUse remembers that an order cannot be read because one of its uses cannot be read. It returns
// every error except a [*store.UnreadableError].
func NoteUse(l *List[store.Settled], index int, err error) error {
	var use *store.UnreadableError
	if !errors.As(err, &use) {
		return err
	}
	return l.note(index, unreadable("order", l.Records[index].Order.ID, use.Kind+" "+use.ID, errors.New(use.Reason)))
}

// Unreadable returns the error of a record that cannot be read, or nil.
func (l *List[R]) Unreadable(index int) *store.UnreadableError { return l.unreadable[index] }

// First returns the first record or its error. If the list is empty, First returns
// store.ErrNotFound.
func (l *List[R]) First() (record R, err error) {
	if len(l.Records) == 0 {
		return record, store.ErrNotFound
	}
	if unreadable := l.unreadable[0]; unreadable != nil {
		return record, unreadable
	}
	return l.Records[0], nil
}

// Page returns the first records of the list, at most size, the errors of those that cannot be
// read, and the cursor of the next page. The cursor is empty if the list has no further record.
// Stores collect one record more than a page has. The list must not be used afterwards.
func (l *List[R]) Page(size int) (items []R, unreadable []*store.UnreadableError, next string) {
	records, next := store.Cut(l.Records, size)
	for i := range records {
		if err := l.unreadable[i]; err != nil {
			unreadable = append(unreadable, err)
		}
	}
	if unreadable == nil {
		return records, nil, next
	}
	i := -1
	return slices.DeleteFunc(records, func(R) bool {
		i++
		return l.unreadable[i] != nil
	}), unreadable, next
}
