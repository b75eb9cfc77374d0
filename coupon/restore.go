package coupon

// Restore tells when a refund gives a use of a coupon back.
type Restore uint8

// These constants are the values of Restore.
const (
	// RestoreFull gives the use and the budget back when everything is refunded. RestoreFull is the
	// default.
	RestoreFull Restore = iota
	// RestoreAlways gives the use back at the first refund. It gives the budget back by the
	// discount that each refund takes back.
	RestoreAlways
	// RestoreNever gives nothing back.
	RestoreNever
)

// String returns the JSON name: "full", "always" or "never".
func (r Restore) String() string {
	switch r {
	case RestoreFull:
		return "full"
	case RestoreAlways:
		return "always"
	case RestoreNever:
		return "never"
	}
	return ""
}

// GoString formats the value for the messages of failed tests.
func (r Restore) GoString() string { return goString("Restore", r.String(), uint8(r)) }

// ParseRestore returns the Restore with the given name. For an unknown name, ParseRestore returns a
// [*validation.Error].
func ParseRestore(text string) (Restore, error) {
	for r := RestoreFull; r <= RestoreNever; r++ {
		if r.String() == text {
			return r, nil
		}
	}
	return 0, unknown(restoreMessage)
}

const restoreMessage = "must be full, always or never"

// MarshalText returns the same name as String.
func (r Restore) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText works like [ParseRestore]. If UnmarshalText fails, *r becomes zero.
func (r *Restore) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRestore(string(text))
	return err
}
