package command_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
)

// TestAddressesStayOffTheCommandLine: every user of a machine can list its processes.
func TestAddressesStayOffTheCommandLine(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	for _, args := range [][]string{
		{"coupon", "list", "postgres://shop:secret@db/shop"},
		{"--database=postgres://db/shop", "coupon", "list"},
		{"--config", "mysql://shop:secret@db/shop", "coupon", "list"},
		{"serve", "--", "-store", "postgresql://db/shop"},
		{"serve", "--", "-store", "other.db"},
		{"coupon", "show", "sqlite:///shop.db"},
		{"coupon", "list", "--search", "host=db password=secret"},
	} {
		require.NotContains(t, m.fails(command.Usage, "", args...), "secret")
	}
	m.ok("", "coupon", "list", "--search", "https://shop.example")
}

// TestSettingsFile: a file has the database and whatever else is secret, and is its owner's alone.
func TestSettingsFile(t *testing.T) {
	t.Parallel()
	file := onFile(t)
	path := filepath.Join(t.TempDir(), "settings.json")
	write := func(text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
	m := machine{t, map[string]string{}}
	m.fails(command.Usage, "", "coupon", "list")
	settings := fmt.Sprintf(`{"database": %q, "timeZone": "Europe/Berlin", "currency": "USD"}`, file.env["COUPONKIT_DATABASE"])
	for _, mode := range []os.FileMode{0o640, 0o604, 0o666} {
		write(settings, mode)
		require.Contains(t, m.fails(command.Usage, "", "coupon", "list", "--config", path), "chmod 600")
	}
	write(settings, 0o600)
	out := m.ok(strings.Replace(summer, "}", `,"startsAt":"2027-07-01"}`, 1), "coupon", "create", "--config", path, "-o", "json")
	require.Contains(t, out, `"currency":"USD"`)
	require.Contains(t, out, `"startsAt":"2027-06-30T22:00:00Z"`)
	require.Contains(t, m.with("COUPONKIT_CONFIG", path).ok("", "coupon", "list"), "SUMMER10")
	require.Contains(t, m.with("COUPONKIT_DATABASE", file.env["COUPONKIT_DATABASE"]).ok("", "coupon", "list", "--config", path), "SUMMER10")
	require.Contains(t, m.with("COUPONKIT_DATABASE", "other.db").fails(command.Usage, "", "coupon", "list", "--config", path), "different")

	for _, text := range []string{
		`{"database": "shop.db", "unknown": 1}`, `{"database": 7}`, "postgres://shop:secret@db/shop", "", `{"database": "shop.db", "timeZone": "Mars"}`,
		`{"database": "shop.db", "currency": "XXQ"}`, `{"database": "oracle://shop:secret@db/shop"}`, `{"database": "postgres:shop"}`,
	} {
		write(text, 0o600)
		require.NotContains(t, m.fails(command.Usage, "", "coupon", "list", "--config", path), "secret")
	}
	m.fails(command.Usage, "", "coupon", "list", "--config", t.TempDir())
	m.fails(command.Usage, "", "coupon", "list", "--config", path+".none")
}

// TestADatabaseThatDoesNotAnswer: the status is 1, and no password is printed.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, database := range []string{
		"postgres://shop:s3cr%21t@127.0.0.1:1/shop", "postgres://127.0.0.1:1/shop?user=shop&password=s3cr%21t",
		"mysql://shop:s3cr%21t@127.0.0.1:1/shop", filepath.Join(t.TempDir(), "none.db"),
	} {
		words := on(t, database).fails(command.Failed, "", "coupon", "list")
		require.Contains(t, words, "does not answer")
		require.NotContains(t, words, "s3cr")
	}
	for _, database := range []string{
		"postgres://shop:s3cr%21t@[db/shop", "postgres://shop:s3cr%zzt@db:port/shop", "mysql://shop:s3cr%zzt@db/shop",
		"mysql://shop:s3cr%21t@db", "mysql://shop:s3cr%21t@db/shop?allowAllFiles=true",
	} {
		require.NotContains(t, on(t, database).fails(command.Usage, "", "coupon", "list"), "s3cr")
	}
	path := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600))
	on(t, path).fails(command.Failed, "", "coupon", "list")
	empty := filepath.Join(t.TempDir(), "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.Contains(t, on(t, empty).fails(command.Failed, "", "coupon", "list"), "store migrate")
}

// gone is a reader that has gone.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

// TestABrokenPipe: a reader that has read enough is no failure to speak of.
func TestABrokenPipe(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(summer, "coupon", "create")
	for _, format := range []string{"table", "json", "csv"} {
		for _, args := range [][]string{{"coupon", "list"}, {"coupon", "show", "SUMMER10"}, {"code", "export", "SUMMER10"}, {"journal", "tail"}} {
			var words text
			env := m.environment("", gone{}, &words)
			require.Equal(t, command.Failed, command.Run(t.Context(), append(args, "-o", format), env), args)
			require.Empty(t, words.String(), args)
		}
	}
	program := exec.CommandContext(t.Context(), os.Args[0], "coupon", "list", "-o", "json")
	program.Env = append(os.Environ(), asProgram+"=1", "COUPONKIT_DATABASE="+m.env["COUPONKIT_DATABASE"])
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	var words text
	program.Stdout, program.Stderr = w, &words
	require.Error(t, program.Run())
	require.NoError(t, w.Close())
	require.Empty(t, words.String())
}

