package store

import (
	"context"
	"iter"
)

// Verifier is an optional interface of a [Store]. It recounts what the store counts.
type Verifier interface {
	// Verify recounts every counter from the orders and the uses, and the codes of every batch, all in one consistent
	// state of the store. It yields each stored number that the records do not confirm, in no particular order.
	// Without a difference, the sequence is empty. Verify needs memory for one difference at a time, and changes nothing.
	// Other callers may read and write meanwhile. The loop must not call the store.
	//
	// After an error, the sequence ends. A record whose claims cannot be read is an [*UnreadableError]. Verify need not
	// read other parts of a record.
	Verify(ctx context.Context) iter.Seq2[Difference, error]
}

// Difference is a stored number that the records do not confirm.
type Difference struct {
	// Counter is the key of the counter. For the codes of a batch, it is [eligibility.BatchUses] of the batch.
	Counter string     `json:"counter"`
	Number  NumberKind `json:"number"`
	// Counted is the number that is stored. Recounted is the number according to the records.
	Counted   int64 `json:"counted"`
	Recounted int64 `json:"recounted"`
}

// NumberKind tells what a number counts.
type NumberKind string

// These constants are the kinds of numbers that are recounted.
const (
	// ReservedClaims and CompletedClaims are the two numbers of an [eligibility.Count].
	ReservedClaims  NumberKind = "reserved"
	CompletedClaims NumberKind = "completed"
	// BatchCodes, AssignedCodes and InactiveCodes count codes of a batch: all that were not removed, those with an owner,
	// and those that are switched off.
	BatchCodes    NumberKind = "codes"
	AssignedCodes NumberKind = "assigned"
	InactiveCodes NumberKind = "inactive"
)
