//go:build !linux

package main

import "syscall"

// dieWithParent does nothing where the system has no such signal.
func dieWithParent(*syscall.SysProcAttr) {}
