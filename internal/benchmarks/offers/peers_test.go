package offers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/benchmarks/celsum"
	"github.com/couponkit/couponkit/pricing"
)

// rule is a coupon that every peer can express: a percentage or an amount on some items or on the whole
// cart, from a minimum on.
type rule struct {
	ID      string   `json:"id"`
	Items   []string `json:"items,omitempty"` // none: the whole cart
	Minimum int64    `json:"minimum"`         // at least 1
	Percent int64    `json:"percent,omitempty"`
	Amount  int64    `json:"amount,omitempty"`
}

// line is a line of the cart in the rules.
type line struct {
	Item     string `cel:"item"     expr:"item"     json:"item"`
	Subtotal int64  `cel:"subtotal" expr:"subtotal" json:"subtotal"`
}

type answer struct {
	ID       string `json:"id"`
	Discount int64  `json:"discount"`
}

// better keeps the greatest discount, then the least ID.
func (a *answer) better(id string, discount int64) {
	if discount > a.Discount || discount == a.Discount && discount > 0 && id < a.ID {
		*a = answer{id, discount}
	}
}

// rules returns rules with the scopes of the shop.
func (s *shop) rules(n int) []rule {
	list := make([]rule, n)
	for i := range list {
		r := &list[i]
		r.ID, r.Minimum = coupon.IDPrefix+strconv.FormatUint(s.Uint64(), 36), 1
		most := s.widest
		if s.IntN(100) >= s.wide {
			most = 70
			for range 1 + s.IntN(20) {
				r.Items = append(r.Items, itemID(s.item()))
			}
		}
		if s.IntN(3) == 0 {
			r.Minimum = 1000 * (1 + s.Int64N(300))
		}
		if s.IntN(2) == 0 {
			r.Percent = 1 + s.Int64N(most)
		} else {
			r.Amount = 50 * (1 + s.Int64N(200))
		}
	}
	return list
}

func (r *rule) coupon(tb testing.TB) *coupon.Coupon {
	tb.Helper()
	c := &coupon.Coupon{ID: r.ID, State: coupon.Active}
	c.Currency, c.Distribution, c.Scope.AppliesTo = pricing.EUR(), coupon.General, coupon.All
	if r.Items != nil {
		c.Scope = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(r.Items...)}
	}
	if r.Minimum > 1 {
		c.Conditions.MinPurchase = coupon.NewMoneySet(pricing.NewMoney(r.Minimum, pricing.EUR()))
	}
	terms := pricing.DiscountTerms{Type: pricing.FixedAmount, Currency: pricing.EUR(), Amount: r.Amount}
	if r.Percent > 0 {
		percent, err := pricing.ParsePercent(strconv.FormatInt(r.Percent, 10))
		require.NoError(tb, err)
		terms = pricing.DiscountTerms{Type: pricing.Percentage, Currency: pricing.EUR(), Percent: percent}
	}
	var err error
	c.Discount, err = pricing.NewDiscount(terms)
	require.NoError(tb, err)
	return c
}

// text returns the rule as an expression. The base is the expression of the eligible subtotal.
func (r *rule) text(base string) string {
	value := fmt.Sprintf("(base * %d + 50) / 100", r.Percent)
	if r.Amount > 0 {
		value = fmt.Sprintf("base < %d ? base : %d", r.Amount, r.Amount)
	}
	return fmt.Sprintf(base, fmt.Sprintf("base < %d ? 0 : (%s)", r.Minimum, value))
}

func (r *rule) list() string { return `["` + strings.Join(r.Items, `", "`) + `"]` }

func linesOf(cart *pricing.Cart) []line {
	lines := make([]line, len(cart.Lines))
	for i, l := range cart.Lines {
		lines[i] = line{l.ItemID, l.UnitPrice * l.Quantity}
	}
	return lines
}

// A peer is prepared for rules and returns the best rule for a cart.
type peer struct {
	name    string
	prepare func(tb testing.TB, rules []rule) func(cart *pricing.Cart) answer
}

var peers = []peer{
	{"index", prepareIndex}, {"loop", prepareLoop}, {"expr", prepareExpr}, {"cel-go", prepareCEL},
}

func couponsOf(tb testing.TB, rules []rule) []*coupon.Coupon {
	tb.Helper()
	list := make([]*coupon.Coupon, len(rules))
	for i := range rules {
		list[i] = rules[i].coupon(tb)
	}
	return list
}

func prepareIndex(tb testing.TB, rules []rule) func(cart *pricing.Cart) answer {
	tb.Helper()
	x, q, s := build(tb, couponsOf(tb, rules)), newShop(1).question(), new(offers.Search)
	return func(cart *pricing.Cart) answer {
		best, found, err := s.Best(x, offers.Query{Cart: *cart, Question: q})
		if err != nil || !found {
			return answer{}
		}
		return answer{best.Coupon.ID, best.Discount}
	}
}

func prepareLoop(tb testing.TB, rules []rule) func(cart *pricing.Cart) answer {
	tb.Helper()
	coupons, q, r := couponsOf(tb, rules), newShop(1).question(), new(eligibility.SetResult)
	return func(cart *pricing.Cart) answer {
		best, discount := loop(coupons, *cart, q, r)
		if best == nil {
			return answer{}
		}
		return answer{best.ID, discount}
	}
}

