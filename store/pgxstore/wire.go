package pgxstore

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A reservation that runs alone takes PostgreSQL a few look-ups in indexes. To find out how
// each of its values is sent, and how the answer is read, takes pgx a tenth of that: where
// nobody would notice the difference, its values are sent as they are, on a connection of the
// pool, in a statement that stays prepared there.

// valueList takes the values of a statement in their order.
type valueList interface {
	text(string)
	document(*string) // nil is NULL
	integer(int64)
	flag(bool)
	instant(time.Time)
	deadline(time.Time) // the zero time is NULL
}

// argumentList has them as pgx takes them.
type argumentList []any

func (l *argumentList) text(s string)        { *l = append(*l, s) }
func (l *argumentList) document(s *string)   { *l = append(*l, s) }
func (l *argumentList) integer(n int64)      { *l = append(*l, n) }
func (l *argumentList) flag(b bool)          { *l = append(*l, b) }
func (l *argumentList) instant(t time.Time)  { *l = append(*l, t) }
func (l *argumentList) deadline(t time.Time) { *l = append(*l, orNull(&t)) }

// wireList has them as they are sent, in the binary format of PostgreSQL.
type wireList struct {
	values [][]byte
	data   []byte // of all of them
}

// mostValues is how many values a reservation has with its order, for which there is room.
const mostValues = 25

func newWireList() *wireList {
	return &wireList{values: make([][]byte, 0, mostValues), data: make([]byte, 0, 32*mostValues)}
}

// keptData is how large a list may have become to be used again.
const keptData = 16 << 10

// takeList returns an empty list, which is given back when its values were sent.
func (s *shared) takeList() *wireList {
	if l, used := s.lists.Get().(*wireList); used {
		return l
	}
	return newWireList()
}

func (s *shared) giveList(l *wireList) {
	if cap(l.data) <= keptData {
		l.values, l.data = l.values[:0], l.data[:0]
		s.lists.Put(l)
	}
}

// add adds what was appended to the data. An empty text is not nil, which would be NULL.
func (l *wireList) add(data []byte) {
	l.values = append(l.values, data[len(l.data):len(data):len(data)])
	l.data = data
}

func (l *wireList) null() { l.values = append(l.values, nil) }

func (l *wireList) text(s string) { l.add(append(l.data, s...)) }

func (l *wireList) document(s *string) {
	if s == nil {
		l.null()
		return
	}
	l.text(*s)
}

func (l *wireList) integer(n int64) {
	l.add(binary.BigEndian.AppendUint64(l.data, uint64(n))) //nolint:gosec // the same bits
}

func (l *wireList) flag(b bool) {
	if b {
		l.add(append(l.data, 1))
		return
	}
	l.add(append(l.data, 0))
}

// epoch is 2000-01-01 in seconds of Unix, from which PostgreSQL counts microseconds.
const epoch = 946684800

func (l *wireList) instant(t time.Time) {
	l.integer((t.Unix()-epoch)*1e6 + int64(t.Nanosecond())/1000)
}

func (l *wireList) deadline(t time.Time) {
	if t.IsZero() {
		l.null()
		return
	}
	l.instant(t)
}

// sendsDirectly reports whether statements may bypass pgx's own layer: pgx would prepare
// them, and no tracer of the host, nor what it changes of each connection, is to see them.
func sendsDirectly(pool *pgxpool.Pool, mode pgx.QueryExecMode) bool {
	if pool == nil {
		return false
	}
	config := pool.Config()
	if mode == 0 {
		mode = config.ConnConfig.DefaultQueryExecMode
	}
	return mode == pgx.QueryExecModeCacheStatement && config.ConnConfig.Tracer == nil && config.BeforeConnect == nil
}

// queryDirectly runs a statement that has one value, and scans it unless it is NULL.
func queryDirectly(ctx context.Context, pool *pgxpool.Pool, statement string, list *wireList, into any) error {
	acquired, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer acquired.Release()
	conn := acquired.Conn()
	err = queryPrepared(ctx, conn, statement, list, into)
	if err == nil || !unprepared(err) {
		return err
	}
	// The host has made the connection forget what was prepared there, or a proxy has given
	// it another session. Nothing was run.
	if err := conn.Deallocate(ctx, statement); err != nil {
		return err
	}
	return queryPrepared(ctx, conn, statement, list, into)
}

func queryPrepared(ctx context.Context, conn *pgx.Conn, statement string, list *wireList, into any) error {
	prepared, err := conn.Prepare(ctx, statement, statement) // once on each connection
	if err != nil {
		return err
	}
	binaryForAll := []int16{pgx.BinaryFormatCode}
	rows := conn.PgConn().ExecStatement(ctx, prepared, list.values, binaryForAll, binaryForAll)
	for rows.NextRow() {
		if value := rows.Values()[0]; value != nil {
			err = conn.TypeMap().Scan(prepared.Fields[0].DataTypeOID, pgx.BinaryFormatCode, value, into)
		}
	}
	if _, failed := rows.Close(); failed != nil {
		return failed
	}
	return err
}

// unprepared reports whether a statement was refused because it is not prepared.
func unprepared(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "26000"
}
