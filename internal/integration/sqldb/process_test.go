package sqldb_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// workVariable makes the test binary a worker process; see [work].
const workVariable = "COUPONKIT_SQLDB_WORK"

// work is what a worker process does: it uses a coupon, and prints the answers of the store.
type work struct {
	Driver, DSN string
	Dialect     sqlstore.Dialect
	Kind        workKind
	Limits      coupon.Limits // of the coupon
	Name        string
	Callers     int
	Attempts    int // of all callers; 0 is until the process is killed
}

type workKind uint8

const (
	usesUp    workKind = iota // reserves and pays
	rollsBack                 // the same, and gives up every third transaction after it has written in it
	lives                     // orders that are replaced, paid, paid late and expire
)

// answer is what the store has said of an order, or of an attempt for which no use was left.
type answer struct {
	OrderID string
	State   string
	Version int64
	Uses    []useAnswer
}

type useAnswer struct {
	ID      string
	State   string
	Version int64
}

func answerOf(o redemption.Order, uses []redemption.Use) answer {
	a := answer{OrderID: o.ID, State: o.State.String(), Version: o.Version}
	for _, u := range uses {
		a.Uses = append(a.Uses, useAnswer{u.ID, u.State.String(), u.Version})
	}
	return a
}

// runWorker is the main function of a worker process.
func runWorker(text string) error {
	var w work
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	db, err := sql.Open(w.Driver, w.DSN)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(16)
	ctx := context.Background()
	s, err := sqlstore.New(ctx, db, w.Dialect, sqlstore.Options{})
	if err != nil {
		return err
	}
	err = w.run(ctx, &worker{work: w, db: db, s: s, coupon: hotCoupon(w.Limits.MaxUses, w.Limits.MaxUsesPerUser), out: os.Stdout})
	return errors.Join(err, s.Close(), db.Close())
}

