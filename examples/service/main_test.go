package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestASecondSignalEndsTheProgramAtOnce: also while a request that does not end keeps it
// from closing.
func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	program := exec.CommandContext(t.Context(), os.Args[0], "-addr", "127.0.0.1:0", "-store", "memory", "-seed=false", "-log", "error")
	program.Env = append(os.Environ(), asProgram+"=1")
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	said := bufio.NewReader(out)
	var found []string
	for found == nil {
		line, err := said.ReadString('\n')
		require.NoError(t, err)
		found = regexp.MustCompile(`listening on http://(127\.0\.0\.1:\d+) `).FindStringSubmatch(line)
	}

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", found[1])
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /login HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	status, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, status, "100 Continue", "the request waits for its body")

	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	for signalled := 0; ; signalled++ { // one may arrive before the first one has been heard
		select {
		case <-ended:
			require.GreaterOrEqual(t, signalled, 2)
			state, known := program.ProcessState.Sys().(syscall.WaitStatus)
			require.True(t, known && state.Signaled(), "it has ended by itself: %v", program.ProcessState)
			return
		case <-time.After(20 * time.Millisecond):
			_ = program.Process.Signal(syscall.SIGTERM) // it may have ended meanwhile
		}
	}
}
