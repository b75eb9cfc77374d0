// Package enum names the values of enumerations, for their text form.
package enum

import (
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// Names are the names of an enumeration by value. A value whose name is empty is unknown.
type Names []string

// Of returns the name of a value, or "".
func (n Names) Of(value uint8) string {
	if int(value) < len(n) {
		return n[value]
	}
	return ""
}

// GoString formats a value of a type for the messages of failed tests. A value without a name is shown by its
// number.
func (n Names) GoString(typeName string, value uint8) string {
	name := n.Of(value)
	if name == "" {
		name = strconv.Itoa(int(value))
	}
	return typeName + "(" + name + ")"
}

// Parse sets *value to the value with the name. For an unknown name, *value becomes 0 and Parse returns a
// [*validation.Error] with the message of [Names.Rule].
func (n Names) Parse(text []byte, value *uint8) error {
	*value = 0
	for i, name := range n {
		if name != "" && name == string(text) {
			*value = uint8(i)
			return nil
		}
	}
	return validation.New("", validation.Unknown, n.Rule())
}

// Rule returns the rule for a name, such as "must be DAY, WEEK or MONTH".
func (n Names) Rule() string {
	known := n
	if len(known) > 0 && known[0] == "" {
		known = known[1:]
	}
	last := len(known) - 1
	return "must be " + strings.Join(known[:last], ", ") + " or " + known[last]
}
