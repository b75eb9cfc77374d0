package mariadbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// account is the user that runs the server. The zero account is the user of the test.
type account struct {
	uid, gid uint32
	other    bool
}

// unprivileged returns the current user. For root, it returns the user mysql or nobody.
func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"mysql", "nobody"} {
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
	return account{}, errors.New("a server should not run as root, and there is neither a user mysql nor nobody")
}

func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

func (a account) attributes() *syscall.SysProcAttr {
	attributes := new(syscall.SysProcAttr)
	if a.other {
		attributes.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attributes
}

// process is a running server.
type process struct {
	command *exec.Cmd
	ended   chan struct{} // closed when the server has ended
}

// start starts the server from a thread that lives as long as the server. On Linux, the server ends
// with that thread. A killed test therefore leaves no server running.
func start(owner account, dir, logFile, path string, arguments ...string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()                           //nolint:errcheck // the server has its own handle
	command := exec.Command(path, arguments...) //nolint:noctx // it outlives the call
	command.Dir, command.Env, command.Stdout, command.Stderr = dir, cleanEnvironment(), log, log
	command.SysProcAttr = owner.attributes()
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
		return nil, err
	}
	return &process{command: command, ended: ended}, nil
}

// stop sends the signal and waits. After patience, it kills the process.
func (p *process) stop(signal syscall.Signal, patience time.Duration) error {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
	}
	err := p.command.Process.Kill()
	<-p.ended
	return errors.Join(fmt.Errorf("%s did not stop within %s", p.command.Path, patience), err)
}

// cleanEnvironment returns an environment without settings of the developer's own server.
func cleanEnvironment() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"} }
