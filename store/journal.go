package store

import (
	"encoding/json"
	"time"
)

// EntryKind is the kind of change that a journal entry records.
type EntryKind string

// These constants are the kinds of journal entries.
const (
	CouponCreated   EntryKind = "coupon_created"
	CouponChanged   EntryKind = "coupon_changed"
	CouponMirrored  EntryKind = "coupon_mirrored"
	CouponDeleted   EntryKind = "coupon_deleted"
	CodesAdded      EntryKind = "codes_added"
	CodeChanged     EntryKind = "code_changed"
	CodesChanged    EntryKind = "codes_changed"
	OrderOpened     EntryKind = "order_opened"
	OrderChanged    EntryKind = "order_changed" // a session, also of a paid order, a payment that is on its way, or an identity that was learned late
	OrderPaid       EntryKind = "order_paid"
	OrderCancelled  EntryKind = "order_cancelled"
	OrderRefunded   EntryKind = "order_refunded"
	OrderRepaid     EntryKind = "order_repaid" // what became of the money of a refund, an external refund, a dispute or a second payment
	PointsReserved  EntryKind = "points_reserved"
	PointsChanged   EntryKind = "points_changed"
	PointsGivenBack EntryKind = "points_given_back"
)

// Entry records one change. The entry is written in the same transaction as the change.
type Entry struct {
	// Position is the position of the entry in the journal, starting at 1. An entry that was
	// just written may still have the position 0.
	Position int64     `json:"position"`
	Kind     EntryKind `json:"kind"`
	// Subject is the ID of the coupon, order or use that has changed. A change of codes is one of
	// their coupon.
	Subject string `json:"subject"`
	// Version is the number of changes of the subject so far, starting at 1. If the ID of a
	// deleted coupon is used again, Version starts at 1 again. A change of a use is recorded
	// in an entry about the use, or in Data of an entry about its order.
	Version int64 `json:"version"`
	// At is the time of the change.
	At time.Time `json:"at"`
	// By names who made the change. It is empty for the system.
	By string `json:"by,omitempty"`
	// Data describes the change as JSON. For a coupon, Data contains the coupon before and
	// after the change. For codes, Data contains the batch and the number of new codes, or the
	// code before and after the change, without owners. For an order, Data contains the cause of the change and the uses.
	Data json.RawMessage `json:"data,omitempty"`
}

// MaxJournalLimit is the maximum number of entries that one call of Journal returns.
const MaxJournalLimit = 1_000
