package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a client process.
type process struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	tell    *json.Encoder
	hear    *json.Decoder
	dead    bool
}

func startProcess(t *testing.T, dsn string) *process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	command.Env = append(os.Environ(), workerVariable+"="+dsn)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	return &process{t: t, command: command, in: in, tell: json.NewEncoder(in), hear: json.NewDecoder(out)}
}

// run gives the process a task and returns its calls, also the open ones of a process that
// dies. It calls heard after each line that the process says.
func (p *process) run(t task, heard func()) (history []call) {
	calls := map[int]call{}
	p.converse(t, func(l line) {
		calls[l.Number] = l.Call
		heard()
	})
	for _, c := range calls {
		if c.Ended == 0 {
			c.Ended = math.MaxInt64
		}
		history = append(history, c)
	}
	return history
}

// converse gives the process a task and hears what it says until the task is done or the
// process dead. It returns the last line.
func (p *process) converse(t task, heard func(line)) line {
	if err := p.tell.Encode(t); err != nil {
		p.dead = true
		return line{}
	}
	for {
		var l line
		if err := p.hear.Decode(&l); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				p.t.Errorf("a client says what is no line: %v", err)
			}
			p.dead = true
			return line{}
		}
		if l.Done {
			return l
		}
		heard(l)
	}
}

func (p *process) kill() {
	if err := p.command.Process.Kill(); err != nil {
		p.t.Error(err)
	}
}

// pause stops the process, as a machine does that is moved or out of memory, and lets it
// go on. What it has locked in the database stays locked meanwhile.
func (p *process) pause(lasting time.Duration) {
	err := p.command.Process.Signal(syscall.SIGSTOP)
	time.Sleep(lasting)
	if err = errors.Join(err, p.command.Process.Signal(syscall.SIGCONT)); err != nil {
		p.t.Error(err)
	}
}

// end lets the process end and waits for it.
func (p *process) end() {
	_ = p.in.Close() // it may be gone
	if p.dead {
		_ = p.command.Process.Kill()
	}
	_ = p.command.Wait() // killed is as good as ended
}
