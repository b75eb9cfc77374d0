package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ErrTooManyAttempts means that a subject has no attempts left. Every [*TooManyAttemptsError] matches it.
var ErrTooManyAttempts = errors.New("too many attempts")

// These constants are inclusive bounds.
const (
	// MaxSubjects is the maximum number of subjects of one call.
	MaxSubjects = store.MaxBuckets
	// MaxIDLength is the maximum length of [Subject].ID, in bytes.
	MaxIDLength = 1024
	// MaxNameLength is the maximum length of the name of a limit, in bytes.
	MaxNameLength = 32
	// MaxLimits is the maximum number of limits.
	MaxLimits = 64
	// MaxWindow is the longest [Limit].Window.
	MaxWindow = store.MaxBucketSize
)

// Limit is how often a subject may fail: Attempts times at once. Attempts come back evenly over Window, so
// the worst Window has at most twice as many failures.
type Limit struct {
	// Attempts is at least 1, and at most the number of microseconds in Window.
	Attempts int
	// Window is longer than 0, and at most [MaxWindow].
	Window time.Duration
}

// Limits are limits by name. A name has 1 to [MaxNameLength] lower-case letters, digits and underscores.
type Limits map[string]Limit

// Subject is who makes an attempt.
type Subject struct {
	// Limit is the name of the limit that counts, such as "customer".
	Limit string
	// ID identifies the subject among those of the limit. It has 1 to [MaxIDLength] bytes. A limiter keeps
	// only its SHA-256 hash.
	ID string
}

// Limiter limits the failed attempts of subjects. Implementations are safe for concurrent use. [Memory] and
// [Stored] are implementations.
type Limiter interface {
	// Take takes n attempts of every subject, or of none. It returns these errors:
	//
	//   - A [*TooManyAttemptsError] means that a subject has fewer than n attempts left.
	//   - A [*validation.Error] names what is invalid: a subject without ID, a limit that does not exist, a
	//     subject that is named twice, no subjects, a negative n, or an n above the Attempts of a limit.
	//   - Any other error means that the attempts could not be counted, such as the error of the context. The
	//     attempts may have been taken.
	//
	// After any error, do not try what the attempts are for.
	Take(ctx context.Context, n int, subjects ...Subject) error
	// Return gives back n attempts that Take has taken of each subject. Its errors are those of Take, apart
	// from the TooManyAttemptsError.
	Return(ctx context.Context, n int, subjects ...Subject) error
}

// TooManyAttemptsError tells that a subject has too few attempts left. It matches [ErrTooManyAttempts]. It does
// not name the subject, because IDs of subjects may be personal.
type TooManyAttemptsError struct {
	// RetryAt is the instant from which all subjects have enough attempts, if nobody takes any before.
	RetryAt time.Time
}

// Error returns a message with the instant.
func (e *TooManyAttemptsError) Error() string {
	return fmt.Sprintf("%v: try again at %s", ErrTooManyAttempts, e.RetryAt.Format(time.RFC3339))
}

// Is reports whether the target is [ErrTooManyAttempts].
func (e *TooManyAttemptsError) Is(target error) bool { return target == ErrTooManyAttempts }

// Validate returns a [*validation.Error] that names every invalid limit, such as "customer.window".
func (l Limits) Validate() error {
	var faults validation.Error
	switch {
	case len(l) == 0:
		faults.Add("", validation.Required, "at least one limit is required")
	case len(l) > MaxLimits:
		faults.Add("", validation.TooLong, fmt.Sprintf("at most %d limits", MaxLimits))
		return faults.Err()
	}
	for _, name := range l.names() {
		if !isName(name) {
			faults.Add(strconv.Quote(name[:min(len(name), MaxNameLength)]), validation.Malformed,
				fmt.Sprintf("a name has 1 to %d lower-case letters, digits and underscores", MaxNameLength))
			continue
		}
		faults.Merge(name, l[name].faults())
	}
	return faults.Err()
}

// names returns the names in order.
func (l Limits) names() []string {
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isName(name string) bool {
	return name != "" && len(name) <= MaxNameLength &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func (l Limit) faults() error {
	var faults validation.Error
	if l.Attempts < 1 {
		faults.Add("attempts", validation.TooSmall, "at least 1 attempt")
	}
	switch {
	case l.Window <= 0:
		faults.Add("window", validation.TooSmall, "must be longer than 0")
	case l.Window > MaxWindow:
		faults.Add("window", validation.TooLarge, fmt.Sprintf("is at most %v", MaxWindow))
	case l.Attempts >= 1 && l.interval() == 0:
		faults.Add("attempts", validation.TooLarge, "at most 1 attempt in a microsecond")
	}
	return faults.Err()
}

// interval is the time in which one attempt comes back.
func (l Limit) interval() time.Duration {
	return (l.Window / time.Duration(l.Attempts)).Truncate(time.Microsecond)
}

// buckets returns the buckets of subjects, from each of which n attempts are taken. n is positive.
func (l Limits) buckets(n int, subjects []Subject) ([]store.Bucket, error) {
	var faults validation.Error
	switch {
	case len(subjects) == 0:
		faults.Add("subjects", validation.Required, "at least one subject is required")
	case len(subjects) > MaxSubjects:
		faults.Add("subjects", validation.TooLong, fmt.Sprintf("at most %d subjects", MaxSubjects))
		return nil, faults.Err()
	}
	if n < 0 {
		faults.Add("attempts", validation.TooSmall, "is not negative")
	}
	buckets := make([]store.Bucket, len(subjects))
	for i, s := range subjects {
		path := "subjects[" + strconv.Itoa(i) + "]"
		limit, known := l[s.Limit]
		switch {
		case !known:
			faults.Add(path+".limit", validation.Unknown, "there is no such limit")
			continue
		case s.ID == "":
			faults.Add(path+".id", validation.Required, "is required")
		case len(s.ID) > MaxIDLength:
			faults.Add(path+".id", validation.TooLong, fmt.Sprintf("at most %d bytes", MaxIDLength))
		case slices.Contains(subjects[:i], s):
			faults.Add(path, validation.Mismatch, "each subject is named once")
		}
		if n > limit.Attempts {
			faults.Add("attempts", validation.TooLarge, fmt.Sprintf("the limit %s allows %d attempts", s.Limit, limit.Attempts))
			continue
		}
		interval := limit.interval()
		buckets[i] = store.Bucket{Key: s.key(), Size: interval * time.Duration(limit.Attempts), Cost: interval * time.Duration(n)}
	}
	return buckets, faults.Err()
}

// key returns a text of fixed size that identifies the subject.
func (s Subject) key() string {
	const size = 20 // in bytes
	sum := sha256.Sum256([]byte(s.Limit + "\x00" + s.ID))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:size]))
}

// tooMany returns the error for an instant, or nil for the zero time.
func tooMany(retryAt time.Time) error {
	if retryAt.IsZero() {
		return nil
	}
	return &TooManyAttemptsError{RetryAt: calendar.Instant(retryAt)}
}

// isNothing reports whether a valid call changes nothing.
func isNothing(n int, err error) bool { return n == 0 && err == nil }
