package mariadbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ErrNoGalera tells that the library of Galera is not there.
var ErrNoGalera = errors.New("no Galera: install it (Debian: galera-4)")

// StartGalera returns the running nodes of a new cluster, on loopback. Without the library it is
// [ErrNoGalera]. Nodes cannot be started again: a node that was killed needs a state transfer.
func StartGalera(ctx context.Context, count int) (nodes []*Server, err error) {
	defer func() {
		if err != nil {
			for _, s := range nodes {
				err = errors.Join(err, s.Close())
			}
			nodes = nil
		}
	}()
	arguments, address, err := galera("")
	if err != nil {
		return nil, err
	}
	first, err := Start(ctx, arguments...)
	if err != nil {
		return nil, err
	}
	nodes = append(nodes, first)
	if count == 1 || first.foreign {
		return nodes, nil
	}
	if err := first.stop(syscall.SIGTERM); err != nil {
		return nodes, err
	}
	for range count - 1 {
		s, err := first.copy(ctx, address)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, s)
	}
	for _, s := range nodes {
		if err := s.Resume(ctx); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// copy returns a node with the same data. The node joins the cluster at the address. It has missed no
// change, so it needs no state transfer.
func (s *Server) copy(ctx context.Context, address string) (*Server, error) {
	arguments, _, err := galera(address)
	if err != nil {
		return nil, err
	}
	joins := &Server{daemon: s.daemon, owner: s.owner, more: arguments, config: s.config.Clone()}
	if joins.dir, err = os.MkdirTemp("", "couponkit-mariadb-"); err != nil {
		return nil, err
	}
	joins.config.Addr = filepath.Join(joins.dir, "socket")
	if err := joins.owner.own(joins.dir); err != nil {
		return nil, errors.Join(err, joins.Close())
	}
	if output, err := exec.CommandContext(ctx, "cp", "-a", s.data(), joins.dir).CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the data: %w\n%s", err, output), joins.Close())
	}
	return joins, nil
}

// galera returns the arguments of a node, and the address for other nodes to join. Without an address
// in join, the node starts a cluster.
func galera(join string) (arguments []string, address string, err error) {
	libraries, err := filepath.Glob("/usr/lib*/galera*/libgalera_smm.so")
	if err != nil || len(libraries) == 0 {
		return nil, "", errors.Join(ErrNoGalera, err)
	}
	address, err = freeAddress()
	if err != nil {
		return nil, "", err
	}
	transfer, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	return []string{
		"--wsrep-on=ON", "--wsrep-provider=" + libraries[0], "--wsrep-cluster-address=gcomm://" + join, "--wsrep-node-address=127.0.0.1",
		"--wsrep-provider-options=gmcast.listen_addr=tcp://" + address + ";ist.recv_addr=" + transfer,
		"--wsrep-sst-method=rsync", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
	}, address, nil
}

func freeAddress() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}
