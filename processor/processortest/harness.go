package processortest

import (
	"slices"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Harness is a processor under test and the world around it. Processor and Now are
// required; every other field may be nil, and then the clauses that need it are
// skipped. The hooks are called from several goroutines.
type Harness struct {
	// Processor is new: it knows no coupon of ours and no session.
	Processor processor.Processor
	// Another returns the adapter of a further process of the host: on the same account, set
	// up like Processor, and sharing nothing in memory with it nor with one returned before.
	Another func() processor.Processor
	// ListsMirrors declares that Processor is a processor.MirrorLister.
	ListsMirrors bool
	// NoMirror declares that the processor keeps no coupons, and that Processor answers
	// for them as [processor.NoMirror], which it embeds. The clauses about mirrors that
	// are kept are skipped; Account stays nil.
	NoMirror bool
	// Now is the processor's clock.
	Now func() time.Time
	// Advance moves the clock on.
	Advance func(d time.Duration)
	// Customer pays sessions.
	Customer Customer
	// Payable returns the IDs of all sessions that can be paid now, as the processor has them
	// and not as the adapter remembers them: also of those whose answer was lost, so that
	// nobody was told of them.
	Payable func() (sessionIDs []string, err error)
	// Renewal returns what the subscription of a session that was paid charges from its
	// second period on for all that recurs in an interval, in couponkit's minor units and
	// before taxes; 0 for an interval in which nothing recurs.
	Renewal func(sessionID string, every pricing.Interval) (amount int64, err error)
	// Events returns the events that the webhook has brought since the last call, as
	// the adapter maps them, in any order. Events that expired with the clock are
	// among them.
	Events func() ([]processor.Event, error)
	// Announce lets the webhook bring an event that does not concern sessions.
	Announce func() error
	// Account is what staff can see and do at the processor.
	Account Account
	// Faults cut requests off.
	Faults Faults
}

// Customer is what a customer and his bank do with a session. All four are given or
// none. They return an error when the processor does not let them.
type Customer struct {
	// Pay finishes the session and pays it at once; a total of 0 needs no payment.
	Pay func(sessionID string) error
	// PayLater finishes the session with a delayed payment method.
	PayLater func(sessionID string) error
	// PaymentArrives and PaymentFails end the delay.
	PaymentArrives func(sessionID string) error
	PaymentFails   func(sessionID string) error
}

// Account is what staff see and do at the processor, past the adapter. All are given
// or none.
type Account struct {
	// Objects returns every coupon object that exists, also foreign ones.
	Objects func() []Object
	// Codes returns every promotion code that exists, also foreign and inactive ones.
	Codes func() []Code
	// PlantForeign makes a coupon and an active promotion code that are not ours.
	PlantForeign func(code string) (coupon.Mirror, error)
	// Deactivate deactivates a promotion code that can be activated again.
	Deactivate func(m coupon.Mirror) error
	// Kill makes a promotion code inactive that can not be activated again. It may be
	// nil on its own where the processor knows no such state.
	Kill func(m coupon.Mirror) error
	// Delete deletes a coupon object, and so all that depends on it.
	Delete func(m coupon.Mirror) error
}

// Object is a coupon as the processor has it.
type Object struct {
	ID string
	// Owner is the ID of our coupon that it mirrors, as the adapter has noted it there;
	// empty for a foreign one.
	Owner string
	Name  string
	// Discount in couponkit's terms, a fixed amount in couponkit's minor units.
	Discount pricing.Discount
	// MaxUses is the processor's maximum redemptions; 0 is no limit.
	MaxUses int64
}

// Code is a promotion code as the processor has it.
type Code struct {
	ID string
	// CouponID is that of the object for which it stands.
	CouponID string
	Text     string
	Active   bool
}

// Loss is when a request is cut off.
type Loss uint8

// The losses.
const (
	BeforeEffect Loss = iota + 1 // the request does not arrive
	AfterEffect                  // it takes effect and its answer does not arrive
)

// String returns "before its effect" or "after its effect".
func (l Loss) String() string {
	switch l {
	case BeforeEffect:
		return "before its effect"
	case AfterEffect:
		return "after its effect"
	}
	return ""
}

// Faults cut off requests between adapter and processor. Both are given or none.
type Faults struct {
	// Lose cuts off the n-th request from now on, counted from 1. Calling end takes the
	// fault away, and reports whether it has struck.
	Lose func(n int, when Loss) (end func() (struck bool))
	// Down lets every request fail until end is called.
	Down func() (end func())
}

// need is a group of hooks, or something that the processor declares.
type need struct {
	name string
	has  func(Harness) bool
}

func sharing() need {
	return need{"Another", func(h Harness) bool { return h.Another != nil }}
}

func clock() need {
	return need{"Advance", func(h Harness) bool { return h.Advance != nil }}
}

func customer() need {
	return need{"Customer", func(h Harness) bool { return h.Customer.Pay != nil }}
}

func counting() need {
	return need{"Payable", func(h Harness) bool { return h.Payable != nil }}
}

func renewing() need {
	return need{"Renewal", func(h Harness) bool { return h.Renewal != nil }}
}

func events() need {
	return need{"Events", func(h Harness) bool { return h.Events != nil }}
}

func announcing() need {
	return need{"Announce", func(h Harness) bool { return h.Announce != nil }}
}

func account() need {
	return need{"Account", func(h Harness) bool { return h.Account.Objects != nil }}
}

func killing() need {
	return need{"Account.Kill", func(h Harness) bool { return h.Account.Kill != nil }}
}

func faulty() need {
	return need{"Faults", func(h Harness) bool { return h.Faults.Lose != nil }}
}

func listing() need {
	return need{"ListsMirrors", func(h Harness) bool { return h.ListsMirrors }}
}

func keeping() need {
	return need{"a mirror that is kept", func(h Harness) bool { return !h.NoMirror }}
}

// clause is one sentence of the contract and how it is checked.
type clause struct {
	name  string
	says  string
	needs []need
	check func(*probe)
}

// Run checks every clause of the contract, each as a parallel subtest of its own with
// a new harness.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range [][]clause{
		ofMirrors(ensureClauses(), updateClauses(), activeClauses(), removeClauses(), verifyClauses(), listClauses()),
		noMirrorClauses(), createClauses(), boundClauses(), endClauses(), eventClauses(),
		faultClauses(), processClauses(), contextClauses(), concurrencyClauses(),
	} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t)
				if h.Processor == nil || h.Now == nil {
					t.Fatal("the harness has no Processor or no Now")
				}
				for _, n := range c.needs {
					if !n.has(h) {
						t.Skipf("the harness cannot do what this clause needs: %s", n.name)
					}
				}
				c.check(&probe{T: t, Harness: h, says: c.says})
			})
		}
	}
}

// ofMirrors are clauses about a mirror that is kept.
func ofMirrors(groups ...[]clause) []clause {
	clauses := slices.Concat(groups...)
	for i := range clauses {
		clauses[i].needs = append([]need{keeping()}, clauses[i].needs...)
	}
	return clauses
}