func prepareExpr(tb testing.TB, rules []rule) func(cart *pricing.Cart) answer {
	tb.Helper()
	type variables struct {
		Lines []line `expr:"lines"`
	}
	programs := make([]*vm.Program, len(rules))
	for i := range rules {
		base := "let base = sum(lines, .subtotal); %s"
		if rules[i].Items != nil {
			base = "let base = sum(lines, .item in " + rules[i].list() + " ? .subtotal : 0); %s"
		}
		// The operator / of expr is a float's, and exact below 2^53.
		p, err := expr.Compile(rules[i].text(base), expr.Env(variables{}), expr.AsInt64())
		require.NoError(tb, err)
		programs[i] = p
	}
	var machine vm.VM
	return func(cart *pricing.Cart) (best answer) {
		v := variables{linesOf(cart)}
		for i, p := range programs {
			out, err := machine.Run(p, v)
			if discount, ok := out.(int64); err == nil && ok {
				best.better(rules[i].ID, discount)
			}
		}
		return best
	}
}

func prepareCEL(tb testing.TB, rules []rule) func(cart *pricing.Cart) answer {
	tb.Helper()
	env, err := cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[line](), ext.ParseStructTags(true)), ext.Bindings(),
		cel.Variable("lines", cel.ListType(cel.ObjectType("offers_test.line"))),
		celsum.Option(),
	)
	require.NoError(tb, err)
	programs := make([]cel.Program, len(rules))
	for i := range rules {
		base := "cel.bind(base, sum(lines.map(l, l.subtotal)), %s)"
		if rules[i].Items != nil {
			base = "cel.bind(base, sum(lines.map(l, l.item in " + rules[i].list() + ", l.subtotal)), %s)"
		}
		ast, issues := env.Compile(rules[i].text(base))
		require.NoError(tb, issues.Err())
		programs[i], err = env.Program(ast, cel.EvalOptions(cel.OptOptimize))
		require.NoError(tb, err)
	}
	return func(cart *pricing.Cart) (best answer) {
		v, err := cel.NewActivation(map[string]any{"lines": env.CELTypeAdapter().NativeToValue(linesOf(cart))})
		if err != nil {
			return answer{}
		}
		for i, p := range programs {
			out, _, err := p.Eval(v)
			if discount, ok := out.(types.Int); err == nil && ok {
				best.better(rules[i].ID, int64(discount))
			}
		}
		return best
	}
}

// jsonRules asks json-rules-engine. Its time is that of a cart.
func jsonRules(tb testing.TB, rules []rule, carts []pricing.Cart) (answers []answer, each time.Duration) {
	tb.Helper()
	input := struct {
		Rules []rule   `json:"rules"`
		Carts [][]line `json:"carts"`
	}{Rules: rules}
	for i := range carts {
		input.Carts = append(input.Carts, linesOf(&carts[i]))
	}
	document, err := json.Marshal(input)
	require.NoError(tb, err)
	program := exec.CommandContext(tb.Context(), "node", "jsonrules/main.mjs")
	program.Stdin = bytes.NewReader(document)
	out, err := program.Output()
	require.NoError(tb, err, "run npm ci in offers/jsonrules first")
	var result struct {
		Answers     []answer `json:"answers"`
		Nanoseconds int64    `json:"nanoseconds"`
	}
	require.NoError(tb, json.Unmarshal(out, &result))
	return result.Answers, time.Duration(result.Nanoseconds / int64(len(carts)))
}

func cartsOf(s *shop, n int) []pricing.Cart {
	carts := make([]pricing.Cart, n)
	for i := range carts {
		carts[i] = s.cart(50)
	}
	return carts
}

// All peers find the same coupon.
func TestPeersAgree(t *testing.T) {
	t.Parallel()
	s := newShop(3)
	rules, carts := s.rules(100), cartsOf(s, 5)
	want := prepareLoop(t, rules)
	for _, p := range peers {
		got := p.prepare(t, rules)
		for i := range carts {
			require.Equal(t, want(&carts[i]), got(&carts[i]), p.name)
		}
	}
}

// BenchmarkPeers compares the peers. Each compiles its rules before. It fails if they disagree.
func BenchmarkPeers(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 1_000_000} {
		s := newShop(4)
		rules, carts := s.rules(n), cartsOf(s, 20)
		want := make([]answer, len(carts))
		for _, p := range peers {
			if n > 10_000 && p.name != "index" && p.name != "loop" {
				continue // their compiled rules need more memory than machines have
			}
			b.Run(fmt.Sprintf("%s/%d", p.name, n), func(b *testing.B) {
				best := p.prepare(b, rules)
				for i := range carts {
					if got := best(&carts[i]); want[i].ID == "" {
						want[i] = got
					} else if got != want[i] {
						b.Fatalf("%s answers %v, not %v", p.name, got, want[i])
					}
				}
				for i := 0; b.Loop(); i++ {
					best(&carts[i%len(carts)])
				}
			})
		}
		if n > 10_000 {
			continue
		}
		b.Run(fmt.Sprintf("json-rules-engine/%d", n), func(b *testing.B) {
			var each time.Duration
			for b.Loop() {
				var got []answer
				if got, each = jsonRules(b, rules, carts); !slices.Equal(got, want) {
					b.Fatalf("json-rules-engine answers %v, not %v", got, want)
				}
			}
			b.ReportMetric(float64(each.Nanoseconds()), "ns/op")
		})
	}
}
