package stripefake

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configures an [Account]. The zero value uses the wall clock and accepts every
// key.
type Options struct {
	// Key is the secret key that callers need; empty accepts every key.
	Key string
	// Now returns the account's time; default time.Now.
	Now func() time.Time
	// WebhookSecret signs events; default "whsec_stripefake".
	WebhookSecret string
	// ConnectedAccount makes this account a connected account of a platform. Calls must
	// name it, and events name it. Empty means no platform.
	ConnectedAccount string
	// Validator receives every request first. Its answer is used if the status is 400
	// or more. stripe-mock is a Validator that checks all parameters.
	Validator http.Handler
	// MinimumCharge is the minimum total above 0 by lower-case currency, in Stripe's
	// minor units. Default: eur, usd, chf 50, gbp 30, jpy, krw 50, dkk 250, huf 17500.
	MinimumCharge map[string]int64
	// TaxPercent is the rate of the automatic tax, in percent. TaxPercents has the rates of lines with
	// other rates, by their names. A line without a tax behavior has no tax.
	TaxPercent  int64
	TaxPercents map[string]int64
	// OwnWording replaces Stripe's error messages with other texts.
	OwnWording bool
}

// Account is a Stripe account in memory. Create it with [New].
type Account struct {
	options Options

	mu       sync.Mutex // guards the fields below
	seq      int
	coupons  map[string]*Coupon
	codes    []*PromotionCode
	sessions []*Session
	refunds  []*Refund
	disputes []*Dispute
	answers  map[string]*savedAnswer
	events   []Event
	calls    []Call
	fault    func(Call) Fault
	denied   map[string]bool
	tamper   func(*Session)
	unexpand bool
}

// Coupon is a coupon at Stripe. Amounts are in Stripe's minor units. Times are Unix
// seconds; 0 means absent.
type Coupon struct {
	ID             string
	Name           string
	PercentOff     float64
	AmountOff      int64
	Currency       string
	Duration       string
	MaxRedemptions int64
	RedeemBy       int64
	TimesRedeemed  int64
	Metadata       map[string]string
	Created        int64

	deleted bool
	number  int
}

// PromotionCode is a promotion code at Stripe. Times are Unix seconds; 0 means absent.
type PromotionCode struct {
	ID        string
	Code      string
	CouponID  string
	Active    bool
	ExpiresAt int64
	Metadata  map[string]string
	Created   int64
	// Dead means that the code can never be active again.
	Dead bool

	coupon *Coupon // the object itself, because another coupon may get the same ID later
}

// New returns an empty account.
func New(o Options) *Account {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.WebhookSecret = cmp.Or(o.WebhookSecret, "whsec_stripefake")
	if o.MinimumCharge == nil {
		o.MinimumCharge = map[string]int64{
			"eur": 50, "usd": 50, "chf": 50, "gbp": 30, "jpy": 50, "krw": 50, "dkk": 250, "huf": 17500,
		}
	}
	return &Account{
		options: o, coupons: map[string]*Coupon{}, answers: map[string]*savedAnswer{}, denied: map[string]bool{},
	}
}

// lock locks the account, and expires sessions and promotion codes whose time is over.
func (a *Account) lock() (now int64) {
	a.mu.Lock()
	now = a.options.Now().Unix()
	for _, s := range a.sessions {
		if s.Status == "open" && s.ExpiresAt <= now {
			s.Status = "expired"
			a.announceSession("checkout.session.expired", s, s.ExpiresAt)
		}
	}
	for _, code := range a.codes {
		if !code.Dead && (!a.valid(code.coupon, now) || code.ExpiresAt > 0 && code.ExpiresAt <= now) {
			code.Active, code.Dead = false, true
		}
	}
	return now
}

func (a *Account) valid(c *Coupon, now int64) bool {
	return !c.deleted && (c.RedeemBy == 0 || c.RedeemBy > now) &&
		(c.MaxRedemptions == 0 || c.TimesRedeemed < c.MaxRedemptions)
}

func (a *Account) nextID(prefix string) (id string, number int) {
	a.seq++
	return fmt.Sprintf("%s_%08d", prefix, a.seq), a.seq
}

