package coupon

import (
	"fmt"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/validation"
)

// These constants are inclusive upper bounds for the codes of a coupon.
const (
	MaxCodes         = 1_000      // codes that one call adds to a coupon
	MaxBatchSize     = 10_000_000 // codes of a batch
	MaxBatchIDLength = 64         // bytes of a batch's ID
	MaxOwnerIDLength = 255        // bytes of a customer ID that owns a code
)

// IssuedCode is a code of a coupon. A coupon has one plain code or none, and any number of codes from batches. The zero
// IssuedCode is no code.
type IssuedCode struct {
	// Code is what customers type. Code never changes. No two existing coupons have the same code.
	Code Code `json:"code"`
	// CouponID is the ID of the coupon, even if the coupon was deleted later.
	CouponID string `json:"couponId"`
	// Batch is the ID of the batch in which the code was added. The plain code has none.
	Batch string `json:"batch,omitempty"`
	// MaxUses is the maximum number of uses by this code. A MaxUses of 0 means no limit.
	MaxUses int64 `json:"maxUses,omitempty"`
	// Owner is the only customer who may use the code. The zero Owner means everybody.
	Owner Owner `json:"owner,omitzero"`
	// ExpiresAt is the first instant at which the code is no longer valid. If ExpiresAt is zero, the code is valid as
	// long as its coupon.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Active shows whether the code is switched on. The plain code is switched with its coupon.
	Active bool `json:"active"`
	// UsedCount and ReservedCount are the completed uses and live reservations by this code, which the store counts.
	// Those of the plain code are counted with the coupon only, and both are 0.
	UsedCount     int64 `json:"usedCount"`
	ReservedCount int64 `json:"reservedCount"`
	// CreatedAt and UpdatedAt are instants in UTC with microsecond precision.
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Revision is 1 after creation. Every change increases Revision by 1.
	Revision int64 `json:"revision"`
}

// Plain reports whether the code has no batch, and so no limit, owner or expiry of its own.
func (c IssuedCode) Plain() bool { return c.Batch == "" }

// Validate checks the rules for a stored code. The error is a [*validation.Error] that lists every broken rule.
func (c IssuedCode) Validate() error {
	var faults validation.Error
	c.Code.faults(&faults)
	if key, _ := ParseCode(c.Code.String()); key != c.Code {
		faults.Add("code", validation.Malformed, "must be a code that coupon.ParseCode returned")
	}
	if !IsID(c.CouponID) {
		faults.Add("couponId", validation.Malformed, "must be the ID of a coupon")
	}
	faults.Merge("", batchIDFaults("batch", c.Batch))
	if c.MaxUses < 0 {
		faults.Add("maxUses", validation.TooSmall, "a limit is at least 1")
	}
	faults.Merge("owner", c.Owner.validate())
	faults.At("expiresAt", calendar.CheckInstant(c.ExpiresAt))
	faults.At("createdAt", calendar.CheckInstant(c.CreatedAt))
	faults.At("updatedAt", calendar.CheckInstant(c.UpdatedAt))
	if c.Revision < 1 {
		faults.Add("revision", validation.TooSmall, "a revision is at least 1")
	}
	if c.Plain() && (c.MaxUses != 0 || !c.Owner.IsZero() || !c.ExpiresAt.IsZero() || !c.Active) {
		faults.Add("batch", validation.Required, "a code with a limit, an owner or an expiry has a batch")
	}
	return faults.Err()
}

// Owner is the customer who may use a code. The zero Owner is nobody in particular. Owners can be compared with the
// operator ==.
type Owner struct{ text string }

// Prefixes of the text of an Owner.
const (
	ownerID    = "id:"
	ownerEmail = "email:"
)

// OwnerID returns the Owner with a customer ID.
func OwnerID(id string) Owner {
	if id == "" {
		return Owner{}
	}
	return Owner{ownerID + id}
}

// OwnerEmail returns the Owner with an e-mail address, normalized. [NewCodes] refuses an invalid address.
func OwnerEmail(address string) Owner {
	if address == "" {
		return Owner{}
	}
	if normal, err := email.Parse(address); err == nil {
		address = normal
	}
	return Owner{ownerEmail + address}
}

