package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRedisEndsWithTheProgram, even when that is killed and can do nothing about it.
func TestRedisEndsWithTheProgram(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip(err)
	}
	program := exec.CommandContext(t.Context(), os.Args[0], redisAlone)
	program.Stderr = os.Stderr
	output, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	text, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	pid, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	for gone := false; !gone; { // the limit is the test's
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		gone = err != nil || strings.Contains(string(stat), ") Z ") // dead, and nobody has asked for it yet
	}
}
