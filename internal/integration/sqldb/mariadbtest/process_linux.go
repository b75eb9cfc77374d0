package mariadbtest

import "syscall"

// dieWithParent makes the server stop when the test ends.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
