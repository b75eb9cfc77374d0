package codecsv

import (
	"io"
	"iter"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// Recipient is a row of a list of customers who are to get a code. It is accepted, or refused with a Refusal.
type Recipient struct {
	// Number is the number of the row, as in [Row].
	Number int64
	// Owner is the customer. In a refused row, it is zero.
	Owner coupon.Owner
	// Refusal is nil, or a [*validation.Error] that names every invalid field.
	Refusal error
}

// RecipientReader reads a list of customers. It is not safe for concurrent use.
type RecipientReader struct{ file }

// NewRecipientReader reads the header of a list of customers. The errors are those of [NewReader], but the header names one
// column of customers: owner with the owners of codes, customerId or recipientintegrationid with customer IDs, or email with
// addresses. A list whose first row is an owner has no header, and one column of owners.
func NewRecipientReader(file io.Reader, o Options) (*RecipientReader, error) {
	r := new(RecipientReader)
	if err := r.open(file, o, recipientColumns); err != nil {
		return nil, err
	}
	return r, nil
}

// recipientColumns returns the columns of a header of recipients.
func recipientColumns(header record) columns {
	c := columns{
		names: header.cells, fields: make([]field, len(header.cells)), many: header.tooLong,
		needed: []field{owner, recipient, address}, lacks: "the first row names no column of customers, such as email",
	}
	for i, name := range header.cells {
		switch plain(original(name)) {
		case "owner":
			c.fields[i] = owner
		case "customerid", "recipientintegrationid":
			c.fields[i] = recipient
		case "email", "emailaddress":
			c.fields[i] = address
		}
	}
	// A separator within the row could separate the customer from other cells.
	if len(c.names) == 1 && c.fields[0] == ignored && !strings.ContainsAny(c.names[0], separators) {
		if _, err := ownerOf(owner, original(c.names[0])); err == nil {
			c.names, c.fields, c.headless = []string{owner.name()}, []field{owner}, true
		}
	}
	return c
}

// Recipients returns the rows after the header, each of them accepted or refused. After an [*Error], the sequence ends.
// Recipients reads on where an earlier sequence has stopped.
func (r *RecipientReader) Recipients() iter.Seq2[Recipient, error] {
	return func(yield func(Recipient, error) bool) {
		for read, err := range r.records() {
			switch {
			case err != nil:
				yield(Recipient{Number: r.row}, err)
				return
			case !yield(r.recipientOf(read), nil):
				return
			}
		}
	}
}

func (r *RecipientReader) recipientOf(read record) Recipient {
	to := Recipient{Number: r.row, Refusal: r.check(read)}
	for i, f := range r.columns.fields {
		if to.Refusal != nil || f == ignored {
			continue
		}
		var faults validation.Error
		customer, err := ownerOf(f, original(read.cell(i)))
		faults.At(owner.name(), err)
		if to.Refusal = faults.Err(); to.Refusal == nil {
			to.Owner = customer
		}
	}
	return to
}

// ownerOf reads a cell that names a customer.
func ownerOf(f field, cell string) (coupon.Owner, error) {
	switch {
	case strings.TrimSpace(cell) == "":
		return coupon.Owner{}, validation.New("", validation.Required, "a customer is required")
	case f == recipient:
		return coupon.ParseOwner(coupon.OwnerID(cell).String())
	case f == address:
		return coupon.ParseOwner(coupon.OwnerEmail(cell).String())
	default:
		return coupon.TypedOwner(cell)
	}
}
