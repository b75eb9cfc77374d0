//go:build !linux

package mariadbtest

import "syscall"

// dieWithParent does nothing where the system has no such signal.
func dieWithParent(*syscall.SysProcAttr) {}
