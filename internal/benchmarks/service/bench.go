package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

//go:embed apply.lua
var applyScript []byte

//go:embed checkout.lua
var checkoutScript []byte

// unlimited is a limit of checkouts that nobody reaches.
const unlimited = "1000000000"

// bench measures one store after the other.
type bench struct {
	settings
	dir     string
	notes   io.Writer
	service string // the program
	foreign bool   // the program is of another commit, and its tables are others
	wrk     string
}

// note tells how far it is; nobody is left to tell when that fails.
func (b *bench) note(format string, values ...any) {
	_, _ = fmt.Fprintf(b.notes, format+"\n", values...)
}

// prepare builds what is measured and writes what wrk reads.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.wrk, err = exec.LookPath("wrk"); err != nil {
		return fmt.Errorf("the load generator is missing (Debian: apt-get install wrk): %w", err)
	}
	b.note("building the service")
	if b.service, err = build(ctx, b.dir); err != nil {
		return err
	}
	return b.writeScripts()
}

func (b *bench) writeScripts() error {
	for name, text := range map[string][]byte{"apply.lua": applyScript, "checkout.lua": checkoutScript} {
		if err := os.WriteFile(filepath.Join(b.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// measure measures one store with every number of connections, and checks its books.
func (b *bench) measure(ctx context.Context, store string) (_ report, err error) {
	r := report{store: store, machine: machine(ctx), duration: b.duration}
	if store == "echo" {
		return r, b.measureEcho(ctx, &r)
	}
	where, closeStore, err := b.openStore(ctx, store)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	if r.versions, err = versions(ctx, store, where); err != nil {
		return r, err
	}
	arguments := append([]string{
		"-addr", "127.0.0.1:0", "-store", where, "-crowd", strconv.Itoa(crowdSize), "-behind-proxy", "-log", "error",
		"-checkouts-per-user", unlimited, "-checkouts-per-address", unlimited,
	}, b.settings.service...)
	running, err := start(ctx, exec.CommandContext(ctx, b.service, arguments...))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, running.stop()) }()

	admin, err := signIn(ctx, running.url, running.admin, "203.0.113.1")
	if err != nil {
		return r, err
	}
	b.note("%s: signing %d customers in", store, crowdSize)
	crowd, err := signInCrowd(ctx, running.url, running.crowd, crowdSize)
	if err != nil {
		return r, err
	}
	for _, connections := range b.connections {
		cell, err := b.cell(ctx, admin, crowd, connections)
		if err != nil {
			return r, fmt.Errorf("%d connections: %w", connections, err)
		}
		b.note("%s, %d connections: apply %s; checkout %s", store, connections, cell.apply, cell.checkout)
		r.cells = append(r.cells, cell)
	}
	r.books, err = b.check(ctx, admin, store, where, r.cells)
	return r, err
}

// openStore returns the value of the flag -store, and a function that ends what was
// begun for it.
func (b *bench) openStore(ctx context.Context, store string) (where string, end func() error, err error) {
	nothing := func() error { return nil }
	switch store {
	case "sqlite":
		return filepath.Join(b.dir, "load.db"), nothing, nil
	case "postgres":
		server, err := postgrestest.Start(ctx)
		if err != nil {
			return "", nil, err
		}
		dsn, _, err := server.Database(ctx)
		if err != nil {
			return "", nil, errors.Join(err, server.Close())
		}
		return dsn, server.Close, nil
	}
	return store, nothing, nil
}

// cell is what was measured with one number of connections.
type cell struct {
	connections     int
	apply, checkout result
	// measured and scarce are the IDs of the coupons that were used.
	measured, scarce string
}

// result is what wrk has printed. Times are microseconds.
type result struct {
	Seconds   float64
	Done      int64
	P50       int64
	P90       int64
	P99       int64
	Requests  int64
	Failed    int64
	Scarce    int64
	Refused   int64
	Complaint string
}

func (r result) rate() float64 { return float64(r.Done) / r.Seconds }

func (r result) String() string {
	return fmt.Sprintf("%.0f/s, p50 %s, p90 %s, p99 %s", r.rate(), milliseconds(r.P50), milliseconds(r.P90), milliseconds(r.P99))
}

func milliseconds(microseconds int64) string {
	v := float64(microseconds) / 1000
	if v >= 100 {
		return fmt.Sprintf("%.0f ms", math.Round(v))
	}
	return fmt.Sprintf("%.2g ms", v)
}

// cell makes two coupons and lets the customers look up and buy.
func (b *bench) cell(ctx context.Context, admin *customer, crowd []*customer, connections int) (cell, error) {
	c := cell{connections: connections}
	measured, scarce := fmt.Sprintf("LOAD-%d", connections), fmt.Sprintf("SCARCE-%d", connections)
	var err error
	if c.measured, err = createCoupon(ctx, admin, measured, 10, 1_000_000); err != nil {
		return c, err
	}
	if c.scarce, err = createCoupon(ctx, admin, scarce, 20, b.settings.scarce); err != nil {
		return c, err
	}
	sessions, err := writeCrowd(b.dir, crowd)
	if err != nil {
		return c, err
	}
	if c.apply, err = b.apply(ctx, admin.base, connections, sessions, "GET", "/payment/apply-coupon/"+measured); err != nil {
		return c, err
	}
	bodies := make([]string, 2)
	for i, body := range []string{checkoutBody(measured, "9.90", "94.00"), checkoutBody(scarce, "19.80", "84.10")} {
		bodies[i] = filepath.Join(b.dir, fmt.Sprintf("body-%d", i))
		if err := os.WriteFile(bodies[i], []byte(body), 0o600); err != nil {
			return c, err
		}
	}
	prefix := fmt.Sprintf("load-%d-", connections)
	c.checkout, err = b.run(ctx, admin.base, connections, connections, "checkout.lua", sessions, prefix, bodies[0], bodies[1], strconv.Itoa(connections))
	return c, err
}

// apply measures single requests; two threads are enough to keep one service busy.
func (b *bench) apply(ctx context.Context, base string, connections int, arguments ...string) (result, error) {
	const threads = 2
	r, err := b.run(ctx, base, min(threads, connections), connections, "apply.lua", arguments...)
	if err == nil && r.Failed > 0 {
		err = fmt.Errorf("%d of %d requests were not answered well", r.Failed, r.Requests)
	}
	return r, err
}

// run runs wrk with a script and reads what it prints.
func (b *bench) run(ctx context.Context, base string, threads, connections int, script string, arguments ...string) (result, error) {
	command := exec.CommandContext(ctx, b.wrk, append([]string{
		"-t", strconv.Itoa(threads), "-c", strconv.Itoa(connections), "-d", fmt.Sprintf("%ds", int(b.duration.Seconds())),
		"--timeout", "30s", "-s", filepath.Join(b.dir, script), base, "--",
	}, arguments...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		return result{}, fmt.Errorf("wrk: %w\n%s", err, output)
	}
	_, line, found := bytes.Cut(output, []byte("RESULT "))
	if !found {
		return result{}, fmt.Errorf("wrk says nothing of the result:\n%s", output)
	}
	var r result
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&r); err != nil {
		return result{}, fmt.Errorf("%w: %s", err, line)
	}
	if r.Complaint != "" {
		err = fmt.Errorf("a checkout went wrong: %s", r.Complaint)
	}
	return r, err
}

func createCoupon(ctx context.Context, admin *customer, code string, percent, maxUses int) (id string, err error) {
	var created struct {
		ID string `json:"id"`
	}
	err = admin.call(ctx, http.MethodPost, "/admin/coupon", map[string]any{
		"code": code, "name": "Load", "discountType": "PERCENTAGE", "discountValue": percent, "maxUses": maxUses, "maxUsesPerUser": nil,
	}, &created)
	return created.ID, err
}

// checkoutBody buys earbuds for 99.00 and has them delivered for 4.90.
func checkoutBody(code, discount, total string) string {
	return fmt.Sprintf(`{"lines":[{"kind":"accessory","itemId":"earbuds","quantity":1}],"shippingOptionId":"standard","couponCode":%q,`+
		`"expected":{"subtotal":"99.00","discount":%q,"shipping":"4.90","total":%q}}`, code, discount, total)
}

// measureEcho measures the handler that only echoes: with the look-up, and with the
// first request of the checkout.
func (b *bench) measureEcho(ctx context.Context, r *report) (err error) {
	running, err := startEcho(ctx)
	if err != nil {
		return err
	}
	defer func() { // it is told to end by a signal that it does not handle
		_ = running.command.Process.Kill()
		<-running.ended //nolint:errcheck // it was killed
	}()
	crowd := make([]*customer, crowdSize)
	for i := range crowd {
		crowd[i] = &customer{cookie: "couponkit_session=" + strings.Repeat("x", 26), csrf: strings.Repeat("x", 26), address: "198.51.100.1"}
	}
	body := filepath.Join(b.dir, "body-0")
	if err := os.WriteFile(body, []byte(checkoutBody("LOAD-1", "9.90", "94.00")), 0o600); err != nil {
		return err
	}
	sessions, err := writeCrowd(b.dir, crowd)
	if err != nil {
		return err
	}
	for _, connections := range b.connections {
		c := cell{connections: connections}
		if c.apply, err = b.apply(ctx, running.url, connections, sessions, "GET", "/payment/apply-coupon/LOAD-1"); err != nil {
			return err
		}
		if c.checkout, err = b.apply(ctx, running.url, connections, sessions, "POST", "/payment/cart-checkout", body); err != nil {
			return err
		}
		b.note("echo, %d connections: GET %s; POST %s", connections, c.apply, c.checkout)
		r.cells = append(r.cells, c)
	}
	return nil
}

// metric reads a number from /metrics.
func metric(ctx context.Context, base, series string) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	match := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("/metrics has no %s", series)
	}
	value, err := strconv.ParseFloat(string(match[1]), 64)
	return int64(value), err
}

// eventually waits until something holds.
func eventually(ctx context.Context, patience time.Duration, holds func() (bool, error)) error {
	for deadline := time.Now().Add(patience); ; {
		done, err := holds()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %s", patience)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
