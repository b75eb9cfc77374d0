package calendar

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/validation"
)

// MaxZoneLength is the maximum length of the name of a time zone, in bytes.
const MaxZoneLength = 64

// Zone is an IANA time zone, such as "Europe/Berlin". The zero Zone means that there is no time
// zone.
type Zone struct{ location *time.Location }

// ParseZone returns the Zone with the given name in the time zone database of the system, or of the package
// time/tzdata. For an unknown name, and for one that means something else on another system, such as "Local" and
// "right/Europe/Berlin", ParseZone returns a [*validation.Error].
func ParseZone(name string) (Zone, error) {
	directory, _, _ := strings.Cut(name, "/")
	if name != "" && len(name) <= MaxZoneLength && !slices.Contains([]string{"Local", "localtime", "posixrules", "posix", "right"}, directory) {
		if location, err := time.LoadLocation(name); err == nil {
			return Zone{location: location}, nil
		}
	}
	return Zone{}, validation.New("", validation.Unknown, `must be an IANA time zone such as "Europe/Berlin"`)
}

// StoredZone is like [ParseZone], but a time zone that the system does not know keeps its name and has the times
// of UTC.
func StoredZone(name string) (Zone, error) {
	zone, err := ParseZone(name)
	if err != nil && name != "" && len(name) <= MaxZoneLength {
		return Zone{location: time.FixedZone(name, 0)}, nil
	}
	return zone, err
}

// Location returns the time zone for use with package time. The zero Zone has that of UTC.
func (z Zone) Location() *time.Location { return cmp.Or(z.location, time.UTC) }

// String returns the name of the time zone. For the zero Zone, String returns "".
func (z Zone) String() string {
	if z.IsZero() {
		return ""
	}
	return z.location.String()
}

// GoString formats the time zone for the messages of failed tests.
func (z Zone) GoString() string { return fmt.Sprintf("calendar.Zone(%s)", z) }

// IsZero reports whether z is the zero Zone.
func (z Zone) IsZero() bool { return z.location == nil }

// Equal reports whether y and z have the same name.
func (z Zone) Equal(y Zone) bool { return z.String() == y.String() }

// MarshalText returns the name of the time zone.
func (z Zone) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText works like [ParseZone]. If UnmarshalText fails, *z stays unchanged.
func (z *Zone) UnmarshalText(text []byte) error {
	zone, err := ParseZone(string(text))
	if err == nil {
		*z = zone
	}
	return err
}