// ParseOwner reads the text that String returns. It normalizes an e-mail address. The error is a [*validation.Error].
func ParseOwner(text string) (Owner, error) {
	o := Owner{text}
	if address, byEmail := strings.CutPrefix(text, ownerEmail); byEmail && address != "" {
		o = OwnerEmail(address)
	}
	return o, o.validate()
}

// TypedOwner reads an owner that a person typed. It works like [ParseOwner], and also takes an e-mail address without
// "email:".
func TypedOwner(text string) (Owner, error) {
	if strings.Contains(text, "@") && !strings.HasPrefix(text, ownerID) && !strings.HasPrefix(text, ownerEmail) {
		text = ownerEmail + text
	}
	return ParseOwner(text)
}

// IsZero reports whether everybody may use the code.
func (o Owner) IsZero() bool { return o.text == "" }

// String returns "id:" with the customer's ID, "email:" with the address, or nothing.
func (o Owner) String() string { return o.text }

// MarshalText returns the same text as String.
func (o Owner) MarshalText() ([]byte, error) { return []byte(o.text), nil }

// UnmarshalText works like [ParseOwner].
func (o *Owner) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOwner(string(text))
	return err
}

// Equal reports whether o and p are the same owner, for package go-cmp.
func (o Owner) Equal(p Owner) bool { return o == p }

// Is reports whether a customer with the given ID and e-mail address is the owner. The zero Owner is every customer.
func (o Owner) Is(customerID, address string) bool {
	switch {
	case o.IsZero():
		return true
	case strings.HasPrefix(o.text, ownerID):
		return o.text == ownerID+customerID
	}
	normal, err := email.Parse(address)
	return err == nil && o.text == ownerEmail+normal
}

func (o Owner) validate() error {
	var faults validation.Error
	address, byEmail := strings.CutPrefix(o.text, ownerEmail)
	id, byID := strings.CutPrefix(o.text, ownerID)
	switch {
	case o.IsZero():
	case byEmail:
		if normal, err := email.Parse(address); err != nil || normal != address {
			faults.Add("", validation.Malformed, "must be an e-mail address")
		}
	case !byID || id == "":
		faults.Add("", validation.Malformed, `must be "id:" and a customer's ID, or "email:" and an address`)
	case len(id) > MaxOwnerIDLength:
		faults.Add("", validation.TooLong, fmt.Sprintf("at most %d bytes", MaxOwnerIDLength))
	default:
		textFaults(&faults, "", id, MaxOwnerIDLength, false)
	}
	return faults.Err()
}

// Batch has the ID of codes that are added in one call, and the shape of those that are generated.
type Batch struct {
	// ID names the batch within its coupon, in 1 to [MaxBatchIDLength] bytes. A call with the ID of an earlier batch
	// returns the codes of that batch.
	ID    string    `json:"id"`
	Shape CodeShape `json:"shape,omitzero"`
}

// BatchDraft is an administrator's description of a batch of generated codes.
type BatchDraft struct {
	// Batch is the ID and the shape of the codes. A shape with neither Symbols nor Pattern gets as many random symbols as
	// the Count needs, at least [DefaultCodeSymbols].
	Batch

	// Count is the number of codes, from 1 to [MaxBatchSize].
	Count int64 `json:"count"`
	// MaxUses is the maximum number of uses by each code, at least 1. Not given, it is 1. Cleared, there is none.
	MaxUses Optional[int] `json:"maxUses,omitzero"`
	// ExpiresAt is the end of the codes. A date means through the end of that day.
	ExpiresAt calendar.Moment `json:"expiresAt,omitzero"`
}

// Code returns a code of the batch that has no key yet. The error is a [*validation.Error] that names every invalid field,
// such as shape.prefix or count.
func (b BatchDraft) Code(couponID string, by Edit) (IssuedCode, error) {
	var faults validation.Error
	faults.Merge("", b.validate())
	if b.Count < 1 || b.Count > MaxBatchSize {
		faults.Add("count", validation.Malformed, fmt.Sprintf("a batch has 1 to %d codes", MaxBatchSize))
	}
	if !b.MaxUses.Given() {
		b.MaxUses = Set(1)
	}
	c, err := CodeDraft{MaxUses: b.MaxUses, ExpiresAt: b.ExpiresAt}.code(by)
	faults.Merge("", err)
	at := calendar.Instant(by.At)
	c.CouponID, c.Batch, c.Active, c.CreatedAt, c.UpdatedAt, c.Revision = couponID, b.ID, true, at, at, 1
	return c, faults.Err()
}

