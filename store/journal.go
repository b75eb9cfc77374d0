package store

import (
	"encoding/json"
	"time"
)

// EntryKind is what a journal entry tells of.
type EntryKind string

// The kinds of entries.
const (
	CouponCreated   EntryKind = "coupon_created"
	CouponChanged   EntryKind = "coupon_changed"
	CouponMirrored  EntryKind = "coupon_mirrored"
	CouponDeleted   EntryKind = "coupon_deleted"
	OrderOpened     EntryKind = "order_opened"
	OrderChanged    EntryKind = "order_changed" // a session, or a payment that is on its way
	OrderPaid       EntryKind = "order_paid"
	OrderCancelled  EntryKind = "order_cancelled"
	PointsReserved  EntryKind = "points_reserved"
	PointsChanged   EntryKind = "points_changed"
	PointsGivenBack EntryKind = "points_given_back"
)

// Entry is one change, written in the transaction that made it.
type Entry struct {
	// Position is where the entry stands in the journal, from 1. It is 0 until the entry
	// has a position.
	Position int64     `json:"position"`
	Kind     EntryKind `json:"kind"`
	// Subject is the ID of the coupon, order or use that has changed.
	Subject string `json:"subject"`
	// Version counts the changes of the subject, from 1. A coupon whose ID was used by a
	// deleted coupon begins at 1 again. Changes of a use stand in entries about the use,
	// or in the data of entries about its order.
	Version int64 `json:"version"`
	// At is the instant of the change.
	At time.Time `json:"at"`
	// By is who made the change; empty is the system.
	By string `json:"by,omitempty"`
	// Data tells what has changed, as JSON: before and after of a coupon, the cause and
	// the uses of an order.
	Data json.RawMessage `json:"data,omitempty"`
}

// MaxJournalLimit is the most entries of one read.
const MaxJournalLimit = 1_000
