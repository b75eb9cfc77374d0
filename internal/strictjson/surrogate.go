package strictjson

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf16"
)

// halfPair reports whether a JSON text has an escape of half a surrogate pair. The standard library
// would decode it as another character.
func halfPair(data []byte) bool {
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i < len(data)-1; i++ {
		if data[i] != '\\' {
			continue
		}
		unit, is := escaped(data[i:])
		if !is {
			i++ // skip the escaped character
			continue
		}
		if utf16.IsSurrogate(unit) {
			other, _ := escaped(data[i+unitLength:])
			if utf16.DecodeRune(unit, other) == unicode.ReplacementChar {
				return true
			}
			i += unitLength
		}
		i += unitLength - 1
	}
	return false
}

const unitLength = len(`\u0000`)

// escaped returns the UTF-16 unit of an escape such as \u00e9.
func escaped(data []byte) (unit rune, is bool) {
	if len(data) < unitLength || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:unitLength]), 16, 16)
	return rune(n), err == nil
}
