package main

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"time"
)

// proxy stands before the server and delays both directions, as a network does:
// what is sent later does not wait for what was sent before.
type proxy struct {
	listener net.Listener
	target   string
	delay    time.Duration
	running  sync.WaitGroup
}

// startProxy returns a proxy and the URL of the database through it.
func startProxy(ctx context.Context, dsn string, delay time.Duration) (*proxy, string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, "", err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	p := &proxy{listener: listener, target: u.Host, delay: delay}
	p.running.Go(p.accept)
	u.Host = listener.Addr().String()
	return p, u.String(), nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target) //nolint:noctx // a test proxy
		if err != nil {
			_ = client.Close()
			continue
		}
		p.running.Go(func() { p.pipe(client, server) })
		p.running.Go(func() { p.pipe(server, client) })
	}
}

type chunk struct {
	data []byte
	due  time.Time
}

// pipe copies from one side to the other, each piece after the delay.
func (p *proxy) pipe(to, from net.Conn) {
	chunks := make(chan chunk, 1024)
	p.running.Go(func() {
		defer to.Close() //nolint:errcheck // either side may have gone
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				_, _ = io.Copy(io.Discard, from)
			}
		}
	})
	defer close(chunks)
	for {
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			chunks <- chunk{buffer[:n], time.Now().Add(p.delay)}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) close() { _ = p.listener.Close() }
