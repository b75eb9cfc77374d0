package main

import (
	"bytes"
	"iter"

	"github.com/couponkit/couponkit/internal/strictjson"
)

// The functions in this file split JSON text. The stream's decoder has already checked that the text is
// well formed, so they do not check it again. Checking is most of a decoder's work. This way, each
// document is checked once, and not once for each level of nesting.

// members yields the fields of an object, in the order of the text.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for rest := afterSpace(object[1:]); rest[0] != '}'; {
			end := endOfValue(rest)
			name, _ := unquote(rest[:end])                // invalid text matches no field
			rest = afterSpace(afterSpace(rest[end:])[1:]) // skip the colon
			end = endOfValue(rest)
			if !yield(name, rest[:end]) {
				return
			}
			rest = afterComma(rest[end:])
		}
	}
}

// elements yields the entries of an array with their indexes.
func elements(array []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		rest := afterSpace(array[1:])
		for i := 0; rest[0] != ']'; i++ {
			end := endOfValue(rest)
			if !yield(i, rest[:end]) {
				return
			}
			rest = afterComma(rest[end:])
		}
	}
}

func afterSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

func afterComma(text []byte) []byte {
	if text = afterSpace(text); text[0] == ',' {
		text = afterSpace(text[1:])
	}
	return text
}

// endOfValue returns the length of the first value in the text.
func endOfValue(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += endOfString(text[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 { // the bracket closes the object or list around the value
				return i
			}
			depth--
		case ' ', '\n', '\t', '\r', ',':
			if depth == 0 {
				return i
			}
			continue
		default: // inside a number or a word
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}

func endOfString(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquote returns the text of a JSON string. ok is false if the string has half of a surrogate pair.
func unquote(quoted []byte) (text string, ok bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	if strictjson.Value(quoted, &text) != nil {
		return "", false
	}
	return text, true
}