// IssuedBatch is a batch of codes with its counts. The counts of codes are exact, and cost the same however many codes
// the batch has.
type IssuedBatch struct {
	ID       string `json:"id"`
	CouponID string `json:"couponId"`
	// Fingerprint tells whether a call repeats the one that made the batch.
	Fingerprint string `json:"fingerprint"`
	// Size is the number of codes for which the batch was made. Added is the number of codes that were added. If Added is
	// below Size, a repeated CreateCodes of the service adds the other codes.
	Size  int64 `json:"size"`
	Added int64 `json:"added"`
	// Removed is the number of codes that were removed later.
	Removed int64 `json:"removed"`
	// Assigned is the number of codes that have an owner. Inactive is the number of codes that are switched off.
	Assigned int64 `json:"assigned"`
	Inactive int64 `json:"inactive"`
	// UsedCount and ReservedCount are the completed uses and live reservations by all codes of the batch.
	UsedCount     int64 `json:"usedCount"`
	ReservedCount int64 `json:"reservedCount"`
	// CreatedAt is an instant in UTC with microsecond precision.
	CreatedAt time.Time `json:"createdAt"`
}

// Complete reports whether all codes of the batch were added.
func (b IssuedBatch) Complete() bool { return b.Added == b.Size }

func (b Batch) validate() error {
	var faults validation.Error
	if b.ID == "" {
		faults.Add("id", validation.Required, "a batch has an ID")
	}
	faults.Merge("", batchIDFaults("id", b.ID))
	_, err := b.Shape.Normalize()
	faults.Merge("shape", err)
	return faults.Err()
}

func batchIDFaults(field, id string) error {
	var faults validation.Error
	if len(id) > MaxBatchIDLength {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d bytes", MaxBatchIDLength))
	} else {
		textFaults(&faults, field, id, MaxBatchIDLength, false)
	}
	return faults.Err()
}

// CodeDraft is an administrator's description of a new code.
type CodeDraft struct {
	// Code is the code as an administrator typed it. An empty Code is generated, with the shape of the batch.
	Code  string `json:"code,omitempty"`
	Owner Owner  `json:"owner,omitzero"`
	// MaxUses is the maximum number of uses by the code, at least 1. Not given or cleared, there is none.
	MaxUses Optional[int] `json:"maxUses,omitzero"`
	// ExpiresAt is the end of the code. A date means through the end of that day.
	ExpiresAt calendar.Moment `json:"expiresAt,omitzero"`
}

// NewCodes returns the codes of the drafts. Keys that the drafts leave out are zero. The error is a [*validation.Error]
// that names every invalid field, such as codes[3].owner, also a code that is in the list twice.
//
// Expired codes are a fault only beside other faults, because the batch may be an earlier one. A store refuses them in
// a new batch; see [ExpiredCodes].
func NewCodes(couponID string, b Batch, drafts []CodeDraft, by Edit) ([]IssuedCode, error) {
	var faults validation.Error
	faults.Merge("batch", b.validate())
	switch {
	case len(drafts) == 0:
		faults.Add("codes", validation.Required, "at least one code")
	case len(drafts) > MaxCodes:
		faults.Add("codes", validation.TooLong, fmt.Sprintf("at most %d codes", MaxCodes))
		return nil, faults.Err()
	}
	codes, first := make([]IssuedCode, len(drafts)), make(map[Code]int, len(drafts))
	at := calendar.Instant(by.At)
	for i, d := range drafts {
		c, err := d.code(by)
		if err != nil {
			faults.Merge(fmt.Sprintf("codes[%d]", i), err)
		}
		if before, twice := first[c.Code]; twice {
			faults.Add(fmt.Sprintf("codes[%d].code", i), validation.Mismatch, fmt.Sprintf("is also codes[%d]", before))
		} else if !c.Code.IsZero() {
			first[c.Code] = i
		}
		c.CouponID, c.Batch, c.Active, c.CreatedAt, c.UpdatedAt, c.Revision = couponID, b.ID, true, at, at, 1
		codes[i] = c
	}
	if faults.Err() != nil {
		faults.Merge("", ExpiredCodes(codes))
		return nil, faults.Err()
	}
	return codes, nil
}

