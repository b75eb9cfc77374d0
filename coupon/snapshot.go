package coupon

import (
	"encoding/json"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// Snapshot holds the terms of a coupon at the time of a checkout (specification 2.5). An order
// keeps a Snapshot of its coupon. Editing or deleting the coupon does not change the Snapshot. A
// Snapshot contains no audience and no limits: no distribution, no e-mail address, no points and no
// customer tags.
type Snapshot struct {
	ID   string
	Code Code
	Name string
	Terms
	Revision int64
}

// Snapshot returns the current terms of the coupon.
func (c Coupon) Snapshot() Snapshot {
	s := Snapshot{ID: c.ID, Code: c.Code, Name: c.Name, Terms: c.Terms, Revision: c.Revision}
	s.Distribution, s.AllowedUserEmails, s.PointsRequired, s.Limits = 0, EmailSet{}, 0, Limits{}
	s.Conditions.CustomerTags = CustomerTags{}
	return s
}

// MarshalJSON returns the snapshot as a JSON object with the field names of contract section 7.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID   string `json:"id"`
		Code Code   `json:"code"`
		Name string `json:"name"`
		wireTerms
		Revision int64 `json:"revision"`
	}{s.ID, s.Code, s.Name, s.publicWire(), s.Revision})
}

// UnmarshalJSON reads the JSON form of a Snapshot. Unknown fields are ignored. JSON null leaves *s
// unchanged. The fields appliesTo, discountType, currency and refundPolicy are
// required.
// UnmarshalJSON returns a [*validation.Error] that lists every malformed or missing field,
// and leaves *s unchanged.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var d snapshotDocument
	if err := snapshotReader.Stored(data, &d); err != nil {
		return err
	}
	d.Distribution = General // which is required of a coupon
	var faults validation.Error
	read := Snapshot{ID: d.ID, Code: d.Code, Name: d.Name, Terms: d.terms(&faults), Revision: d.Revision}
	if err := faults.Err(); err != nil {
		return err
	}
	read.Distribution, read.AllowedUserEmails = 0, EmailSet{}
	*s = read
	return nil
}

// snapshotDocument is a snapshot in JSON, as it is read.
type snapshotDocument struct {
	ID   string `json:"id"`
	Code Code   `json:"code"`
	termsDocument
	Revision int64 `json:"revision"`
}

var snapshotReader = strictjson.For[snapshotDocument]()
