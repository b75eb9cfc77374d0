package codecsv

import (
	"bufio"
	"io"
)

var Original = original

// Cells returns the cells of all rows of a file.
func Cells(file io.Reader, separator byte) (rows [][]string, err error) {
	s := scanner{in: bufio.NewReader(file), separator: separator}
	for {
		r, err := s.next()
		if err != nil || r.finished {
			return rows, err
		}
		rows = append(rows, r.cells)
	}
}