// interrupting ends a context once progress was shown.
type interrupting struct {
	text

	stop context.CancelFunc
}

func (w *interrupting) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "codes: ") {
		w.stop()
	}
	return w.text.Write(b)
}

// TestGenerateGoesOn: what an interruption has left is added by the same command.
func TestGenerateGoesOn(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(summer, "coupon", "create")
	args := []string{"code", "generate", "SUMMER10", "--batch", "mailing", "--count", "12500", "--prefix", "S", "-o", "csv"}
	require.Contains(t, m.ok("", append(args, "--dry-run")...), "mailing,")
	m.fails(command.Usage, "", append(args, "--symbols", "8", "--count", "10000000")...)
	m.fails(command.Usage, "", append(args, "--symbols", "8", "--count", "10000000", "--dry-run")...)
	m.fails(command.Failed, "", "code", "export", "SUMMER10", "--batch", "mailing")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	words := &interrupting{stop: stop}
	var out text
	env := m.environment("", &out, words)
	env.Terminal = true
	require.Equal(t, command.Failed, command.Run(ctx, args, env))
	require.Empty(t, out.String())
	require.Contains(t, words.String(), "interrupted")
	require.Contains(t, words.String(), "5000 of 12500 codes: run the same command again")

	require.Contains(t, m.ok("", args...), "mailing,")
	keys := map[string]bool{}
	for _, row := range lines(m.ok("", "code", "export", "SUMMER10", "--batch", "mailing"))[1:] {
		key, _, _ := strings.Cut(row, ",")
		keys[key] = true
	}
	require.Len(t, keys, 12500, "neither a gap nor a double")
	require.Contains(t, m.fails(command.Failed, "", append(args, "--count", "2600")...), "name another batch")
	require.Equal(t, 12500, strings.Count(m.ok("", "code", "export", "SUMMER10", "--unused", "-o", "json"), "\n"))
}

// TestFollowEndsWhenInterrupted: a follower of the journal prints new entries, and ends well.
func TestFollowEndsWhenInterrupted(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, words text
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(ctx, []string{"journal", "tail", "--follow", "-o", "json"}, m.environment("", &out, &words))
	}()
	m.ok(summer, "coupon", "create")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "coupon_mirrored") }, time.Minute, 10*time.Millisecond, words.String())
	stop()
	require.Equal(t, command.OK, <-ended, words.String())
	require.Equal(t, []string{"1", "2"}, positions(m.ok("", "journal", "tail", "-o", "csv")))
	for i := range 12 {
		m.ok(fmt.Sprintf(`{"name":"Summer %d"}`, i), "coupon", "edit", "SUMMER10")
	}
	all := positions(m.ok("", "journal", "tail", "-o", "csv", "-n", "1000"))
	require.Equal(t, all[len(all)-5:], positions(m.ok("", "journal", "tail", "-o", "csv", "-n", "5")))
	require.Equal(t, all[3:5], positions(m.ok("", "journal", "tail", "-o", "csv", "-n", "2", "--after", "3")))
}

// positions returns the first cells of CSV.
func positions(csv string) (found []string) {
	for _, row := range lines(csv)[1:] {
		position, _, _ := strings.Cut(row, ",")
		found = append(found, position)
	}
	return found
}

// TestVerifyFindsAWrongCounter: a number that somebody has changed by hand is a row, and the status is 1.
func TestVerifyFindsAWrongCounter(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(summer, "coupon", "create")
	require.Equal(t, "counter,number,counted,recounted\n", m.ok("", "store", "verify", "-o", "csv"))
	db, err := sql.Open("sqlite", "file:"+m.env["COUPONKIT_DATABASE"])
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO couponkit_counters (counter, slot, reserved, completed) VALUES ('7/shared/planted', 0, 3, 0)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	status, out, words := m.run("", "store", "verify", "-o", "csv")
	require.Equal(t, command.Failed, status, words)
	require.Equal(t, "counter,number,counted,recounted\nshared/planted/7,reserved,3,0\n", out)
	require.Contains(t, words, "1 numbers differ")
}

// TestTheOutputIsHarmless: names can neither run in a spreadsheet nor command a terminal.
func TestTheOutputIsHarmless(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(`{"code":"EVIL","name":"=2+3","description":"two\nrows","discountType":"PERCENTAGE","discountValue":"10"}`, "coupon", "create")
	require.Contains(t, m.ok("", "coupon", "list", "-o", "csv"), ",'=2+3,")
	require.Contains(t, m.ok("", "coupon", "show", "EVIL"), "two rows")
	require.NotContains(t, m.fails(command.Failed, "", "coupon", "show", "\x1b[31mred"), "\x1b")
}
