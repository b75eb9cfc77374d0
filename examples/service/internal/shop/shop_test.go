package shop_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	_ "modernc.org/sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/pricing"
)

func open(t *testing.T, now func() time.Time) *shop.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for range 2 { // opening again does no harm
		_, err = shop.Open(t.Context(), db, shop.Options{PasswordCost: bcrypt.MinCost})
		require.NoError(t, err)
	}
	s, err := shop.Open(t.Context(), db, shop.Options{PasswordCost: bcrypt.MinCost, Now: now, Prepare: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	empty, err := s.Empty(t.Context())
	require.NoError(t, err)
	require.True(t, empty)
	for range 2 { // so does seeding
		require.NoError(t, s.Seed(t.Context(), shop.DemoUsers(), shop.DemoItems()))
	}
	return s
}

const ann = "usr_ann" // has 1,500 points

// TestTheLedger: the promises of couponkit.Points.
func TestTheLedger(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, nil), t.Context()
	balance := func() int64 {
		t.Helper()
		n, err := s.Balance(ctx, ann)
		require.NoError(t, err)
		return n
	}
	for range 3 { // a debit that is repeated
		require.NoError(t, s.Debit(ctx, ann, "use_1", 1_000))
		require.EqualValues(t, 500, balance())
	}
	require.ErrorIs(t, s.Debit(ctx, ann, "use_2", 501), couponkit.ErrInsufficientPoints)
	require.EqualValues(t, 500, balance())
	require.NoError(t, s.Debit(ctx, ann, "use_2", 500), "what was refused may be tried again")
	require.EqualValues(t, 0, balance())
	for range 3 {
		require.NoError(t, s.Refund(ctx, ann, "use_1"))
		require.EqualValues(t, 1_000, balance())
	}
	require.ErrorIs(t, s.Debit(ctx, ann, "use_1", 1), couponkit.ErrReservationClosed)
	require.NoError(t, s.Refund(ctx, "usr_ben", "use_2"), "whoever is named")
	require.EqualValues(t, 1_500, balance())
	require.NoError(t, s.Debit(ctx, ann, "use_5", 500))
	require.NoError(t, s.Refund(ctx, ann, "use_3"), "nothing was debited")
	require.ErrorIs(t, s.Debit(ctx, ann, "use_3", 1), couponkit.ErrReservationClosed, "a debit that arrives late")
	require.EqualValues(t, 1_000, balance())
	require.ErrorIs(t, s.Debit(ctx, "usr_nobody", "use_4", 1), couponkit.ErrInsufficientPoints)
	nobody, err := s.Balance(ctx, "usr_nobody")
	require.NoError(t, err)
	require.Zero(t, nobody)
}

// TestManyDebitsAtOnce: one reservation is debited once, and a balance is never
// overdrawn.
func TestManyDebitsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		paid    int
	)
	for i := range 40 {
		running.Go(func() {
			id := "use_" + string(rune('a'+i%20)) // each twice
			if s.Debit(t.Context(), ann, id, 100) == nil {
				mu.Lock()
				paid++
				mu.Unlock()
			}
		})
	}
	running.Wait()
	balance, err := s.Balance(t.Context(), ann)
	require.NoError(t, err)
	require.Zero(t, balance, "fifteen reservations of 100 points fit")
	require.LessOrEqual(t, paid, 30, "each of the fifteen is told at most twice")
}

// TestUsersForCouponkit: the directory.
func TestUsersForCouponkit(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	u, err := s.User(t.Context(), ann)
	require.NoError(t, err)
	if diff := cmp.Diff(couponkit.User{ID: ann, Email: "ann@example.org"}, u); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = s.User(t.Context(), "usr_nobody")
	require.ErrorIs(t, err, couponkit.ErrUserNotFound)
	known := shop.Known(t.Context(), shop.User{ID: "usr_new", Email: "new@example.org"}) // who signed in a moment ago
	u, err = s.User(known, "usr_new")
	require.NoError(t, err)
	require.Equal(t, couponkit.User{ID: "usr_new", Email: "new@example.org"}, u)
	u, err = s.User(known, ann)
	require.NoError(t, err)
	require.Equal(t, "ann@example.org", u.Email, "one user is taken for another")
	emails, err := s.Emails(t.Context(), []string{ann, "", "usr_nobody", ann})
	require.NoError(t, err)
	require.Equal(t, map[string]string{ann: "ann@example.org", "usr_nobody": ""}, emails)
}