// ExpiredCodes returns a [*validation.Error] that names the codes that expire before their creation, or nil.
func ExpiredCodes(codes []IssuedCode) error {
	var faults validation.Error
	for i, c := range codes {
		if !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(c.CreatedAt) {
			faults.Add(fmt.Sprintf("codes[%d].expiresAt", i), validation.TooSmall, "a new code expires after its creation")
		}
	}
	return faults.Err()
}

// Validate checks a draft by itself, with the location of its dates. The error is a [*validation.Error] with the fields
// code, owner, maxUses and expiresAt.
func (d CodeDraft) Validate(location *time.Location) error {
	_, err := d.code(Edit{Location: location})
	return err
}

func (d CodeDraft) code(by Edit) (c IssuedCode, err error) {
	var faults validation.Error
	if d.Code != "" {
		c.Code, err = ParseCode(d.Code)
		faults.Merge("", err)
	}
	faults.Merge("owner", d.Owner.validate())
	c.Owner = d.Owner
	c.MaxUses = limit(d.MaxUses, "maxUses", &faults)
	c.ExpiresAt, err = d.ExpiresAt.End(by.Location)
	faults.At("expiresAt", err)
	return c, faults.Err()
}

// CodePatch changes a code. A field that is not given keeps its value. [Clear] removes a limit, an owner and an expiry.
type CodePatch struct {
	// Revision is the revision that the caller saw. A change of another revision is refused.
	Revision  Optional[int64]           `json:"revision,omitzero"`
	Active    Optional[bool]            `json:"active,omitzero"`
	MaxUses   Optional[int]             `json:"maxUses,omitzero"`
	Owner     Optional[Owner]           `json:"owner,omitzero"`
	ExpiresAt Optional[calendar.Moment] `json:"expiresAt,omitzero"`
}

// Apply returns the code after the change. The expiry may be in the past. Apply returns a [*validation.Error] that
// names every invalid field. All fields of the plain code are immutable: it is changed with its coupon.
func (c IssuedCode) Apply(p CodePatch, by Edit) (IssuedCode, error) {
	var faults validation.Error
	for _, member := range [...]struct {
		field string
		given bool
	}{
		{"active", p.Active.Given()},
		{"maxUses", p.MaxUses.Given()},
		{"owner", p.Owner.Given()},
		{"expiresAt", p.ExpiresAt.Given()},
	} {
		if member.given && c.Plain() {
			faults.Add(member.field, validation.Immutable, "the plain code is changed with its coupon")
		}
	}
	if active, given := p.Active.Value(); given {
		c.Active = active
	} else if p.Active.Given() {
		faults.Add("active", validation.Required, "must be true or false")
	}
	if p.MaxUses.Given() {
		c.MaxUses = limit(p.MaxUses, "maxUses", &faults)
	}
	if p.Owner.Given() {
		c.Owner, _ = p.Owner.Value()
		faults.Merge("owner", c.Owner.validate())
	}
	if p.ExpiresAt.Given() {
		var err error
		c.ExpiresAt, err = p.ExpiresAt.value.End(by.Location)
		faults.At("expiresAt", err)
	}
	c.UpdatedAt = calendar.Instant(by.At)
	return c, faults.Err()
}

// TakenError lists the new codes that other coupons have. It matches [ErrCodeTaken]. No code of the call was added.
type TakenError struct {
	// Taken has one entry for each taken code, in the order of the call.
	Taken []TakenCode
}

// TakenCode is a new code that a coupon has.
type TakenCode struct {
	// Index is the position of the code in the call.
	Index int `json:"index"`
	// Key is the code.
	Key Code `json:"code"`
	// CouponID is the ID of the coupon that has the code.
	CouponID string `json:"couponId"`
}

// Error returns a message with the positions and the codes, at most ten.
func (e *TakenError) Error() string {
	const most = 10
	var text strings.Builder
	text.WriteString("codes are taken:")
	for _, t := range e.Taken[:min(len(e.Taken), most)] {
		fmt.Fprintf(&text, " codes[%d] %s;", t.Index, t.Key)
	}
	if len(e.Taken) > most {
		fmt.Fprintf(&text, " and %d more", len(e.Taken)-most)
	}
	return strings.TrimSuffix(text.String(), ";")
}

// Unwrap returns ErrCodeTaken.
func (e *TakenError) Unwrap() error { return ErrCodeTaken }
