package coupon

import (
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/internal/appendjson"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// Snapshot holds the terms of a coupon at the time of a checkout, which an order keeps (specification 2.5). It has no
// audience and no limits: no distribution, no e-mail address, no points and no customer tags.
type Snapshot struct {
	ID string
	// Code is the code by which the coupon came. It is zero for an automatic coupon that came by itself.
	Code Code
	Name string
	Terms
	Revision int64
}

// Snapshot returns the current terms of the coupon.
func (c Coupon) Snapshot() Snapshot {
	s := Snapshot{ID: c.ID, Code: c.Code, Name: c.Name, Terms: c.Terms, Revision: c.Revision}
	s.Automatic, s.Distribution, s.AllowedUserEmails, s.PointsRequired, s.Limits = false, 0, EmailSet{}, 0, Limits{}
	s.Conditions.CustomerTags = CustomerTags{}
	return s
}

// MarshalJSON returns the snapshot as a JSON object with the field names of contract section 7.
func (s Snapshot) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// AppendJSON appends the JSON of [Snapshot.MarshalJSON] to dst.
func (s *Snapshot) AppendJSON(dst []byte) ([]byte, error) {
	dst = appendjson.TextMember(append(dst, '{'), "id", s.ID)
	dst = appendjson.OptionalText(dst, "code", s.Code.String())
	dst, err := s.appendMembers(appendjson.TextMember(dst, "name", s.Name), nil, false)
	if err != nil {
		return nil, err
	}
	return append(appendjson.IntMember(dst, "revision", s.Revision), '}'), nil
}

// UnmarshalJSON reads the JSON form of a Snapshot. Unknown fields are ignored. JSON null leaves *s unchanged. A time
// zone that the system does not know keeps its name and has the times of UTC. The error is a [*validation.Error] that
// lists every malformed or missing field, and *s stays unchanged.
func (s *Snapshot) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var d snapshotDocument
	if err := snapshotReader.Stored(data, &d); err != nil {
		return err
	}
	d.Distribution = General // a coupon requires a distribution
	var faults validation.Error
	read := Snapshot{ID: d.ID, Code: d.Code, Name: d.Name, Revision: d.Revision}
	d.terms(&read.Terms, &faults)
	read.Conditions.Schedule = calendar.Schedule{Zone: d.Schedule.Zone.Zone, Hours: d.Schedule.Hours}
	if err := faults.Err(); err != nil {
		return err
	}
	read.Automatic, read.Distribution, read.AllowedUserEmails = false, 0, EmailSet{}
	*s = read
	return nil
}

// snapshotDocument is a snapshot in JSON, for decoding.
type snapshotDocument struct {
	ID   string `json:"id"`
	Code Code   `json:"code"`
	termsDocument
	Schedule snapshotSchedule `json:"schedule"`
	Revision int64            `json:"revision"`
}

// snapshotSchedule is a schedule whose time zone may be unknown to the system. No rule uses the
// schedule of a snapshot, so the order stays readable.
type snapshotSchedule struct {
	Zone  namedZone        `json:"timeZone"`
	Hours []calendar.Hours `json:"hours"`
}

type namedZone struct{ calendar.Zone }

// UnmarshalText works like [calendar.StoredZone].
func (z *namedZone) UnmarshalText(text []byte) (err error) {
	z.Zone, err = calendar.StoredZone(string(text))
	return err
}

var snapshotReader = strictjson.For[snapshotDocument]()
