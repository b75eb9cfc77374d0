package shop

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/email"
)

// Role tells what a user may do.
type Role string

// The roles.
const (
	// Customer may buy.
	Customer Role = "customer"
	// Administrator may also manage coupons.
	Administrator Role = "administrator"
)

// User is somebody who can sign in.
type User struct {
	ID    string
	Email string
	Name  string
	Role  Role
}

// ErrWrongPassword tells that no user has this e-mail address and password.
var ErrWrongPassword = errors.New("wrong e-mail address or password")

// maxPassword is the maximum length of a password, in bytes. bcrypt reads no more.
const maxPassword = 72

// addUser stores a user with a balance of points. If the address or the ID exists, it changes nothing.
func addUser(ctx context.Context, tx *sql.Tx, u User, hash []byte, points int64) error {
	added, err := changed(tx.ExecContext(ctx,
		`INSERT INTO shop_users (id, email, name, role, password_hash) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		u.ID, email.Normalize(u.Email), u.Name, string(u.Role), string(hash)))
	if err != nil || !added {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO shop_points (user_id, balance) VALUES ($1, $2)`, u.ID, points)
	return err
}

func (d *DB) hash(password string) ([]byte, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cmp.Or(d.options.PasswordCost, bcrypt.DefaultCost))
	if err != nil {
		return nil, fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

type knownKey struct{}

// Known returns a context in which [DB.User] knows a user without asking: for a
// request whose session, and so its user, was read a moment ago.
func Known(ctx context.Context, u User) context.Context {
	return context.WithValue(ctx, knownKey{}, u)
}

// User returns the user of that ID, for couponkit.
func (d *DB) User(ctx context.Context, id string) (couponkit.User, error) {
	if u, is := ctx.Value(knownKey{}).(User); is && u.ID == id {
		return couponkit.User{ID: u.ID, Email: u.Email}, nil
	}
	u, err := d.UserByID(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return couponkit.User{}, couponkit.ErrUserNotFound
	}
	return couponkit.User{ID: u.ID, Email: u.Email}, err
}

const userQuery = `SELECT id, email, name, role FROM shop_users WHERE id = $1`

// UserByID returns the user of that ID, or [ErrNotFound].
func (d *DB) UserByID(ctx context.Context, id string) (User, error) {
	var u User
	err := d.user.row(ctx, d.db, id).
		Scan(&u.ID, &u.Email, &u.Name, &u.Role)
	if errors.Is(err, sql.ErrNoRows) {
		return User{}, ErrNotFound
	}
	return u, err
}

// Emails returns the e-mail addresses of the users with these IDs, as far as they
// exist, by ID.
func (d *DB) Emails(ctx context.Context, ids []string) (map[string]string, error) {
	emails := make(map[string]string, len(ids))
	for _, id := range ids {
		if _, known := emails[id]; known || id == "" {
			continue
		}
		u, err := d.UserByID(ctx, id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		emails[id] = u.Email
	}
	return emails, nil
}

// Authenticate returns the user who has this e-mail address and password, or
// [ErrWrongPassword]. The answer takes as long for an address that nobody has. Few
// passwords are compared at once; who waits when the context ends gets its error.
func (d *DB) Authenticate(ctx context.Context, address, password string) (User, error) {
	var (
		u    User
		hash = d.decoy
	)
	if strings.ContainsRune(address, 0) {
		address = "" // no user has this address, and some databases refuse to search for NUL
	}
	err := d.db.QueryRowContext(ctx,
		`SELECT id, email, name, role, password_hash FROM shop_users WHERE email = $1`, email.Normalize(address)).
		Scan(&u.ID, &u.Email, &u.Name, &u.Role, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return User{}, err
	}
	right, waited := d.compare(ctx, hash, password)
	switch {
	case waited != nil:
		return User{}, waited
	case !right || err != nil:
		return User{}, ErrWrongPassword
	}
	return u, nil
}

// compare reports whether a password matches a hash. It waits until a comparison may start. If the
// context ends first, it returns the context's error.
func (d *DB) compare(ctx context.Context, hash []byte, password string) (bool, error) {
	if len(password) > maxPassword {
		return false, nil
	}
	select {
	case d.hashing <- struct{}{}:
	case <-ctx.Done():
		return false, fmt.Errorf("wait to compare a password: %w", ctx.Err())
	}
	defer func() { <-d.hashing }()
	return bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil, nil
}

// hashingAtOnce returns how many passwords may be compared at once. With several processors, half of
// them stay free for other requests.
func hashingAtOnce() int {
	const share = 2
	return max(1, runtime.GOMAXPROCS(0)/share)
}
