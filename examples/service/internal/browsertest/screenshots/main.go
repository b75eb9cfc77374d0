// Command screenshots takes the pictures of the README: it starts the service in
// memory, lets a customer buy a few things, and photographs the main pages.
//
//	go run ./examples/service/internal/browsertest/screenshots
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/examples/service/internal/browsertest"
)

func main() {
	dir := flag.String("dir", filepath.Join("examples", "service", "docs"), "where the pictures go")
	flag.Parse()
	if err := run(context.Background(), *dir); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// studio has the server and the tab for the screenshots.
type studio struct {
	server *app.Server
	tab    *browsertest.Tab
	dir    string
}

func run(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the pictures are for everybody
		return err
	}
	var past past
	past.set(historyDays)
	server, err := app.Start(ctx, app.Config{Seed: true, PasswordCost: 4, Now: past.now})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close(ctx) }()
	if err := createCoupons(ctx, server); err != nil {
		return fmt.Errorf("create coupons: %w", err)
	}
	if err := past.fill(ctx, server); err != nil {
		return fmt.Errorf("make a history: %w", err)
	}
	browser, err := browsertest.Start(ctx)
	if err != nil {
		return err
	}
	defer browser.Close()
	tab, err := browser.Open(server.URL)
	if err != nil {
		return err
	}
	s := studio{server: server, tab: tab, dir: dir}
	for _, scene := range scenes() {
		if err := scene.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", scene.name, err)
		}
	}
	return nil
}

// createCoupons creates the coupons for the screenshots, in addition to the demo coupons.
func createCoupons(ctx context.Context, server *app.Server) error {
	for _, text := range []string{
		`{"code":"WELCOME","name":"Welcome","group":"welcome","discountType":"FIXED_AMOUNT_PER_UNIT","discountValue":"2","maxUnits":4,"maxUsesPerUser":null,"budget":{"EUR":"2000"}}`,
		`{"code":"SPRING","name":"Spring","group":"season","discountType":"PERCENTAGE","discountValue":"20","maxDiscount":"50","maxUsesPerUser":null,"budget":{"EUR":"5000"}}`,
	} {
		var draft coupon.Draft
		if err := draft.UnmarshalJSON([]byte(text)); err != nil {
			return err
		}
		if _, err := server.Service.Create(ctx, draft); err != nil {
			return err
		}
	}
	return nil
}

// signIn signs the tab in as a demo user.
func (s studio) signIn(ctx context.Context, id string) error {
	user, err := s.server.Shop.UserByID(ctx, id)
	if err != nil {
		return err
	}
	token, _, err := s.server.Shop.SignIn(ctx, user)
	if err != nil {
		return err
	}
	return s.tab.SetCookie(api.SessionCookie, token)
}

func (s studio) picture(name string) error {
	body, err := s.tab.Screenshot()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, name+".png"), body, 0o644) //nolint:gosec // the pictures are for everybody
}
