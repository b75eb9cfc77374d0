package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// tick is the unit of the times in /proc/PID/stat.
const tick = 10 * time.Millisecond

// serverCPU returns the processor time that the server's processes have used. It reads /proc. On a
// system without /proc it returns 0. On a busy machine, this time is steadier than a rate.
func serverCPU(ctx context.Context, pool *pgxpool.Pool) time.Duration {
	var backend int
	if pool == nil || pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend) != nil {
		return 0
	}
	parent := stat(backend, 3)
	paths, _ := filepath.Glob("/proc/[0-9]*")
	var ticks int
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if stat(pid, 3) == parent {
			ticks += stat(pid, 13) + stat(pid, 14)
		}
	}
	return time.Duration(ticks) * tick
}

// ownCPU returns the processor time that the subject's programs have used.
func (s *subject) ownCPU() time.Duration {
	ticks := 0
	for _, p := range s.programs {
		ticks += stat(p.cmd.Process.Pid, 13) + stat(p.cmd.Process.Pid, 14)
	}
	return time.Duration(ticks) * tick
}

// stat returns a field of /proc/PID/stat. Fields are counted from 0.
func stat(pid, field int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) <= field-2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[field-2])
	return n
}
