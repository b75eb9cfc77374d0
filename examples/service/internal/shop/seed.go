package shop

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/couponkit/couponkit/pricing"
)

// DemoUser is somebody who can sign in to try the service.
type DemoUser struct {
	User
	Password string
	Points   int64
}

// DemoUsers returns the administrators and customers of the demo.
func DemoUsers() []DemoUser {
	return []DemoUser{
		{User{"usr_admin", "admin@example.org", "Ada Admin", Administrator}, "admin-demo-1", 0},
		{User{"usr_mod", "mod@example.org", "Moritz Moderator", Administrator}, "mod-demo-1", 0},
		{User{"usr_ann", "ann@example.org", "Ann Archer", Customer}, "ann-demo-1", 1_500},
		{User{"usr_ben", "ben@example.org", "Ben Baker", Customer}, "ben-demo-1", 250},
		{User{"usr_cleo", "cleo@example.org", "Cleo Carter", Customer}, "cleo-demo-1", 0},
	}
}

// crowdPassword is the password of all users in the crowd.
const crowdPassword = "crowd-demo-1"

// DemoCrowd returns more customers without points, for those who want to see many of
// them at once: crowd-1@example.org and so on, who share a password.
func DemoCrowd(size int) []DemoUser {
	crowd := make([]DemoUser, size)
	for i := range crowd {
		name := fmt.Sprintf("crowd-%d", i+1)
		crowd[i] = DemoUser{
			User:     User{"usr_" + name, name + "@example.org", fmt.Sprintf("Customer %d", i+1), Customer},
			Password: crowdPassword,
		}
	}
	return crowd
}

// DemoItems returns the catalogue of the demo.
func DemoItems() []Item {
	return []Item{
		{pricing.Plan, "basic", "Basic", "One line, 5 GB, for light use.", 9_99, pricing.Monthly},
		{pricing.Plan, "plus", "Plus", "One line, 50 GB, roaming included.", 19_99, pricing.Monthly},
		{pricing.Plan, "family", "Family", "Four lines that share 200 GB.", 49_00, pricing.Monthly},
		{pricing.Plan, "plus-yearly", "Plus, yearly", "Plus, paid once a year.", 199_00, pricing.Yearly},
		{pricing.Device, "phone-s", "Phone S", "Compact phone with 128 GB.", 349_00, pricing.Once},
		{pricing.Device, "phone-x", "Phone X", "Large phone with 256 GB.", 899_00, pricing.Once},
		{pricing.Device, "tablet", "Tablet", "Eleven inches, 128 GB.", 449_90, pricing.Once},
		{pricing.Device, "watch", "Watch", "Follows your day for a week.", 229_00, pricing.Once},
		{pricing.Accessory, "case", "Case", "Keeps a phone in one piece.", 24_90, pricing.Once},
		{pricing.Accessory, "charger", "Charger", "65 watts, two ports.", 39_90, pricing.Once},
		{pricing.Accessory, "cable", "Cable", "Two metres, USB-C.", 12_50, pricing.Once},
		{pricing.Accessory, "earbuds", "Earbuds", "With noise cancelling.", 99_00, pricing.Once},
		{pricing.Accessory, "sim-tool", "SIM tool", "Comes free with everything.", 0, pricing.Once},
		{pricing.Shipping, "pickup", "Pick up in the shop", "Ready in two hours.", 0, pricing.Once},
		{pricing.Shipping, "standard", "Standard delivery", "Two to three days.", 4_90, pricing.Once},
		{pricing.Shipping, "express", "Express delivery", "The next day.", 12_90, pricing.Once},
	}
}

// Empty reports whether nobody can sign in yet.
func (d *DB) Empty(ctx context.Context) (bool, error) {
	var users int64
	err := d.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM shop_users`).Scan(&users)
	return users == 0, err
}

// Seed stores users and a catalogue, all or nothing.
func (d *DB) Seed(ctx context.Context, users []DemoUser, items []Item) error {
	hashes := map[string][]byte{} // by password; hashed before the transaction, because hashing takes long
	for _, u := range users {
		if _, made := hashes[u.Password]; made {
			continue
		}
		hash, err := d.hash(u.Password)
		if err != nil {
			return err
		}
		hashes[u.Password] = hash
	}
	return d.within(ctx, func(tx *sql.Tx) error {
		for _, u := range users {
			if err := addUser(ctx, tx, u.User, hashes[u.Password], u.Points); err != nil {
				return fmt.Errorf("add user %s: %w", u.Email, err)
			}
		}
		for i, item := range items {
			if err := addItem(ctx, tx, i, item); err != nil {
				return fmt.Errorf("add item %s: %w", item.ID, err)
			}
		}
		return nil
	})
}