// Coupons returns all coupons, in the order of creation.
func (a *Account) Coupons() []Coupon {
	a.lock()
	defer a.mu.Unlock()
	list := make([]Coupon, 0, len(a.coupons))
	for _, c := range a.coupons {
		list = append(list, c.clone())
	}
	slices.SortFunc(list, func(x, y Coupon) int { return cmp.Compare(x.number, y.number) })
	return list
}

func (c *Coupon) clone() Coupon {
	out := *c
	out.Metadata = maps.Clone(c.Metadata)
	return out
}

// PromotionCodes returns all promotion codes, in the order of creation.
func (a *Account) PromotionCodes() []PromotionCode {
	a.lock()
	defer a.mu.Unlock()
	list := make([]PromotionCode, 0, len(a.codes))
	for _, code := range a.codes {
		out := *code
		out.Metadata = maps.Clone(code.Metadata)
		list = append(list, out)
	}
	return list
}

// PlantCoupon creates a coupon of 5 % off, as staff do in the dashboard. metadata may
// be nil. An existing ID is an error.
func (a *Account) PlantCoupon(id string, metadata map[string]string) error {
	now := a.lock()
	defer a.mu.Unlock()
	if _, taken := a.coupons[id]; taken {
		return fmt.Errorf("stripefake: coupon %s exists", id)
	}
	_, number := a.nextID("planted")
	a.coupons[id] = &Coupon{
		ID: id, Name: "Planted", PercentOff: 5, Duration: "once", Metadata: maps.Clone(metadata), Created: now, number: number,
	}
	return nil
}

// PlantCode creates a promotion code on a coupon, as staff do in the dashboard, and
// returns its ID. metadata may be nil.
func (a *Account) PlantCode(couponID, code string, active bool, metadata map[string]string) (string, error) {
	now := a.lock()
	defer a.mu.Unlock()
	made, err := a.newCode(couponID, code, active, 0, metadata, now)
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// EditCoupon changes a coupon, including terms that Stripe cannot change.
func (a *Account) EditCoupon(id string, edit func(*Coupon)) error {
	a.lock()
	defer a.mu.Unlock()
	c, ok := a.coupons[id]
	if !ok {
		return fmt.Errorf("stripefake: no coupon %s", id)
	}
	edit(c)
	return nil
}

// DeleteCoupon deletes a coupon, as staff do in the dashboard.
func (a *Account) DeleteCoupon(id string) error {
	now := a.lock()
	defer a.mu.Unlock()
	if err := a.deleteCoupon(id, now); err != nil {
		return err
	}
	return nil
}

// SetCodeActive activates or deactivates a promotion code, as staff do in the
// dashboard.
func (a *Account) SetCodeActive(id string, active bool) error {
	now := a.lock()
	defer a.mu.Unlock()
	if _, err := a.switchCode(id, active, now); err != nil {
		return err
	}
	return nil
}

// KillCode deactivates a promotion code forever.
func (a *Account) KillCode(id string) error {
	a.lock()
	defer a.mu.Unlock()
	code := a.code(id)
	if code == nil {
		return fmt.Errorf("stripefake: no promotion code %s", id)
	}
	code.Active, code.Dead = false, true
	return nil
}

func (a *Account) code(id string) *PromotionCode {
	for _, code := range a.codes {
		if code.ID == id {
			return code
		}
	}
	return nil
}

// activeCode returns the active promotion code with this text. It ignores upper and lower case.
func (a *Account) activeCode(text string) *PromotionCode {
	for _, code := range a.codes {
		if code.Active && strings.EqualFold(code.Code, text) {
			return code
		}
	}
	return nil
}

// Deny removes the permission for an operation, such as "coupons.create", from the key.
// Calls of the operation are then refused with 403.
func (a *Account) Deny(op string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied[op] = true
}

// TamperSessions sets a function that changes every new session before it is returned.
func (a *Account) TamperSessions(f func(*Session)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tamper = f
}

// IgnoreExpand makes the account return IDs where callers ask for expanded objects.
func (a *Account) IgnoreExpand() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unexpand = true
}

// Allow restores all permissions that [Account.Deny] has removed.
func (a *Account) Allow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.denied)
}

// DropCode removes a promotion code. It simulates a call that ended before it created
// the promotion code. Stripe itself never removes promotion codes.
func (a *Account) DropCode(id string) {
	a.lock()
	defer a.mu.Unlock()
	a.codes = slices.DeleteFunc(a.codes, func(code *PromotionCode) bool { return code.ID == id })
}
