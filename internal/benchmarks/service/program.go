package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Patience with programs.
const (
	startTime = time.Minute
	endTime   = 30 * time.Second
)

// program is a process that this one has started.
type program struct {
	url string
	// admin and crowd are who can sign in, as the service says: an administrator, and
	// the addresses of the first and last of many customers with their password.
	admin, crowd login
	command      *exec.Cmd
	ended        chan error
	output       *tail
}

// tail keeps what a program has said, for the message when something goes wrong.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4 << 10
	text := t.text.String()
	return text[max(0, len(text)-most):]
}

// build builds the service in its own module, as an operator would.
func build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/couponkit/couponkit").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return buildIn(ctx, strings.TrimSpace(string(root)), filepath.Join(dir, "service"))
}

// buildIn builds the service of a tree.
func buildIn(ctx context.Context, root, binary string) (string, error) {
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	command.Dir = filepath.Join(root, "examples", "service")
	command.Env = append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the service: %w\n%s", err, output)
	}
	return binary, nil
}

// start starts a command that says where it listens.
func start(ctx context.Context, command *exec.Cmd) (*program, error) {
	p := &program{command: command, ended: make(chan error, 1), output: &tail{}}
	said, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	command.Stderr = p.output
	if err := command.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(io.TeeReader(said, p.output))
		for lines.Scan() {
			if p.read(lines.Text()) {
				close(ready)
			}
		}
		p.ended <- command.Wait()
	}()
	select {
	case <-ready:
		return p, nil
	case err = <-p.ended:
	case <-time.After(startTime):
		err = errors.Join(errors.New("it does not say where it listens"), command.Process.Kill())
	case <-ctx.Done():
		err = errors.Join(ctx.Err(), command.Process.Kill())
	}
	return nil, fmt.Errorf("start %s: %w\n%s", command.Path, err, p.output)
}

var (
	addressLine = regexp.MustCompile(`listening on (http://[^ ]+)`)
	adminLine   = regexp.MustCompile(`^ +(\S+@\S+) +(\S+) +administrator,`)
	crowdLine   = regexp.MustCompile(`^ +crowd-1(@\S+) to \S+, (\S+)$`)
)

// read reads a line of what the service says at its start, and reports whether it was
// the last one that is needed.
func (p *program) read(line string) (last bool) {
	if match := addressLine.FindStringSubmatch(line); match != nil {
		p.url = match[1]
	}
	if match := adminLine.FindStringSubmatch(line); match != nil {
		p.admin = login{match[1], match[2]}
	}
	if match := crowdLine.FindStringSubmatch(line); match != nil {
		p.crowd = login{match[1], match[2]}
		return true
	}
	return false
}

// stop asks the program to end, and tells when it did not end well.
func (p *program) stop() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-p.ended:
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", p.command.Path, err, p.output)
		}
		return nil
	case <-time.After(endTime):
		return errors.Join(fmt.Errorf("%s does not end", p.command.Path), p.command.Process.Kill())
	}
}

// startEcho starts this program again as the handler that only echoes.
func startEcho(ctx context.Context) (*program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self)
	command.Env = append(os.Environ(), echoVariable+"="+address)
	p := &program{url: "http://" + address, command: command, ended: make(chan error, 1), output: &tail{}}
	command.Stderr = p.output
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- command.Wait() }()
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if connection, err := new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
			return p, connection.Close()
		}
	}
	return nil, errors.Join(errors.New("the echo does not listen"), command.Process.Kill())
}

// machine names what the numbers were measured on.
func machine(ctx context.Context) string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if match := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(text); match != nil {
			model = string(match[1])
		}
	}
	wrk, _ := exec.CommandContext(ctx, "wrk", "-v").CombinedOutput() // it ends with status 1 whenever it is asked
	version, _, _ := strings.Cut(string(wrk), " Copyright")
	return model + ", " + version
}
