package replay

import "runtime"

// task is a function that runs in a goroutine of its own.
type task struct {
	ended    chan struct{} // closed at the end
	returned bool          // false if the function has panicked or has ended its goroutine
	panicked any
}

func start(f func()) *task {
	t := &task{ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		defer func() {
			if !t.returned {
				t.panicked = recover()
			}
		}()
		f()
		t.returned = true
	}()
	return t
}

// wait waits for the end of the function. If the function has panicked or has ended its goroutine, wait does the same
// in the goroutine of the caller.
func (t *task) wait() {
	<-t.ended
	switch {
	case t.panicked != nil:
		panic(t.panicked)
	case !t.returned:
		runtime.Goexit()
	}
}
