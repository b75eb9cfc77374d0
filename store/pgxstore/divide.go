package pgxstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Error codes of PostgreSQL that are not about what was asked: the role may not do it, the
// server only reads; or the time that the role gives a statement, or a wait for a lock, is up.
const (
	insufficientPrivilege = "42501"
	readOnlyTransaction   = "25006"
	lockNotAvailable      = "55P03"
	queryCanceled         = "57014"
)

// divisible reports whether a half of the batch may fare better: the server has refused
// something in it and still answers.
func divisible(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.SeverityUnlocalized == "FATAL" || server.SeverityUnlocalized == "PANIC" {
		return false
	}
	return server.Code != insufficientPrivilege && server.Code != readOnlyTransaction && !outOfTime(err)
}

// outOfTime reports whether lock_timeout or statement_timeout has ended the statement.
func outOfTime(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code == lockNotAvailable || server.Code == queryCanceled)
}

// byTurn cuts a batch into one part for each turn.
func byTurn[Q, A any](batch []*job[Q, A]) [][]*job[Q, A] {
	var parts [][]*job[Q, A]
	places := make(map[string]int)
	for _, j := range batch {
		place, known := places[j.turn]
		if !known {
			place = len(parts)
			places[j.turn] = place
			parts = append(parts, nil)
		}
		parts[place] = append(parts[place], j)
	}
	return parts
}

// maxWaits is for how many turns the parts of a batch may run out of time.
const maxWaits = 2

// apart settles parts of a batch, each of one turn, one after the other. A batch runs out of
// time because of one coupon that somebody holds, nearly always: the calls of other turns are
// not to fail with those that wait for it. But each part may wait as long as the role lets
// it, and would let its callers wait as often as there are parts: a turn that has run out of
// time is not tried again, and after maxWaits of them nothing is. The calls that are left get
// that error and were not done; their callers may repeat them.
func (g *group[Q, A]) apart(ctx context.Context, parts [][]*job[Q, A]) error {
	var all, last error
	late := make(map[string]bool)
	for _, part := range parts {
		turn := part[0].turn
		if late[turn] || len(late) == maxWaits {
			refuse(part, last)
			continue
		}
		err := g.settle(ctx, part)
		if outOfTime(err) {
			late[turn], last = true, err
		}
		all = errors.Join(all, err)
	}
	return all
}

// refuse answers the jobs with the error.
func refuse[Q, A any](batch []*job[Q, A], err error) {
	for _, j := range batch {
		j.result.err = err
		close(j.done)
	}
}
