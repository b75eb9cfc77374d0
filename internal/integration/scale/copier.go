package scale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// copier writes rows in the text form of COPY. Its texts hold neither backslashes
// nor white space but blanks.
type copier struct {
	out   *bufio.Writer
	pipe  *io.PipeWriter
	line  []byte
	done  chan error
	table string
}

// copyInto begins to copy rows into the columns of a table.
func copyInto(ctx context.Context, conn *pgx.Conn, table, columns string) *copier {
	reader, writer := io.Pipe()
	c := &copier{out: bufio.NewWriterSize(writer, 1<<18), pipe: writer, done: make(chan error, 1), table: table}
	go func() {
		_, err := conn.PgConn().CopyFrom(ctx, reader, "COPY "+table+" ("+columns+") FROM STDIN")
		_ = reader.CloseWithError(err) // so that a writer does not wait for ever
		c.done <- err
	}()
	return c
}

// close ends the copy and returns what went wrong with it.
func (c *copier) close() error {
	_ = c.out.Flush()  // its error is that of the copy
	_ = c.pipe.Close() // likewise
	if err := <-c.done; err != nil {
		return fmt.Errorf("copy into %s: %w", c.table, err)
	}
	return nil
}

func (c *copier) texts(values ...string) {
	for _, value := range values {
		c.line = append(append(c.line, value...), '\t')
	}
}

func (c *copier) integer(value int) {
	c.line = append(strconv.AppendInt(c.line, int64(value), 10), '\t')
}

func (c *copier) null() { c.line = append(c.line, '\\', 'N', '\t') }

func (c *copier) maybe(given bool, value int) {
	if given {
		c.integer(value)
	} else {
		c.null()
	}
}

// instant writes a time; the zero value is none.
func (c *copier) instant(at time.Time) {
	if at.IsZero() {
		c.null()
		return
	}
	c.line = append(at.UTC().AppendFormat(c.line, "2006-01-02 15:04:05.999999Z"), '\t')
}

func (c *copier) flag(value bool) {
	if value {
		c.texts("t")
	} else {
		c.texts("f")
	}
}

// end ends the row.
func (c *copier) end() {
	c.line[len(c.line)-1] = '\n'
	_, _ = c.out.Write(c.line) // the error comes back when the copy ends
	c.line = c.line[:0]
}
