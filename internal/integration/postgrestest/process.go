package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/couponkit/couponkit/internal/integration/patience"
)

// account is the user that runs the server. The zero account is the user of the test.
type account struct {
	uid, gid uint32
	other    bool
}

// unprivileged returns the current user. For root, it returns the user postgres or nobody.
func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return account{uid: uint32(uid), gid: uint32(gid), other: true}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

func (a account) own(paths ...string) error {
	if !a.other {
		return nil
	}
	for _, path := range paths {
		if err := os.Chown(path, int(a.uid), int(a.gid)); err != nil {
			return err
		}
	}
	return nil
}

func (a account) attributes() *syscall.SysProcAttr {
	attributes := new(syscall.SysProcAttr)
	if a.other {
		attributes.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attributes
}

// process is a server process that can be restarted.
type process struct {
	path      string
	arguments []string
	owner     account
	dir, log  string
	command   *exec.Cmd
	ended     chan struct{} // closed when the process has ended
}

// start starts the process from a thread that lives as long as the process. On Linux, the server ends
// with that thread. A killed test therefore leaves no server running.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()                               //nolint:errcheck // the server has its own handle
	command := exec.Command(p.path, p.arguments...) //nolint:noctx // it outlives the call
	command.Dir, command.Env, command.Stdout, command.Stderr = p.dir, cleanEnvironment(), log, log
	command.SysProcAttr = p.owner.attributes()
	command.SysProcAttr.Setpgid = true // signals for the test must not reach the server
	dieWithParent(command.SysProcAttr)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // ignore the exit status of a stopped server
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	p.command, p.ended = command, ended
	return nil
}

// stop sends the signal and waits. After limit, it kills the process.
func (p *process) stop(signal syscall.Signal, limit time.Duration) error {
	if p.command == nil {
		return nil
	}
	defer func() { p.command = nil }()
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := patience.WithTimeout(context.Background(), limit)
	defer cancel()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
	}
	err := p.command.Process.Kill()
	<-p.ended
	return errors.Join(fmt.Errorf("%s did not stop within %s", p.path, limit), err)
}
