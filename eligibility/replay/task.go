package replay

import "errors"

// errExit means that read has called runtime.Goexit, as a test does that fails.
var errExit = errors.New("replay: read has ended its goroutine")

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

// wait waits for the end of the function. If the function has panicked, wait panics in the goroutine of the caller. If
// the function has ended its goroutine, wait returns errExit.
func (t *task) wait() error {
	<-t.ended
	switch {
	case t.panicked != nil:
		panic(t.panicked)
	case !t.returned:
		return errExit
	}
	return nil
}
