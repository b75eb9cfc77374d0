package codecsv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// field is the meaning of a column.
type field string

// Names of fields. Fields of drafts have their JSON names.
const (
	code      field = "code"
	owner     field = "owner"
	recipient field = "recipient"
	maxUses   field = "maxUses"
	limitval  field = "limitval"
	usedCount field = "usedCount"
	expiresAt field = "expiresAt"
	active    field = "active"

	// address is a column of addresses of owners.
	address field = "address"

	// A code cannot store these fields.
	startsAt      field = "startsAt"
	discountLimit field = "discountLimit"
	limits        field = "limits"
	interval      field = "validityInterval"
	duration      field = "validityDuration"
	weekdays      field = "weekdays"
	reservation   field = "reservation"
	voucherType   field = "voucherType"
	deleted       field = "deleted"

	ignored field = ""
)

// name returns the name of the field in faults.
func (f field) name() string {
	if f == recipient || f == address {
		f = owner
	}
	if f == limitval {
		f = maxUses
	}
	return string(f)
}

// fieldOf returns the field of a column.
func fieldOf(name string) field {
	switch plain(name) {
	case "code":
		return code
	case "owner":
		return owner
	case "recipientintegrationid", "customerid":
		return recipient
	case "email", "emailaddress":
		return address
	case "maxuses", "redemptionlimit", "redemptionquantity":
		return maxUses
	case "limitval":
		return limitval
	case "usedcount", "counter", "redeemedquantity", "redemptioncount":
		return usedCount
	case "expiresat", "expirydate", "expirationdate":
		return expiresAt
	case "active":
		return active
	case "startdate", "startsat":
		return startsAt
	case "discountlimit", "discountlimitval", "discountamountlimit":
		return discountLimit
	case "validitytimeframeinterval":
		return interval
	case "validitytimeframeduration":
		return duration
	case "validitydayofweek":
		return weekdays
	case "isreservationmandatory":
		return reservation
	case "limits":
		return limits
	case "vouchertype":
		return voucherType
	case "deleted":
		return deleted
	default:
		return ignored
	}
}

// plain returns the name of a column in the form used for comparison.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", "\u00a0", "").Replace(name))
}

// columns is the header of a file.
type columns struct {
	names  []string
	fields []field
	talon  bool // the codes are in a column named "value"
	many   bool // there are more than MaxColumns
	needed []field
	lacks  string // why a file without a needed column is refused
	// headless is true if the first row names no columns, because it is a row like the others.
	headless bool
}

// columnsOf returns the columns of a header.
func columnsOf(header record) columns {
	names := header.cells
	c := columns{
		names: names, fields: make([]field, len(names)), many: header.tooLong,
		needed: []field{code}, lacks: "the first row names no column of codes, such as code",
	}
	for i, name := range names {
		c.fields[i] = fieldOf(original(name))
	}
	if slices.Contains(c.fields, voucherType) {
		// A customer of Voucherify got the voucher, but others may use it.
		for i, name := range names {
			if plain(original(name)) == "customerid" {
				c.fields[i] = ignored
			}
		}
	}
	if !slices.Contains(c.fields, code) {
		for i, name := range names {
			if plain(original(name)) == "value" {
				c.fields[i], c.talon = code, true
			}
		}
	}
	return c
}

// known returns the number of columns with a known field.
func (c columns) known() (n int) {
	for _, f := range c.fields {
		if f != ignored {
			n++
		}
	}
	return n
}

// ignore marks the named columns as ignored.
func (c columns) ignore(names []string) {
	for i, name := range c.names {
		if slices.ContainsFunc(names, func(other string) bool { return plain(other) == plain(original(name)) }) {
			c.fields[i] = ignored
		}
	}
}

// validate checks that there is a needed column, and that no two columns have the same field.
func (c columns) validate() error {
	var faults validation.Error
	if !slices.ContainsFunc(c.fields, func(f field) bool { return slices.Contains(c.needed, f) }) {
		faults.Add(c.needed[0].name(), validation.Required, c.lacks)
	}
	if c.many {
		faults.Add("row", validation.TooLong, fmt.Sprintf("the first row has more than %d cells", MaxColumns))
	}
	first := map[string]int{}
	for i, f := range c.fields {
		before, twice := first[f.name()]
		if twice && f != ignored {
			faults.Add(f.name(), validation.Mismatch, fmt.Sprintf("columns %d and %d have the same field", before+1, i+1))
		} else {
			first[f.name()] = i
		}
	}
	return faults.Err()
}
