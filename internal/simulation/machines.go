package simulation

import (
	"context"
	"fmt"
	"time"
)

// background is the context of the checks, for which nobody waits.
func background() context.Context { return context.Background() }

// pass lets time pass: minutes, or days.
func (w *world) pass() bool {
	d := time.Duration(1+w.random.IntN(90)) * time.Minute
	if w.odds(w.temper.longTimes) {
		d = time.Duration(1+w.random.IntN(20*24)) * time.Hour
		w.coverage.count("step", "time passes", "hours or days")
	}
	w.now = w.now.Add(d)
	w.log("%v pass", d)
	return true
}

// stopOne stops a process in the middle of everything.
func (w *world) stopOne() bool {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	if n.stopped || !w.odds(2) {
		return false
	}
	w.log("node %d stops", n.number)
	w.bury(n)
	return true
}

// startOne starts the successor of a process that has stopped.
func (w *world) startOne() bool {
	for i, n := range w.nodes {
		if n.stopped {
			w.nodes[i] = w.newNode()
			w.log("node %d starts instead of node %d", w.nodes[i].number, n.number)
			w.scan()
			return true
		}
	}
	return false
}

// powerFails stops all processes at once, and the database with them.
func (w *world) powerFails() bool {
	if !w.odds(8) {
		return false
	}
	w.log("the power fails")
	for _, n := range w.nodes {
		w.bury(n)
	}
	w.sound("crash", w.database.Crash())
	w.openEyes()
	w.scan()
	return true
}

// scan looks at everything.
func (w *world) scan() {
	for _, s := range w.shops {
		w.look(s, touched{}, true)
	}
}

func fmtPlace(number, day int, at time.Time) string {
	return fmt.Sprintf("step %d, day %d, %s", number, day, at.Format("15:04"))
}
