//go:build dqlite && libsqlite3

package dqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/canonical/go-dqlite"
	"github.com/canonical/go-dqlite/client"
	"github.com/canonical/go-dqlite/driver"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/store/sqlstore"
)

// nodeVariable makes the test binary a node; see [runNode].
const nodeVariable = "COUPONKIT_DQLITE_NODE"

// soon is how long nodes may take to elect a leader.
const soon = time.Minute

func TestMain(m *testing.M) {
	if text := os.Getenv(nodeVariable); text != "" {
		if err := runNode(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// node is one member of a cluster, in a process of its own.
type node struct {
	client.NodeInfo
	Dir     string
	command *exec.Cmd
}

// runNode is the main function of a node's process. It ends when its input ends, and so
// with the tests.
func runNode(text string) error {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return fmt.Errorf("read the node: %w", err)
	}
	running, err := dqlite.New(n.ID, n.Address, n.Dir, dqlite.WithBindAddress(n.Address))
	if err != nil {
		return fmt.Errorf("make node %d: %w", n.ID, err)
	}
	if err := running.Start(); err != nil {
		return fmt.Errorf("start node %d: %w", n.ID, err)
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, running.Close())
}

func (n *node) start(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(n)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	n.command = exec.CommandContext(context.WithoutCancel(t.Context()), program)
	n.command.Env = append(os.Environ(), nodeVariable+"="+string(text))
	n.command.Stderr = os.Stderr
	_, err = n.command.StdinPipe() // open until the process ends
	require.NoError(t, err)
	require.NoError(t, n.command.Start())
}

func (n *node) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, n.command.Process.Kill())
	_ = n.command.Wait() // it was killed
}

// cluster has three nodes, and each of them votes.
type cluster struct {
	nodes     map[uint64]*node
	addresses client.NodeStore
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{nodes: map[uint64]*node{}, addresses: client.NewInmemNodeStore()}
	var members []client.NodeInfo
	for id := uint64(1); id <= 3; id++ {
		free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, free.Close())
		n := &node{NodeInfo: client.NodeInfo{ID: id, Address: free.Addr().String(), Role: client.Voter}, Dir: t.TempDir()}
		n.start(t)
		t.Cleanup(func() { n.kill(t) })
		c.nodes[id], members = n, append(members, n.NodeInfo)
		require.NoError(t, c.addresses.Set(t.Context(), members))
		if id > 1 {
			c.leader(t, n.NodeInfo)
		}
	}
	return c
}

// leader waits for a leader, lets it add members, and returns it.
func (c *cluster) leader(t *testing.T, add ...client.NodeInfo) *node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	leader, err := client.FindLeader(ctx, c.addresses)
	require.NoError(t, err)
	defer leader.Close()
	for _, member := range add {
		require.NoError(t, leader.Add(ctx, member))
	}
	info, err := leader.Leader(ctx)
	require.NoError(t, err)
	require.Contains(t, c.nodes, info.ID)
	return c.nodes[info.ID]
}

// named is a store that knows the name of its database.
type named struct {
	*sqlstore.Store
	database string
}

// store opens a store on a database of the cluster. dqlite has engine settings of its own.
func (c *cluster) store(t *testing.T, database string) *named {
	t.Helper()
	d, err := driver.New(c.addresses, driver.WithRetryLimit(60)) // one a second
	require.NoError(t, err)
	connector, err := d.OpenConnector(database)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o := sqlstore.Options{KeepSettings: true, MaxParameters: driver.MaxTupleParams}
	require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, o))
	s, err := sqlstore.New(t.Context(), db, sqlstore.SQLite, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &named{s, database}
}
