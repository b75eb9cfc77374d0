package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

//go:embed checkout.lua
var checkoutScript []byte

// unlimited is a rate limit that no run reaches.
const unlimited = "100000000"

// bench measures one store after another.
type bench struct {
	settings
	dir   string
	notes io.Writer
	wrk   string
}

// way is one build of the service to measure.
type way struct {
	name, program string
	present       bool // built from this tree, so its tables are known
}

// note prints progress. It ignores errors, because there is no other way to report them.
func (b *bench) note(format string, values ...any) {
	_, _ = fmt.Fprintf(b.notes, format+"\n", values...)
}

// prepare builds the services to measure.
func (b *bench) prepare(ctx context.Context) (ways []way, err error) {
	if b.wrk, err = exec.LookPath("wrk"); err != nil {
		return nil, fmt.Errorf("the load generator is missing (Debian: apt-get install wrk): %w", err)
	}
	if b.beside != "" {
		b.note("building the service of %s", b.beside)
		program, err := buildAt(ctx, b.dir, b.beside)
		if err != nil {
			return nil, err
		}
		ways = append(ways, way{name: b.beside, program: program})
	}
	b.note("building the service")
	program, err := build(ctx, b.dir)
	return append(ways, way{name: "now", program: program, present: true}), err
}

// compare measures the ways in turn. It returns a table of medians.
func (b *bench) compare(ctx context.Context, store string, ways []way) (string, error) {
	rounds := make([][][]cell, len(ways))
	for range b.rounds {
		for i, w := range ways {
			cells, err := b.turn(ctx, store, w)
			if err != nil {
				return "", fmt.Errorf("%s: %w", w.name, err)
			}
			rounds[i] = append(rounds[i], cells)
		}
	}
	return b.table(store, ways, rounds), nil
}

// table returns the medians of the rounds for each number of connections. For two ways, it adds their
// ratio.
func (b *bench) table(store string, ways []way, rounds [][][]cell) string {
	var text strings.Builder
	fmt.Fprintf(&text, "### %s: checkouts a second, medians of %d rounds\n\n| connections | way | rate | p50, ms | p99, ms | ratio |\n|---:|---|---:|---:|---:|---:|\n",
		store, b.rounds)
	for at, connections := range b.connections {
		first := 0.0
		for i, w := range ways {
			of := func(figure func(result) float64) float64 {
				var all []float64
				for _, cells := range rounds[i] {
					all = append(all, figure(cells[at].checkout))
				}
				slices.Sort(all)
				return all[len(all)/2]
			}
			rate := of(result.rate)
			if i == 0 {
				first = rate
			}
			fmt.Fprintf(&text, "| %d | %s | %.0f | %.1f | %.1f | %.2f |\n", connections, w.name, rate,
				of(func(r result) float64 { return float64(r.P50) / 1000 }), of(func(r result) float64 { return float64(r.P99) / 1000 }), rate/first)
		}
	}
	return text.String() + "\n"
}

// turn measures a service with each number of connections, on a new database. Then it checks the
// recorded orders.
func (b *bench) turn(ctx context.Context, store string, w way) (cells []cell, err error) {
	dir, err := os.MkdirTemp(b.dir, "turn-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	where, closeStore, err := openStore(ctx, dir, store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	running, err := start(ctx, exec.CommandContext(ctx, w.program,
		"-addr", "127.0.0.1:0", "-store", where, "-crowd", strconv.Itoa(crowdSize), "-behind-proxy", "-log", "error",
		"-checkouts-per-user", unlimited, "-checkouts-per-address", unlimited))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	admin, err := signIn(ctx, running.url, running.admin, "203.0.113.1")
	if err != nil {
		return nil, err
	}
	crowd, err := signInCrowd(ctx, running.url, running.crowd, crowdSize)
	if err != nil {
		return nil, err
	}
	for _, connections := range b.connections {
		c, err := b.cell(ctx, dir, admin, crowd, connections)
		if err != nil {
			return nil, fmt.Errorf("%d connections: %w", connections, err)
		}
		b.note("%s, %s, %d connections: %.0f/s", store, w.name, connections, c.checkout.rate())
		cells = append(cells, c)
	}
	kept, err := b.check(ctx, admin, cells)
	if err == nil && w.present {
		err = checkDatabase(ctx, store, where, kept)
	}
	return cells, err
}

// openStore returns the value of the flag -store. end stops a server that was started for it.
func openStore(ctx context.Context, dir, store string) (where string, end func() error, err error) {
	nothing := func() error { return nil }
	switch store {
	case "sqlite":
		return filepath.Join(dir, "load.db"), nothing, nil
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

// cell is the measurement with one number of connections.
type cell struct {
	connections int
	checkout    result
	// measured and scarce are the IDs of the coupons that were used.
	measured, scarce string
}

// result is the output of wrk's script. Times are in microseconds.
type result struct {
	Seconds   float64
	Done      int64
	P50       int64
	P99       int64
	Scarce    int64
	Refused   int64
	Complaint string
}

func (r result) rate() float64 { return float64(r.Done) / r.Seconds }

// cell creates two coupons and runs the customers.
func (b *bench) cell(ctx context.Context, dir string, admin *customer, crowd []*customer, connections int) (cell, error) {
	c := cell{connections: connections}
	measured, scarce := fmt.Sprintf("LOAD-%d", connections), fmt.Sprintf("SCARCE-%d", connections)
	var err error
	if c.measured, err = createCoupon(ctx, admin, measured, 10, 1_000_000); err != nil {
		return c, err
	}
	if c.scarce, err = createCoupon(ctx, admin, scarce, 20, b.settings.scarce); err != nil {
		return c, err
	}
	var sessions strings.Builder
	for _, c := range crowd {
		fmt.Fprintf(&sessions, "%s %s %s\n", c.cookie, c.csrf, c.address)
	}
	for name, text := range map[string]string{
		"checkout.lua": string(checkoutScript), "sessions": sessions.String(),
		"measured": checkoutBody(measured, "9.90", "94.00"), "scarce": checkoutBody(scarce, "19.80", "84.10"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return c, err
		}
	}
	c.checkout, err = b.load(ctx, dir, admin.base, connections)
	return c, err
}

// load runs wrk with one thread for each connection. It reads the output of wrk's script.
func (b *bench) load(ctx context.Context, dir, base string, connections int) (r result, err error) {
	n := strconv.Itoa(connections)
	command := exec.CommandContext(ctx, b.wrk, "-t", n, "-c", n, "-d", fmt.Sprintf("%ds", int(b.duration.Seconds())),
		"--timeout", "30s", "-s", "checkout.lua", base, "--", "sessions", "load-"+n+"-", "measured", "scarce", n)
	command.Dir = dir
	output, err := command.CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("wrk: %w\n%s", err, output)
	}
	_, line, found := bytes.Cut(output, []byte("RESULT "))
	if !found {
		return r, fmt.Errorf("wrk says nothing of the result:\n%s", output)
	}
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&r); err != nil {
		return r, fmt.Errorf("%w: %s", err, line)
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

// checkoutBody returns a request for earbuds at 99.00 with a delivery at 4.90.
func checkoutBody(code, discount, total string) string {
	return fmt.Sprintf(`{"lines":[{"kind":"accessory","itemId":"earbuds","quantity":1}],"shippingOptionId":"standard","couponCode":%q,`+
		`"expected":{"subtotal":"99.00","discount":%q,"shipping":"4.90","total":%q}}`, code, discount, total)
}
