package codecsv

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// These constants are inclusive upper bounds for a row.
const (
	MaxRowBytes = 64 << 10 // bytes of all cells of a row
	MaxColumns  = 256      // cells of a row
)

// record is a row of a file as text.
type record struct {
	cells    []string
	tooLong  bool // the row exceeds MaxRowBytes or MaxColumns, so its cells are incomplete
	stray    bool // there is text after a closing quotation mark
	open     bool // the file ended inside a quoted cell
	unended  bool // the last row has no end of line
	finished bool // the file has ended, and there is no row
}

// scanner splits a file into rows, and rows into cells. Unlike encoding/csv, it limits the memory of a
// row, counts empty rows, and continues after a row that is too long.
type scanner struct {
	in        *bufio.Reader
	separator byte
	text      []byte
	ends      []int // end of each cell in text
}

// place is the state of the scanner within a row.
type place int

const (
	cellStart place = iota
	unquoted
	quoted
	afterQuote
)

// next returns the next row. It returns only errors of reading the file.
func (s *scanner) next() (record, error) {
	s.text, s.ends = s.text[:0], s.ends[:0]
	var r record
	for at := cellStart; ; {
		if r.tooLong {
			s.skip(at)
		}
		b, err := s.in.ReadByte()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return record{}, err
			}
			r.open, r.unended = at == quoted, true
			r.finished = at == cellStart && len(s.ends) == 0
			return s.finish(r), nil
		}
		switch {
		case at == quoted && b != '"':
			s.keep(b, &r)
		case at == quoted:
			at = afterQuote
		case b == s.separator:
			s.endCell(&r)
			at = cellStart
		case b == '\n' || b == '\r':
			return s.finish(r), s.endRow(b)
		case b == '"' && at == cellStart:
			at = quoted
		case b == '"' && at == afterQuote:
			s.keep(b, &r)
			at = quoted
		case at == afterQuote && b == ' ':
		default:
			r.stray = r.stray || at == afterQuote
			s.keep(b, &r)
			at = unquoted
		}
	}
}

// keep adds a byte to the cell unless the row is too long.
func (s *scanner) keep(b byte, r *record) {
	if len(s.text) >= MaxRowBytes {
		r.tooLong = true
		return
	}
	s.text = append(s.text, b)
}

// skip discards the bytes in memory that only continue a cell. The cells of a row that is too long are lost anyway.
func (s *scanner) skip(at place) {
	if at == cellStart || at == afterQuote {
		return
	}
	text, _ := s.in.Peek(s.in.Buffered()) // never fails
	end := bytes.IndexByte(text, '"')
	if at == unquoted {
		end = bytes.IndexAny(text, string([]byte{'\n', '\r', s.separator}))
	}
	if end < 0 {
		end = len(text)
	}
	_, _ = s.in.Discard(end) // never fails
}

func (s *scanner) endCell(r *record) {
	if len(s.ends) >= MaxColumns {
		r.tooLong = true
		return
	}
	s.ends = append(s.ends, len(s.text))
}

// endRow skips the LF after a CR.
func (s *scanner) endRow(end byte) error {
	if end != '\r' {
		return nil
	}
	following, err := s.in.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(following) == 1 && following[0] == '\n' {
		_, err = s.in.Discard(1)
		return err
	}
	return nil
}

// finish ends the last cell and returns the row.
func (s *scanner) finish(r record) record {
	if r.finished {
		return r
	}
	s.endCell(&r)
	text, start := string(s.text), 0
	r.cells = make([]string, len(s.ends))
	for i, end := range s.ends {
		r.cells[i], start = text[start:end], end
	}
	return r
}

// blank reports whether all cells of the row are empty or white space. The end-of-file character of old
// programs counts as white space.
func (r record) blank() bool {
	if r.tooLong || r.stray {
		return false
	}
	for _, cell := range r.cells {
		if strings.TrimLeft(cell, " \t\r\n\u00a0\x1a") != "" {
			return false
		}
	}
	return true
}
