//go:build !linux

package postgrestest

import "syscall"

// dieWithParent does nothing, because this system has no such signal.
func dieWithParent(*syscall.SysProcAttr) {}
