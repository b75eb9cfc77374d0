package simulation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// Faults break the database, so that a simulation can be seen to notice. The zero
// value is a sound one.
type Faults struct {
	// Rewrite changes a statement before SQLite gets it.
	Rewrite func(statement string) string
	// ForgetLog loses the write-ahead log when the power fails.
	ForgetLog bool
	// Wrap wraps every store of every process.
	Wrap func(s store.Store, pause func()) store.Store
}

// SQLite makes databases in files of the folder, one for each life. It is a
// [simulation.Parts].Database.
func SQLite(folder string, f Faults) func(shops int, pause func()) (simulation.Database, error) {
	return func(shops int, pause func()) (simulation.Database, error) {
		own, err := os.MkdirTemp(folder, "life")
		if err != nil {
			return nil, err
		}
		return &database{folder: own, shops: shops, faults: f, pause: pause}, nil
	}
}

// database is a database file that survives its processes.
type database struct {
	folder    string
	shops     int
	crashes   int
	faults    Faults
	pause     func()
	processes []*process
}

func (d *database) file() string {
	return filepath.Join(d.folder, fmt.Sprintf("shops%d.db", d.crashes))
}

// Open starts a process. It opens the file, migrates the tables and makes the stores.
func (d *database) Open() (simulation.Process, error) {
	ctx := context.Background()
	p := &process{}
	p.db = sql.OpenDB(connector{dsn: "file:" + d.file() + "?_pragma=busy_timeout(10000)&_pragma=synchronous(NORMAL)", life: &p.life, rewrite: d.faults.Rewrite})
	for shop := range d.shops {
		o := sqlstore.Options{TablePrefix: fmt.Sprintf("shop%d_", shop), Relaxed: true}
		if err := sqlstore.Migrate(ctx, p.db, sqlstore.SQLite, o); err != nil {
			return nil, errors.Join(err, p.db.Close())
		}
		s, err := sqlstore.New(ctx, p.db, sqlstore.SQLite, o)
		if err != nil {
			return nil, errors.Join(err, p.db.Close())
		}
		p.sound = append(p.sound, s)
		p.stores = append(p.stores, s)
		if d.faults.Wrap != nil {
			p.stores[shop] = d.faults.Wrap(s, d.pause)
		}
	}
	d.processes = append(d.processes, p)
	return p, nil
}

// Crash leaves the file and its log to the next process. The shared memory of the processes is lost,
// and nothing is cleaned up.
func (d *database) Crash() error {
	before := d.file()
	d.crashes++
	if err := copyFile(d.file(), before); err != nil {
		return err
	}
	if !d.faults.ForgetLog {
		if err := copyFile(d.file()+"-wal", before+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, p := range d.processes {
		p.Kill()
	}
	d.processes = nil
	return nil
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// Close ends all processes and removes the files.
func (d *database) Close() error {
	for _, p := range d.processes {
		p.Kill()
	}
	return os.RemoveAll(d.folder)
}

// process is a pool of connections to the file, with the stores that use it.
type process struct {
	db     *sql.DB
	life   life
	sound  []*sqlstore.Store
	stores []store.Store
	killed bool
}

// Store returns the store of a shop.
func (p *process) Store(shop int) store.Store { return p.stores[shop] }

// Cut runs the call and ends the process in its transaction: after a number of statements, or before
// the commit.
func (p *process) Cut(statements int, call func()) {
	p.life.endAfter(statements)
	call()
	p.life.end()
}

// Kill ends the process. Nothing that it does afterwards reaches the database. Its connections are
// closed, as the kernel does, and open transactions end.
func (p *process) Kill() {
	if p.killed {
		return
	}
	p.killed = true
	p.life.end()
	for _, s := range p.sound {
		_ = s.Close() // ignore the error: the store has no connection
	}
	_ = p.db.Close()
}
