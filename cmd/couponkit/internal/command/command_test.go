package command_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// postgres is the server of all tests. A crash of the machine may damage its data, which no test looks at.
var postgres = postgrestest.Shared{
	Settings: []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"},
	Prepare:  func(context.Context, string) error { return nil },
}

// asProgram lets the executable of the tests be the tool, which has pipes and gets signals.
const asProgram = "COUPONKIT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		os.Exit(command.Run(ctx, os.Args[1:], command.Environment{
			In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now,
		}))
	}
	status := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// text is what a program has written so far.
type text struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (w *text) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes.Write(b)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes.String()
}

// machine is where the tool runs.
type machine struct {
	*testing.T
	env map[string]string
}

// on returns a machine whose environment names a database.
func on(t *testing.T, database string) machine {
	t.Helper()
	return machine{t, map[string]string{"COUPONKIT_DATABASE": database, "USER": "tester"}}
}

// onFile returns a machine with an SQLite file that has tables.
func onFile(t *testing.T) machine {
	t.Helper()
	m := on(t, t.TempDir()+"/coupon kit.db")
	m.ok("", "store", "migrate")
	return m
}

func (m machine) with(name, value string) machine {
	env := map[string]string{name: value}
	for n, v := range m.env {
		if n != name {
			env[n] = v
		}
	}
	return machine{m.T, env}
}

func (m machine) environment(in string, out, words io.Writer) command.Environment {
	return command.Environment{
		In: strings.NewReader(in), Out: out, Err: words, Getenv: func(name string) string { return m.env[name] }, Now: time.Now,
	}
}

// run runs the tool with an input.
func (m machine) run(in string, args ...string) (status int, out, words string) {
	m.Helper()
	var o, w text
	status = command.Run(m.Context(), args, m.environment(in, &o, &w))
	return status, o.String(), w.String()
}

// ok runs the tool and returns its data.
func (m machine) ok(in string, args ...string) string {
	m.Helper()
	status, out, words := m.run(in, args...)
	require.Equal(m, command.OK, status, "%v: %s", args, words)
	return out
}

// fails runs the tool, which must end with a status and without data, and returns its words.
func (m machine) fails(status int, in string, args ...string) string {
	m.Helper()
	got, out, words := m.run(in, args...)
	require.Equal(m, status, got, "%v: %s", args, words)
	require.Empty(m, out, "%v: data of a command that failed", args)
	require.NotEmpty(m, words, "%v: no words", args)
	return words
}

const summer = `{"code":"SUMMER10","name":"Summer","discountType":"PERCENTAGE","discountValue":"10"}`

// TestUsage: what the tool cannot understand ends with the status 2, before any database is asked.
func TestUsage(t *testing.T) {
	t.Parallel()
	m := on(t, "postgres://nobody@127.0.0.1:1/none")
	for _, args := range [][]string{
		{"frobnicate"},
		{"coupon", "frobnicate"},
		{"coupon"},
		{},
		{"coupon", "list", "--frob"},
		{"coupon", "show"},
		{"coupon", "show", "a", "b"},
		{"-o", "xml", "coupon", "list"},
		{"coupon", "list", "--state", "odd"},
		{"coupon", "list", "--limit", "many"},
		{"code", "generate", "SUMMER10"},
		{"code", "generate", "SUMMER10", "--batch", "b"},
		{"code", "disable"},
		{"code", "disable", "A", "--batch", "b"},
		{"code", "disable", "--batch", "b"},
		{"code", "export", "SUMMER10", "--owner", "nobody"},
		{"code", "export", "SUMMER10", "--used", "--unused"},
		{"order", "refund", "1"},
		{"order", "refund", "1", "--key", "k"},
		{"order", "refund", "1", "--key", "k", "--all", "--shipping"},
		{"journal", "tail", "-n", "0"},
		{"journal", "tail", "--after", "-1"},
		{"sweep", "--limit", "0"},
		{"sweep", "--limit", "-1"},
		{"sweep", "--limit", "0", "--dry-run"},
		{"replay", "--orders", "0"},
		{"replay", "--orders", "10000001"},
		{"replay", "--max-coupons", "0"},
		{"replay", "--max-coupons", "33"},
		{"code", "generate", "SUMMER10", "--batch", "b", "--count", "0"},
		{"code", "generate", "SUMMER10", "--batch", "b", "--count", "10000001"},
		{"code", "generate", "SUMMER10", "--batch", "b", "--count", "9", "--max-uses", "-1"},
		{"code", "generate", "SUMMER10", "--batch", "b", "--count", "9", "--symbols", "-1"},
		{"code", "generate", "SUMMER10", "--batch", "b", "--count", "9", "--symbols", "1000000000"},
		{"explain"},
	} {
		m.fails(command.Usage, "", args...)
	}
	require.Contains(t, m.fails(command.Usage, "", "coupon", "frobnicate"), "frobnicate")
	for flag, args := range map[string][]string{
		"--state": {"coupon", "list", "--state", "odd"},
		"--type":  {"coupon", "list", "--type", "odd"},
		"--limit": {"coupon", "list", "--limit", "-1"},
		"--owner": {"code", "export", "SUMMER10", "--owner", "nobody"},
		"state":   {"code", "export", "SUMMER10", "--state", "odd"},
		"country": {"explain", "SUMMER10", "--country", "de"},
	} {
		require.Contains(t, m.fails(command.Usage, "", args...), flag+":")
	}
}