// TestSessionsEnd: by the clock and by the sign-out; only a hash is stored.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s, ctx := open(t, func() time.Time { return now }), t.Context()
	u, err := s.Authenticate(ctx, " ANN@example.org ", "ann-demo-1")
	require.NoError(t, err)
	token, session, err := s.SignIn(ctx, u)
	require.NoError(t, err)
	again, err := s.Session(ctx, token)
	require.NoError(t, err)
	require.Equal(t, session, again)
	now = now.Add(shop.DefaultSessionLifetime)
	_, err = s.Session(ctx, token)
	require.ErrorIs(t, err, shop.ErrNotFound)
	for _, wrong := range []string{"", "ann-demo-2"} {
		_, err = s.Authenticate(ctx, "ann@example.org", wrong)
		require.ErrorIs(t, err, shop.ErrWrongPassword)
	}
	token, _, err = s.SignIn(ctx, u)
	require.NoError(t, err)
	require.NoError(t, s.SignOut(ctx, token))
	_, err = s.Session(ctx, token)
	require.ErrorIs(t, err, shop.ErrNotFound)
}

// TestAUserKeepsTheNewestSessions: also when all of them began at one instant.
func TestAUserKeepsTheNewestSessions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s, ctx := open(t, func() time.Time { return now }), t.Context()
	signIn := func(id string) (token string) {
		u, err := s.UserByID(ctx, id)
		require.NoError(t, err)
		token, _, err = s.SignIn(ctx, u)
		require.NoError(t, err)
		return token
	}
	lives := func(token string) bool {
		_, err := s.Session(ctx, token)
		if err != nil {
			require.ErrorIs(t, err, shop.ErrNotFound)
		}
		return err == nil
	}
	others := signIn("usr_ben")
	var tokens []string
	for range 2 * shop.MaxSessions {
		tokens = append(tokens, signIn(ann))
		require.True(t, lives(tokens[len(tokens)-1]), "the newest one")
		now = now.Add(time.Second)
	}
	for i, token := range tokens {
		require.Equal(t, i >= shop.MaxSessions, lives(token), "sign-in %d", i)
	}
	for range shop.MaxSessions {
		now = now.Add(time.Second)
		tokens = tokens[:0]
		for range shop.MaxSessions + 1 {
			tokens = append(tokens, signIn(ann))
			require.True(t, lives(tokens[len(tokens)-1]), "the newest one")
		}
	}
	left := 0
	for _, token := range tokens {
		if lives(token) {
			left++
		}
	}
	require.Equal(t, shop.MaxSessions, left)
	require.True(t, lives(others))
}

// TestSessionsAreFoundByTheirEnd: a sign-in does not read all sessions to find those that
// have ended, nor to find those of its user.
func TestSessionsAreFoundByTheirEnd(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = shop.Open(t.Context(), db, shop.Options{PasswordCost: bcrypt.MinCost})
	require.NoError(t, err)
	for _, statement := range []string{shop.EndedSessions, shop.SurplusSessions} {
		steps := plan(t, db, statement)
		require.Contains(t, steps, "SEARCH shop_sessions", statement)
		require.NotContains(t, steps, "SCAN shop_sessions", statement)
	}
}

// plan is how SQLite carries a statement out.
func plan(t *testing.T, db *sql.DB, statement string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, "x", "y", "z")
	require.NoError(t, err)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return strings.Join(steps, "\n")
}

// TestFewPasswordsAreComparedAtOnce: each takes a processor for a while. Callers wait for
// a free one until their context ends.
func TestFewPasswordsAreComparedAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	free := s.Hash()
	for _, email := range []string{"ann@example.org", "nobody@example.org"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := s.Authenticate(ctx, email, "ann-demo-1")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := s.Authenticate(t.Context(), "ann@example.org", "ann-demo-1")
		waiting <- err
	}()
	free()
	require.NoError(t, <-waiting)
	s.Hash()()
}

// TestTheCatalogueComesBack: as it was stored, in its order.
func TestTheCatalogueComesBack(t *testing.T) {
	t.Parallel()
	catalog, err := open(t, nil).Catalog(t.Context())
	require.NoError(t, err)
	var all []shop.Item
	for _, kind := range []pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory, pricing.Shipping} {
		all = append(all, catalog.Items(kind)...)
	}
	if diff := cmp.Diff(shop.DemoItems(), all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, found := catalog.Find(pricing.Device, "basic")
	require.False(t, found, "a plan is no device")
	require.Len(t, catalog.Search(pricing.Accessory, " C", 2), 2)
}

// A secret is made once, and is another one for each name.
func TestASecretIsKept(t *testing.T) {
	t.Parallel()
	s := open(t, time.Now)
	first, err := s.Secret(t.Context(), "guests")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(first), 32)
	again, err := s.Secret(t.Context(), "guests")
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := s.Secret(t.Context(), "others")
	require.NoError(t, err)
	require.NotEqual(t, first, other)
	unrelated, err := open(t, time.Now).Secret(t.Context(), "guests")
	require.NoError(t, err)
	require.NotEqual(t, first, unrelated)
}
