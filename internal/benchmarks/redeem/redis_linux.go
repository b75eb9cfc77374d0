package main

import "syscall"

// dieWithParent ends the server at once when the program is gone.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
