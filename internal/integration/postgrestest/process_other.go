//go:build !linux

package postgrestest

import "syscall"

// dieWithParent does nothing where the system has no such signal.
func dieWithParent(*syscall.SysProcAttr) {}
