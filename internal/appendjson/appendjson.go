// Package appendjson appends JSON to a buffer. It writes the same bytes as encoding/json. Values
// within values are written once, while encoding/json copies what a [json.Marshaler] returns.
package appendjson

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Text appends a JSON string.
func Text(dst []byte, text string) []byte {
	for i := range len(text) {
		switch b := text[i]; {
		case b < ' ', b >= utf8.RuneSelf, b == '"', b == '\\', b == '<', b == '>', b == '&':
			quoted, _ := json.Marshal(text) // cannot fail for a string
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// Name appends the name of a member and a colon. The name is printable ASCII. If the object in dst
// has members, Name first appends a comma.
func Name(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), '"', ':')
}

// Next appends a comma if the list in dst has entries.
func Next(dst []byte) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// TextMember appends a member that is a string.
func TextMember(dst []byte, name, text string) []byte { return Text(Name(dst, name), text) }

// IntMember appends a member that is a number.
func IntMember(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(Name(dst, name), n, 10)
}

// OptionalText is TextMember, but leaves out the empty text.
func OptionalText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return TextMember(dst, name, text)
}

// OptionalInt is IntMember, but leaves out 0.
func OptionalInt(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return IntMember(dst, name, n)
}

// Value appends what [json.Marshal] returns for a value.
func Value(dst []byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	return append(dst, text...), err
}

// Members appends the members of the object that [json.Marshal] returns for a struct.
func Members(dst []byte, object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil || len(text) == len("{}") {
		return dst, err
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(dst, text[1:len(text)-1]...), nil
}
