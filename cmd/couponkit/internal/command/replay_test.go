package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
	"github.com/couponkit/couponkit/eligibility/replay"
)

// cartOf is a line of a recorded cart.
func cartOf(second int, customer, paid string) string {
	return fmt.Sprintf(`{"at":%q,"currency":"EUR","paid":%q,"customer":{"id":%q},"lines":[{"kind":"device","itemId":"phone","quantity":3,"unitPrice":"10.00"}]}`,
		time.Date(2026, 11, 20, 12, 0, second, 0, time.UTC).Format(time.RFC3339), paid, customer) + "\n"
}

// TestReplay: recorded carts are compared with drafts, and refused lines are named by their numbers.
func TestReplay(t *testing.T) {
	t.Parallel()
	m := machine{t, nil}
	folder := t.TempDir()
	drafts, picture := filepath.Join(folder, "drafts.json"), filepath.Join(folder, "change.svg")
	require.NoError(t, os.WriteFile(drafts, []byte(strings.Replace(summer, "}", `,"maxUses":2}`, 1)), 0o600))
	carts := cartOf(1, "ann", "30.00") + cartOf(2, "ann", "30.00") + "\n" + cartOf(3, "ben", "25.00") + cartOf(2, "cid", "30") +
		`{"at":"2026-11-20T12:00:04Z","currency":"EUR","lines":[],"wrong":1}` + "\n" + cartOf(5, "cid", "30.00")

	status, out, words := m.run(carts, "replay", "--coupons", drafts, "--carts", "-", "--svg", picture, "-o", "json")
	require.Equal(t, command.Refused, status, words)
	for _, row := range []string{"row 3: ", "row 5: at must not be before", "row 6: wrong", "3 rows were refused"} {
		require.Contains(t, words, row)
	}
	var r struct {
		Carts      int64            `json:"carts"`
		Refused    int64            `json:"refused"`
		Currencies []map[string]any `json:"currencies"`
		Coupons    []struct {
			Uses     int64     `json:"uses"`
			RanOutAt time.Time `json:"ranOutAt"`
			Refusals []struct {
				Reason string `json:"reason"`
				Carts  int    `json:"carts"`
			} `json:"refusals"`
		} `json:"coupons"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, []int64{4, 3, 1, 2}, []int64{r.Carts, r.Refused, int64(len(r.Coupons)), r.Coupons[0].Uses})
	require.Equal(t, "115.00", r.Currencies[0]["before"])
	require.Equal(t, "114.00", r.Currencies[0]["after"])
	require.Equal(t, 3, r.Coupons[0].RanOutAt.Second())
	require.Equal(t, "usage_limit_reached", r.Coupons[0].Refusals[0].Reason)
	require.Equal(t, "user_usage_limit_reached", r.Coupons[0].Refusals[1].Reason)
	image, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(image), "1 carts would cost less")

	status, out, _ = m.run(carts, "replay", "--coupons", drafts, "--carts", "-", "--keep")
	require.Equal(t, command.Refused, status)
	require.Contains(t, out, "SUMMER10")
	require.Contains(t, out, "currency")
	require.Contains(t, m.ok("", "replay", "--coupons", drafts, "--carts", "-", "-o", "csv"), "id,code,name,uses")
	m.fails(command.Failed, "", "replay", "--coupons", "no such file", "--carts", "-")
	m.fails(command.Failed, strings.Repeat(" ", replay.MaxEventDocument+1), "replay", "--coupons", drafts, "--carts", "-")
	for _, coupons := range []string{"", "{", `{"code":"A"}`, `{"id":"x"}`} {
		m.fails(command.Failed, coupons, "replay", "--coupons", "-", "--carts", drafts)
	}
	for _, args := range [][]string{
		{"replay", "--coupons", "-", "--carts", "-"},
		{"replay", "--carts", "-", "--orders", "5"},
		{"replay", "--orders", "0"},
		{"replay", "--max-coupons", "0"},
		{"replay"},
	} {
		m.fails(command.Usage, "", args...)
	}
}

// TestReplayOfTheStore: the coupons and the orders of the store, of which there are none yet.
func TestReplayOfTheStore(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(summer, "coupon", "create")
	m.ok(`{"code":"ANN","name":"Ann","discountType":"PERCENTAGE","discountValue":"20","distribution":"USER_SPECIFIC","allowedUserEmails":["ann@example.org"]}`, "coupon", "create")
	require.Contains(t, m.ok("", "replay", "-o", "json"), `"carts":0,`)
	now := time.Now().UTC().Format(time.RFC3339)
	cart := strings.Replace(cartOf(1, "ann", "30.00"), `"2026-11-20T12:00:01Z"`, `"`+now+`"`, 1)
	cart = strings.Replace(cart, `"id":"ann"`, `"id":"ann","email":"ann@example.org"`, 1)
	out := m.ok(cart, "replay", "--carts", "-", "--any-time", "-o", "json")
	require.Contains(t, out, `"discount":"6.00"`)
}
