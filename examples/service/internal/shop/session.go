package shop

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
)

// Session is somebody's sign-in.
type Session struct {
	User User
	// CSRFToken is what requests that change something have to repeat.
	CSRFToken string
}

// MaxSessions is how many sessions a user has at once.
const MaxSessions = 20

const (
	endedSessions = `DELETE FROM shop_sessions WHERE expires_at <= $1`
	// surplusSessions deletes a user's oldest sessions. It keeps the new session and a number of
	// others.
	surplusSessions = `DELETE FROM shop_sessions WHERE user_id = $1 AND token_hash <> $2 AND token_hash NOT IN (
		SELECT token_hash FROM shop_sessions WHERE user_id = $1 AND token_hash <> $2
		ORDER BY expires_at DESC, token_hash LIMIT $3)`
)

// SignIn starts a session and returns the secret that the browser keeps. Only its
// hash is stored. Of the user's sessions the newest [MaxSessions] stay.
func (d *DB) SignIn(ctx context.Context, u User) (token string, s Session, err error) {
	token = rand.Text()
	s = Session{User: u, CSRFToken: rand.Text()}
	now := d.options.Now()
	if _, err := d.db.ExecContext(ctx, endedSessions, now.UnixMicro()); err != nil {
		return "", Session{}, err
	}
	hash := tokenHash(token)
	_, err = d.db.ExecContext(ctx,
		`INSERT INTO shop_sessions (token_hash, user_id, csrf_token, expires_at) VALUES ($1, $2, $3, $4)`,
		hash, u.ID, s.CSRFToken, now.Add(d.options.SessionLifetime).UnixMicro())
	if err != nil {
		return "", Session{}, err
	}
	if _, err := d.db.ExecContext(ctx, surplusSessions, u.ID, hash, MaxSessions-1); err != nil {
		return "", Session{}, err
	}
	return token, s, nil
}

const sessionQuery = `SELECT u.id, u.email, u.name, u.role, s.csrf_token
	FROM shop_sessions s JOIN shop_users u ON u.id = s.user_id
	WHERE s.token_hash = $1 AND s.expires_at > $2`

// Session returns the session of a secret, or [ErrNotFound] when it has ended, was
// never there, or its user is gone.
func (d *DB) Session(ctx context.Context, token string) (Session, error) {
	var s Session
	err := d.session.row(ctx, d.db, tokenHash(token), d.options.Now().UnixMicro()).
		Scan(&s.User.ID, &s.User.Email, &s.User.Name, &s.User.Role, &s.CSRFToken)
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, ErrNotFound
	}
	return s, err
}

// SignOut ends the session of a secret.
func (d *DB) SignOut(ctx context.Context, token string) error {
	_, err := d.db.ExecContext(ctx, `DELETE FROM shop_sessions WHERE token_hash = $1`, tokenHash(token))
	return err
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
