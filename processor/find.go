package processor

import (
	"context"
	"time"
)

// SessionFinder is an optional interface of a [Processor]. It finds the session of an order whose
// session ID was lost. The ID is lost if the caller ends between CreateSession and storing the ID.
// The customer can then pay a session that the caller does not know.
type SessionFinder interface {
	// FindSession returns the newest session of the order that has not expired, in its current state.
	// If all sessions of the order have expired, FindSession returns the newest of them. The order is
	// that of the [MetadataOrderID] in the session's metadata.
	//
	// FindSession searches the sessions that were created at or after since, up to now. A repeated
	// CreateSession may return a session of an earlier call. The caller should therefore pass the time
	// at which the order's first CreateSession call began, by the caller's clock. The clock of the
	// processor may differ. An adapter may begin its search some minutes earlier.
	//
	// FindSession returns these errors:
	//
	//   - [ErrNotFound] means that no such session exists. The session of a CreateSession call that is
	//     still running may be missing from the search. The caller should therefore ask again when every
	//     call has ended.
	//   - [ErrRejected] means that orderID is empty or that since is zero.
	//   - [ErrUnavailable] also means that there are too many sessions to search. The session may exist.
	//   - [ErrForbidden].
	FindSession(ctx context.Context, orderID string, since time.Time) (Session, error)
}
