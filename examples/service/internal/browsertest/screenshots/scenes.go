package main

import "context"

// scene is a page in the state that a screenshot shows.
type scene struct {
	name   string
	user   string
	path   string
	width  int64
	height int64
	dark   bool
	steps  []step
}

// step is an action before the screenshot.
type step func(studio) error

func click(selector string) step { return func(s studio) error { return s.tab.Click(selector) } }
func see(selector string) step   { return func(s studio) error { return s.tab.WaitVisible(selector) } }

func fill(selector, text string) step {
	return func(s studio) error { return s.tab.Type(selector, text) }
}

func visit(path string) step { return func(s studio) error { return s.tab.Go(path) } }

func hold(condition string) step { return func(s studio) error { return s.tab.Wait(condition) } }

// do returns a step that evaluates an expression.
func do(expression string) step {
	return func(s studio) error { return s.tab.Eval(expression, nil) }
}

const (
	admin = "usr_admin"
	ann   = "usr_ann"
	ben   = "usr_ben"
)

// Sizes of the screenshots in CSS pixels.
const (
	wide        = 1280
	tall        = 860
	phoneWidth  = 390
	phoneHeight = 844
)

const fillCart = `localStorage.removeItem("coupons"); localStorage.setItem("cart", JSON.stringify([
  {kind: "device", itemId: "watch", quantity: 1},
  {kind: "accessory", itemId: "earbuds", quantity: 2},
  {kind: "accessory", itemId: "cable", quantity: 3}]))`

func useCoupon(code string) []step {
	return []step{fill("#coupon-code", code), click("#apply-coupon"), see("#coupon-name")}
}

func scenes() []scene {
	cart := append([]step{do(fillCart), visit("/cart"), see("[data-total=total]")}, useCoupon("SPRING")...)
	cart = append(cart, see(".line-discount"), click("#add-coupon"))
	cart = append(cart, useCoupon("WELCOME")...)
	cart = append(cart, see("[data-coupon=WELCOME]"), hold("document.querySelectorAll('[data-coupon-amount]').length === 2"))
	plan := append([]step{click("[data-item=family] button"), see("[data-total=total]")}, useCoupon("FAMILY50")...)
	plan = append(plan, see(".line-discount"))
	pay := []step{click("#pay-now"), see("#pay")}
	paid := []step{click("#pay"), see(`[data-state="paid"]`)}
	list := []step{see("#rows tr[data-id]")}
	return []scene{
		{name: "login", path: "/login", steps: []step{see("#email")}},
		{name: "accessories", user: ann, path: "/accessories", steps: []step{see("[data-item=watch]")}},
		{name: "plans-coupon", user: ann, path: "/plans", steps: plan},
		{name: "cart", user: ann, path: "/cart", steps: cart},
		{name: "payment", user: ann, path: "/cart", steps: append(append([]step{}, cart...), pay...)},
		{name: "order", user: ann, path: "/cart", steps: append(append(append([]step{}, cart...), pay...), paid...)},
		{name: "cart-refused", user: ben, path: "/cart", steps: []step{
			do(fillCart), visit("/cart"), see("[data-total=total]"), fill("#coupon-code", "POINTS25"), click("#apply-coupon"), see("#exchange-points"),
		}},
		{name: "coupons", user: admin, path: "/admin/coupons", steps: list},
		{name: "coupons-dark", user: admin, path: "/admin/coupons", dark: true, steps: list},
		{name: "coupon-form", user: admin, path: "/admin/coupons", steps: []step{
			see("#rows tr[data-id]"), click("#new-coupon"), click("#generate"), fill("#f-name", "Spring for members"),
			fill("#f-value", "20"), see("#preview-lines s"),
		}},
		{name: "redemptions", user: admin, path: "/admin/coupons?search=summer", steps: []step{
			click("#rows tr[data-id] .cell-code a"), see("#chart svg"),
		}},
		{name: "phone-coupons", user: admin, path: "/admin/coupons", width: phoneWidth, height: phoneHeight, steps: list},
		{name: "phone-form", user: admin, path: "/admin/coupons", width: phoneWidth, height: phoneHeight, dark: true, steps: []step{
			see("#rows tr[data-id]"), click("#new-coupon"), see("#f-code"),
		}},
		{name: "phone-cart", user: ann, path: "/cart", width: phoneWidth, height: phoneHeight, dark: true, steps: cart},
	}
}

func (c scene) play(ctx context.Context, s studio) error {
	width, height, scale := int64(wide), int64(tall), 1.0
	if c.width > 0 {
		width, height, scale = c.width, c.height, 2
	}
	if err := s.tab.Resize(width, height, scale); err != nil {
		return err
	}
	if err := s.tab.Dark(c.dark); err != nil {
		return err
	}
	if c.user != "" {
		if err := s.signIn(ctx, c.user); err != nil {
			return err
		}
	}
	if err := s.tab.Go(c.path); err != nil {
		return err
	}
	for _, do := range c.steps {
		if err := do(s); err != nil {
			return err
		}
	}
	return s.picture(c.name)
}