// TestEachCurrencyIsListed: a coupon in several currencies is listed with the amount of each.
func TestEachCurrencyIsListed(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(`{"code":"TWO","name":"Two","discountType":"FIXED_AMOUNT","discountValue":{"EUR":"20.00","USD":"22.00"}}`, "coupon", "create")
	require.Contains(t, m.ok("", "coupon", "list"), "20.00 EUR or 22.00 USD")
	require.Contains(t, m.ok("", "coupon", "show", "TWO"), "20.00 EUR or 22.00 USD")
	require.Contains(t, m.ok("", "coupon", "list", "-o", "csv"), "20.00 EUR or 22.00 USD")
}

// TestHelp: help is data, and needs no database.
func TestHelp(t *testing.T) {
	t.Parallel()
	m := machine{t, nil}
	out := m.ok("", "--help")
	for _, name := range []string{"coupon", "code", "order", "explain", "store", "replay", "sweep", "reconcile", "journal", "serve", "completion"} {
		require.Contains(t, out, "\n  "+name+" ")
	}
	require.Contains(t, m.ok("", "completion", "bash"), "couponkit")
	require.Contains(t, m.ok("", "__complete", "coupon", "list", "--state", ""), "inactive")
	require.NotEmpty(t, m.ok("", "--version"))
	m.ok("", "help", "code", "generate")
}

// TestMalformedJSON: every invalid member of a coupon is named, and nothing is stored.
func TestMalformedJSON(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	words := m.fails(command.Failed, `{"cod":"A","discountType":"X","maxUses":-5,"startsAt":"soon"}`, "coupon", "create")
	for _, member := range []string{"cod: ", "code: ", "name: ", "discountType: ", "maxUses: ", "startsAt: "} {
		require.Contains(t, words, "couponkit: "+member)
	}
	for _, document := range []string{"", "{", "[]", `"text"`, `{"code":"A"} {}`, "\x00", strings.Repeat("[", 10_000)} {
		m.fails(command.Failed, document, "coupon", "create")
		m.fails(command.Failed, document, "coupon", "create", "--dry-run")
		m.fails(command.Failed, document, "explain", "A")
	}
	m.ok(summer, "coupon", "create")
	require.Contains(t, m.fails(command.Failed, `{"maxUses":0,"nam":"x","code":"OTHER"}`, "coupon", "edit", "SUMMER10"), "nam: ")
	require.Contains(t, m.fails(command.Failed, summer, "coupon", "create"), "code")
	require.Contains(t, m.fails(command.Failed, summer, "coupon", "create", "--dry-run"), "code")
	m.fails(command.Failed, `{"name":"x","revision":7}`, "coupon", "edit", "SUMMER10", "--dry-run")
	m.fails(command.Failed, "", "coupon", "show", "WINTER")
	m.fails(command.Failed, "", "coupon", "create", "-f", "no such file")
	require.Len(t, lines(m.ok("", "coupon", "list", "-o", "json")), 1)
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// TestRefusedRows: bad rows are named by their numbers, and the others are processed. The status is 3.
func TestRefusedRows(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(summer, "coupon", "create")
	const file = "code,maxUses\nAAA,1\nBBB,x\n,2\nSUMMER10,1\nCCC,2\n"
	for _, dry := range []string{"--dry-run=true", "--dry-run=false"} {
		status, out, words := m.run(file, "code", "import", "SUMMER10", "--batch", "imported", dry, "-o", "csv")
		require.Equal(t, command.Refused, status, words)
		require.Equal(t, "added,known,taken,refused\n2,0,1,2\n", out)
		require.Contains(t, words, "row 3: maxUses")
		require.Contains(t, words, "row 4: code")
		require.Contains(t, words, "row 5: ")
		require.Contains(t, words, "3 rows were refused")
	}
	status, out, _ := m.run(file, "code", "import", "SUMMER10", "--batch", "imported", "-o", "json")
	require.Equal(t, command.Refused, status)
	require.JSONEq(t, `{"added":0,"known":2,"taken":1,"refused":2}`, out)

	status, out, words := m.run("\ufeffann@example.org\n\nnobody\nid:7\nemail:nowhere\n", "code", "assign", "SUMMER10", "--batch", "imported", "-o", "csv")
	require.Equal(t, command.Refused, status, words)
	require.Equal(t, []string{"owner,code", "email:ann@example.org,AAA", "id:7,CCC"}, lines(out))
	require.Contains(t, words, "row 3: ")
	require.Contains(t, words, "row 5: ")
	status, _, words = m.run("Kunde;E-Mail;Code\nAnn;ann@example.org;MINE\n", "code", "import", "SUMMER10", "--batch", "mine")
	require.Equal(t, command.OK, status)
	require.Contains(t, words, "columns that are not read: Kunde\n")
	require.Contains(t, m.ok("", "code", "check", "MINE"), "email:ann@example.org")
	m.fails(command.Failed, "no column of codes\n", "code", "import", "SUMMER10", "--batch", "imported")
	m.fails(command.Failed, "ben@example.org\n", "code", "assign", "SUMMER10", "--batch", "unknown")
	status, _, words = m.run("code\nDDD\n\"EEE", "code", "import", "SUMMER10", "--batch", "imported")
	require.Equal(t, command.Failed, status)
	require.Contains(t, words, "row 3")
	require.NotContains(t, words, "import the rest", "the same file stops at the same row")
}
