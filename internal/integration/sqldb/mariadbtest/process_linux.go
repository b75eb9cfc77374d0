package mariadbtest

import "syscall"

// dieWithParent stops the server at once when the test is gone.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