func (w work) run(ctx context.Context, with *worker) error {
	errs := make([]error, w.Callers)
	var all sync.WaitGroup
	for caller := range errs {
		all.Go(func() {
			for i := 0; errs[caller] == nil && (w.Attempts == 0 || i < w.Attempts/w.Callers); i++ {
				errs[caller] = with.attempt(ctx, i, fmt.Sprintf("%s-%d-%04d", w.Name, caller, i))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// worker is the inside of a worker process.
type worker struct {
	work
	db     *sql.DB
	s      *sqlstore.Store
	coupon coupon.Coupon
	mu     sync.Mutex
	out    io.Writer
}

func (w *worker) tell(a answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = fmt.Fprintf(w.out, "%s\n", text)
	return err
}

func (w *worker) attempt(ctx context.Context, i int, name string) error {
	switch {
	case w.Kind == lives:
		return w.live(ctx, name)
	case w.Kind == rollsBack && i%3 == 2:
		return rolledBack(ctx, w.db, w.s, database{dialect: w.Dialect}.host(), checkoutOf(w.coupon, "customer-"+name, "", name))
	}
	used, err := use(ctx, w.s, w.coupon, "customer-"+name, name)
	if err != nil || !used {
		return err
	}
	return w.tell(answer{OrderID: "ord_" + name})
}

// live is the life of one order, and of another one that replaces it.
func (w *worker) live(ctx context.Context, name string) error {
	customer := fmt.Sprint("customer-", rand.IntN(12))
	first, next := checkoutOf(w.coupon, customer, "", name), checkoutOf(w.coupon, customer, "", name+"-next")
	next.Order.Replaces = first.Order.ID
	calls := []func() (answer, error){w.reserve(ctx, first)}
	last := first.Order.ID
	switch rand.IntN(6) {
	case 0, 1:
		calls = append(calls, w.reserve(ctx, next))
		last = next.Order.ID
	case 2: // whose payment has to end first
		calls = append(calls, w.apply(ctx, redemption.SessionAttached, last), w.reserve(ctx, next), w.apply(ctx, redemption.PaymentEnded, last))
		last = next.Order.ID
		calls = append(calls, w.apply(ctx, redemption.PaymentBegun, last))
	case 3:
		calls = append(calls, w.apply(ctx, redemption.PaymentBegun, last), w.apply(ctx, redemption.Cancelled, last))
		if rand.IntN(2) == 0 { // it is ending, unless somebody dies before
			calls = append(calls, w.apply(ctx, redemption.PaymentEnded, last))
		}
		return w.tellAll(calls, name)
	}
	calls = append(calls, w.apply(ctx, redemption.SessionAttached, last))
	for _, kind := range [][]redemption.EventKind{
		{redemption.Paid, redemption.Paid},
		{redemption.PaymentPending, redemption.PaymentFailed},
		{redemption.SessionExpired},
		{redemption.SessionExpired},
		{redemption.SessionExpired, redemption.Paid},
	}[rand.IntN(5)] {
		calls = append(calls, w.apply(ctx, kind, last))
	}
	if last != first.Order.ID && rand.IntN(4) == 0 {
		calls = append(calls, w.apply(ctx, redemption.Paid, first.Order.ID))
	}
	return w.tellAll(calls, name)
}

// tellAll makes the calls and tells what they were answered, until one is refused.
func (w *worker) tellAll(calls []func() (answer, error), name string) error {
	for _, call := range calls {
		a, err := call()
		if err != nil && !errors.Is(err, store.ErrLimit) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if told := w.tell(a); told != nil || err != nil {
			return told
		}
	}
	return nil
}

func (w *worker) reserve(ctx context.Context, r store.Reservation) func() (answer, error) {
	return func() (answer, error) {
		reserved, err := w.s.Reserve(ctx, r)
		return answerOf(reserved.Order, reserved.Uses), err
	}
}

func (w *worker) apply(ctx context.Context, kind redemption.EventKind, orderID string) func() (answer, error) {
	return func() (answer, error) {
		at := time.Now().UTC()
		settled, err := w.s.Apply(ctx, store.Settlement{Event: redemption.Event{
			Kind: kind, At: at, OrderID: orderID, SessionID: "cs_" + orderID, Deadline: at.Add(time.Hour),
		}})
		return answerOf(settled.Order, settled.Uses), err
	}
}

// rolledBack reserves in a transaction of the host, which it rolls back.
func rolledBack(ctx context.Context, db *sql.DB, s *sqlstore.Store, options *sql.TxOptions, r store.Reservation) error {
	for {
		tx, err := db.BeginTx(ctx, options)
		if err != nil {
			return err
		}
		_, err = s.WithTx(tx).Reserve(ctx, r)
		if rand.IntN(2) == 0 && err == nil { // and seals, in the transaction
			_, err = s.WithTx(tx).Journal(ctx, 0, 10)
		}
		if failed := tx.Rollback(); err == nil || !s.Retryable(err) {
			return errors.Join(err, failed)
		}
	}
}

// running is a worker process from outside.
type running struct {
	command *exec.Cmd
	lines   chan answer // closed when the process has ended
	errors  *os.File
}

// begin starts a worker process on the database.
func (d database) begin(t *testing.T, w work) *running {
	t.Helper()
	w.Driver, w.DSN, w.Dialect = d.driver, d.dsn, d.dialect
	text, err := json.Marshal(w)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), workVariable+"="+string(text))
	log, err := os.CreateTemp(t.TempDir(), "errors")
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	command.Stderr = log
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	p := &running{command: command, lines: make(chan answer, 100_000), errors: log}
	go func() {
		defer close(p.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			var a answer
			if json.Unmarshal(scan.Bytes(), &a) == nil { // the last line of a killed process may be cut off
				p.lines <- a
			}
		}
	}()
	return p
}

// end waits for the end of the process, and returns the answers that it has printed since.
func (p *running) end(t *testing.T) []answer {
	t.Helper()
	var answers []answer
	for a := range p.lines {
		answers = append(answers, a)
	}
	if err := p.command.Wait(); err != nil && p.command.ProcessState.ExitCode() > 0 {
		text, _ := os.ReadFile(p.errors.Name())
		t.Errorf("a worker failed: %v\n%s", err, text)
	}
	return answers
}

// work runs three processes to their end, and returns how often they were answered.
func (d database) work(t *testing.T, w work) (answers []answer) {
	t.Helper()
	var all []*running
	for i := range processes {
		w.Name = fmt.Sprint("p", i)
		all = append(all, d.begin(t, w))
	}
	for _, p := range all {
		answers = append(answers, p.end(t)...)
	}
	return answers
}

const processes = 3

// full is the number, or under the race detector a tenth.
func full(n int) int {
	if underRace {
		return n / 10
	}
	return n
}

// TestAReaderMissesNothing reads the journal by several readers while several processes
// write and roll back.
func TestAReaderMissesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		d = d.immediate()
		s := d.store(t, sqlstore.Options{})
		create(t, s, hotCoupon(0, 1))
		const attempts, callers, readers = 120, 8, 3
		done := make(chan struct{})
		var following sync.WaitGroup
		read, failed := make([][]store.Entry, readers), make([]error, readers)
		for i := range readers {
			reader := d.store(t, sqlstore.Options{})
			following.Go(func() { read[i], failed[i] = storetest.Follow(t.Context(), reader, 7+50*i, done) })
		}
		kept := d.work(t, work{Kind: rollsBack, Limits: coupon.Limits{MaxUsesPerUser: 1}, Callers: callers, Attempts: attempts})
		close(done)
		following.Wait()
		require.Len(t, kept, processes*(attempts-attempts/callers/3*callers))
		all, err := storetest.ReadJournal(t.Context(), s)
		require.NoError(t, err)
		require.Len(t, all, 1+2*len(kept), "the coupon, and for each use that was kept an order and its payment")
		for i := range readers {
			require.NoError(t, failed[i])
			require.Equal(t, all, read[i], "what a reader has seen")
		}
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

// TestExactlyTheAllowedUsesSucceed lets the callers of three processes use a coupon up.
func TestExactlyTheAllowedUsesSucceed(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		t.Helper()
		attempts, allowed := full(3_400), full(3_000)
		if d.dialect == sqlstore.MySQL { // each use is a transaction that waits for the one before
			attempts, allowed = attempts/5, allowed/5
		}
		s := d.store(t, sqlstore.Options{})
		limits := coupon.Limits{MaxUses: int64(allowed), MaxUsesPerUser: 1}
		c := hotCoupon(limits.MaxUses, limits.MaxUsesPerUser)
		create(t, s, c)
		require.Len(t, d.work(t, work{Limits: limits, Callers: 64, Attempts: attempts}), allowed)
		counts, err := s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID)})
		require.NoError(t, err)
		require.Equal(t, []eligibility.Count{{Completed: limits.MaxUses}}, counts)
		require.NoError(t, storetest.Check(t.Context(), s))
	})
}

