package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Maximum times for the start and the end of programs.
const (
	startTime = time.Minute
	endTime   = 30 * time.Second
)

// program is a started process of the service.
type program struct {
	url string
	// admin and crowd are logins that the service prints: an administrator, and the addresses of the
	// first and the last of many customers with their password.
	admin, crowd login
	command      *exec.Cmd
	ended        chan error
}

// build builds the service in its own module, as an operator would.
func build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/couponkit/couponkit").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return buildIn(ctx, strings.TrimSpace(string(root)), filepath.Join(dir, "service"))
}

// buildIn builds the service of a source tree.
func buildIn(ctx context.Context, root, binary string) (string, error) {
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	command.Dir = filepath.Join(root, "examples", "service")
	command.Env = append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the service: %w\n%s", err, output)
	}
	return binary, nil
}

// buildAt builds the service of another commit of the repository.
func buildAt(ctx context.Context, dir, commit string) (string, error) {
	tree := filepath.Join(dir, "tree")
	script := `set -e; mkdir "$1"; git -C "$(git rev-parse --show-toplevel)" archive "$2" | tar -x -C "$1"`
	if output, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", tree, commit).CombinedOutput(); err != nil {
		return "", fmt.Errorf("read commit %s: %w\n%s", commit, err, output)
	}
	return buildIn(ctx, tree, filepath.Join(dir, "before"))
}

// start starts a command that prints its address.
func start(ctx context.Context, command *exec.Cmd) (*program, error) {
	p := &program{command: command, ended: make(chan error, 1)}
	said, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(said)
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
	return nil, fmt.Errorf("start %s: %w", command.Path, err)
}

var (
	addressLine = regexp.MustCompile(`listening on (http://[^ ]+)`)
	adminLine   = regexp.MustCompile(`^ +(\S+@\S+) +(\S+) +administrator,`)
	crowdLine   = regexp.MustCompile(`^ +crowd-1(@\S+) to \S+, (\S+)$`)
)

// read reads a line of the service's output. It reports whether this was the last line needed.
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

// stop asks the program to end. It returns an error if the program does not end properly.
func (p *program) stop() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(endTime):
		return errors.Join(fmt.Errorf("%s does not end", p.command.Path), p.command.Process.Kill())
	}
}
