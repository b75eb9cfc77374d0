package postgrestest

import (
	"context"
	"io"
	"net"
	"sync"
)

// Forwarder forwards connections to a server. A test can change the server, or cut the network to
// it.
type Forwarder struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu     sync.Mutex
	target string // "" while the connections are cut
	open   map[net.Conn]bool
}

// NewForwarder listens at a free port of the loopback interface, and hands on to the address.
func NewForwarder(ctx context.Context, target string) (*Forwarder, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Forwarder{listener: listener, target: target, open: map[net.Conn]bool{}}
	f.serving.Go(f.serve)
	return f, nil
}

// Address returns "host:port".
func (f *Forwarder) Address() string { return f.listener.Addr().String() }

// Switch closes all connections. New connections go to the target. If the target is empty, they
// are closed.
func (f *Forwarder) Switch(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = target
	for conn := range f.open {
		_ = conn.Close() // this ends the copying
	}
}

// Close ends everything.
func (f *Forwarder) Close() error {
	err := f.listener.Close()
	f.Switch("")
	f.serving.Wait()
	return err
}

func (f *Forwarder) serve() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.serving.Go(func() { f.forward(conn) })
	}
}

func (f *Forwarder) forward(conn net.Conn) {
	f.mu.Lock()
	target := f.target
	f.mu.Unlock()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
	if err != nil {
		_ = conn.Close()
		return
	}
	if !f.hold(target, conn, server) {
		return
	}
	var copying sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{conn: server, server: conn} {
		copying.Go(func() {
			_, _ = io.Copy(to, from) // runs until one connection is closed
			_, _ = to.Close(), from.Close()
		})
	}
	copying.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, conn)
	delete(f.open, server)
}

// hold registers the connections. If the target has changed meanwhile, it closes them.
func (f *Forwarder) hold(target string, both ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range both {
		f.open[conn] = true
		if f.target != target {
			_ = conn.Close()
			delete(f.open, conn)
		}
	}
	return f.target == target
}
