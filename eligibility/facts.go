package eligibility

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// MaxChannelLength is the maximum length of the name of a channel, in code points.
const MaxChannelLength = 64

// Facts are what the host knows about a purchase besides the cart and the customer. Conditions of
// coupons look at them. The zero Facts tells nothing. A coupon whose condition needs a fact that is
// not given is refused.
type Facts struct {
	// Country is the country of delivery, an ISO 3166-1 code of two upper-case letters such as "DE".
	Country string `json:"country,omitempty"`
	// Channel is where the sale happens, such as "web" or "store", at most [MaxChannelLength] code
	// points long. The host chooses the names of its channels. They are compared byte by byte.
	Channel string `json:"channel,omitempty"`
}

// IsZero reports whether no fact is given.
func (f Facts) IsZero() bool { return f == Facts{} }

// Validate checks the forms of the facts that are given. The error is a [*validation.Error]
// that lists every invalid field.
func (f Facts) Validate() error {
	var faults validation.Error
	if f.Country != "" && !coupon.IsCountry(f.Country) {
		faults.Add("country", validation.Malformed, "a country is an ISO 3166-1 code of two upper-case letters")
	}
	switch {
	case !utf8.ValidString(f.Channel):
		faults.Add("channel", validation.Malformed, "must be valid UTF-8 text")
	case utf8.RuneCountInString(f.Channel) > MaxChannelLength:
		faults.Add("channel", validation.TooLong, fmt.Sprintf("at most %d characters", MaxChannelLength))
	}
	return faults.Err()
}

var factsReader = strictjson.For[Facts]()

// UnmarshalJSON reads a JSON object with the members country and channel. Another member is a fault.
// JSON null sets *f to the zero Facts. UnmarshalJSON checks the facts like [Facts.Validate]. If
// UnmarshalJSON fails, *f stays unchanged.
func (f *Facts) UnmarshalJSON(data []byte) error {
	var read Facts
	if !bytes.Equal(data, []byte("null")) {
		if err := factsReader.Object(data, &read); err != nil {
			return err
		}
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*f = read
	return nil
}
