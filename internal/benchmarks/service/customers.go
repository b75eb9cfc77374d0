package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// login is an address and a password.
type login struct{ email, password string }

// customer is a signed-in user.
type customer struct {
	base, cookie, csrf, address string
}

// client is the client for preparations and checks. wrk has its own.
var client = &http.Client{
	Timeout:       time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// signIn signs in a demo user. Each user gets a client address of their own.
func signIn(ctx context.Context, base string, user login, address string) (*customer, error) {
	c := &customer{base: base, address: address}
	var session struct {
		CSRFToken string `json:"csrfToken"`
	}
	err := c.call(ctx, http.MethodPost, "/login", map[string]string{"email": user.email, "password": user.password}, &session)
	if err != nil {
		return nil, fmt.Errorf("sign %s in: %w", user.email, err)
	}
	c.csrf = session.CSRFToken
	return c, nil
}

// signInCrowd signs in many customers. It runs several sign-ins at once, because checking a password
// takes long.
func signInCrowd(ctx context.Context, base string, everybody login, size int) ([]*customer, error) {
	crowd := make([]*customer, size)
	var running errgroup.Group
	running.SetLimit(4)
	for i := range size {
		running.Go(func() (err error) {
			const perNetwork = 250
			address := fmt.Sprintf("198.51.%d.%d", i/perNetwork, 1+i%perNetwork)
			crowd[i], err = signIn(ctx, base, login{fmt.Sprintf("crowd-%d%s", i+1, everybody.email), everybody.password}, address)
			return err
		})
	}
	return crowd, running.Wait()
}

// call sends body as JSON and decodes the answer into into. Either may be nil.
func (c *customer) call(ctx context.Context, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, sent)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Cookie", c.cookie)
	r.Header.Set("X-Csrf-Token", c.csrf)
	r.Header.Set("X-Forwarded-For", c.address)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	for _, cookie := range answer.Cookies() {
		c.cookie = cookie.Name + "=" + cookie.Value
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
