// Package store is the contract between couponkit and a database.
//
// # Idea
//
// A [Store] keeps coupons, redemptions and orders. Each of its methods is one
// atomic intent (reserve within the limits, settle a session), never a getter to
// be followed by a setter: the store decides under its own lock or transaction,
// and the rules that it applies are the pure functions of package redemption. A
// correct store cannot oversell a coupon, whatever the interleaving.
//
// Hosts that bring a database of their own implement this interface and run
// storetest.Run on it; package memstore is the reference.
//
// # Rules for every method
//
//   - Context comes first; a context that has ended before the call returns its
//     error and changes nothing. A call that returns an error has changed nothing,
//     unless the connection was lost or the context ended meanwhile. Then it was done
//     wholly or not at all, and the caller repeats it: every write can be repeated
//     without doing harm. A context that ended meanwhile is told by its error.
//   - All methods may be called from many goroutines and many processes at once. What a
//     call has changed, every call that begins after it has returned finds, in whichever
//     process.
//   - Values that go in and out are copies: a caller that changes one afterwards
//     changes nothing in the store.
//   - Instants of the years 1 to 9999 are kept to the microsecond, in UTC. Text is
//     compared byte by byte, case-sensitively; a coupon's code arrives as its
//     normalised key.
//   - Text with a NUL or that is not UTF-8 is refused as pricing.ErrInvalid where
//     it would be written, and finds nothing where it is looked for.
//   - After Close, every method returns [ErrClosed].
//
// # Errors
//
// Errors of the contract are the sentinels of this package and rejections of package
// coupon, matched with errors.Is. Where a method names a sentinel of package coupon
// (ErrNotFound, ErrInactive, ErrCodeTaken), the error is a *coupon.Rejection with that
// reason, as coupon.Reject makes it, in the name of the coupon whose ID was given, or of
// none where a code was. It matches no sentinel of this package: the service passes it
// on, and its callers and observers look for the reason. Everything else (a lost
// connection, a full disk) is passed on wrapped, and never looks like one of them.
package store