func TestThreeProcessesShareSQLite(t *testing.T) {
	t.Parallel()
	for _, name := range sqlites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killWorkers(t, databases()[name](t))
		})
	}
}

func TestThreeProcessesShareMariaDB(t *testing.T) {
	t.Parallel()
	killWorkers(t, databases()["mariadb"](t))
}

// killWorkers kills processes in mid-run, and lets others go on. Every answer agrees with the
// journal and with the rows, a call whose answer nobody has read was done as a whole or not
// at all, and what the dead have left reserved is given back when its deadline has passed.
func killWorkers(t *testing.T, d database) {
	t.Helper()
	s := d.store(t, sqlstore.Options{})
	w := work{Kind: lives, Limits: coupon.Limits{MaxUses: 150, MaxUsesPerUser: 30}, Callers: 8}
	c := hotCoupon(w.Limits.MaxUses, w.Limits.MaxUsesPerUser)
	create(t, s, c)
	var answers []answer
	for round := range *killings {
		var all []*running
		for i := range processes {
			w.Name = fmt.Sprintf("r%d-%d", round, i)
			all = append(all, d.begin(t, w))
		}
		for _, p := range all {
			for range 20 + rand.IntN(60) { // it is at work
				a, open := <-p.lines
				require.True(t, open, "the worker ended")
				answers = append(answers, a)
			}
			require.NoError(t, p.command.Process.Kill())
		}
		for _, p := range all {
			answers = append(answers, p.end(t)...)
		}
		agree(t, s, answers)
	}
	w.Attempts = 80
	answers = append(answers, d.work(t, w)...)
	agree(t, s, answers)
	lapse(t, s)
	counts, err := s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID)})
	require.NoError(t, err)
	require.Zero(t, counts[0].Reserved, "uses that leaked")
	require.NoError(t, storetest.Check(t.Context(), s))
}

// agree compares what the store has said with the journal, and that with the rows.
func agree(t *testing.T, s store.Store, answers []answer) {
	t.Helper()
	all, err := storetest.Read(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, all.Check())
	type version struct {
		id      string
		version int64
	}
	told := map[version]string{}
	for _, e := range all.Journal {
		var data struct {
			State string
			Uses  []useAnswer
		}
		require.NoError(t, json.Unmarshal(e.Data, &data))
		told[version{e.Subject, e.Version}] = data.State
		for _, u := range data.Uses {
			told[version{u.ID, u.Version}] = u.State
		}
	}
	for _, a := range answers {
		if a.OrderID == "" {
			continue // no use was left
		}
		require.Equal(t, a.State, told[version{a.OrderID, a.Version}], "version %d of %s", a.Version, a.OrderID)
		for _, u := range a.Uses {
			require.Equal(t, u.State, told[version{u.ID, u.Version}], "version %d of %s", u.Version, u.ID)
		}
	}
	for _, o := range all.Orders {
		require.Equal(t, o.Order.State.String(), told[version{o.Order.ID, o.Order.Version}], "the order %s", o.Order.ID)
		for _, u := range o.Uses {
			require.Equal(t, u.State.String(), told[version{u.ID, u.Version}], "the use %s", u.ID)
		}
	}
}

// lapse ends what was never paid, when its deadline has passed.
func lapse(t *testing.T, s store.Store) {
	t.Helper()
	late := time.Now().UTC().Add(24 * time.Hour)
	for {
		due, err := s.ListOrders(t.Context(), store.OrderList{DueAt: late, PageSize: store.MaxPageSize})
		require.NoError(t, err)
		if len(due.Items) == 0 {
			return
		}
		ended := 0
		for _, o := range due.Items {
			_, err := s.Apply(t.Context(), store.Settlement{Event: redemption.Event{
				Kind: redemption.Lapsed, At: late, OrderID: o.Order.ID, SessionID: o.Order.SessionID, PaymentOver: true, BegunBy: late,
			}})
			if errors.Is(err, store.ErrPaymentOpen) {
				continue // until the payment of the order before has ended
			}
			require.NoError(t, err)
			ended++
		}
		require.NotZero(t, ended, "orders that wait for each other")
	}
}
