package processortest

import (
	"slices"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Harness is a processor under test with its environment. Processor and Now are
// required. If another field is nil, the subtests that need it are skipped. All
// functions must be safe for concurrent use.
type Harness struct {
	// Processor is the adapter. It has no couponkit coupons and no sessions yet.
	Processor processor.Processor
	// Another returns the adapter of another process of the host. It has the same
	// account and options as Processor. It shares no memory with any other adapter.
	Another func() processor.Processor
	// ListsMirrors declares that Processor is a processor.MirrorLister.
	ListsMirrors bool
	// FindsSessions declares that Processor is a processor.SessionFinder.
	FindsSessions bool
	// NoMirror declares that Processor embeds [processor.NoMirror]. The subtests about
	// mirrors are skipped, and Account stays nil.
	NoMirror bool
	// Now returns the processor's time.
	Now func() time.Time
	// Advance moves the processor's clock forward.
	Advance func(d time.Duration)
	// Customer simulates the customer.
	Customer Customer
	// Payable returns the IDs of all sessions at the processor that can be paid now,
	// including sessions that the adapter does not know.
	Payable func() (sessionIDs []string, err error)
	// Renewal returns what a paid subscription charges for an interval from the second
	// period on. The amount is in minor units of ISO 4217, before taxes. It is 0 if
	// nothing recurs in that interval.
	Renewal func(sessionID string, every pricing.Interval) (amount int64, err error)
	// Events returns the events that the webhook has delivered since the last call, in
	// any order. They include expiries by the clock.
	Events func() ([]processor.Event, error)
	// Announce delivers an event to the webhook that is not about a session.
	Announce func() error
	// Account simulates staff at the processor.
	Account Account
	// Refunds declares that Processor is a processor.Refunder, and simulates what others do.
	Refunds Refunds
	// Taxing returns a harness of its own whose processor adds taxes, and the tax that it adds to a
	// session of a request. The tax has no lines if the processor does not tell them.
	Taxing func() (Harness, func(processor.SessionRequest) pricing.Tax)
	// Faults interrupts requests.
	Faults Faults
}

// Customer simulates what a customer and the bank do with a session. Set all fields or
// none, except for Enter. The functions return an error if the processor refuses.
type Customer struct {
	// Pay finishes the session and pays it at once. A total of 0 needs no payment.
	Pay func(sessionID string) error
	// PayLater finishes the session with a delayed payment method.
	PayLater func(sessionID string) error
	// PaymentArrives and PaymentFails end a delayed payment.
	PaymentArrives func(sessionID string) error
	PaymentFails   func(sessionID string) error
	// Enter enters an e-mail address on the payment page of an open session. It is nil if the
	// processor does not ask for an address.
	Enter func(sessionID, email string) error
}

// Account simulates what staff see and do at the processor. Set all fields or none.
type Account struct {
	// Objects returns all coupon objects, including those of other applications.
	Objects func() []Object
	// Codes returns all promotion codes, including inactive codes and those of other
	// applications.
	Codes func() []Code
	// PlantForeign creates a coupon and an active promotion code of another
	// application.
	PlantForeign func(code string) (coupon.Mirror, error)
	// Deactivate deactivates a promotion code. It can be activated again.
	Deactivate func(m coupon.Mirror) error
	// Kill deactivates a promotion code forever. It may be nil if the processor has no
	// such state.
	Kill func(m coupon.Mirror) error
	// Delete deletes a coupon object and everything that depends on it.
	Delete func(m coupon.Mirror) error
}

// Refunds simulates refunds by staff, and disputes. Set all fields or none. Amounts are in minor
// units of ISO 4217.
type Refunds struct {
	// ByStaff refunds a part of the payment of a session in the processor's dashboard.
	ByStaff func(sessionID string, amount int64) (refundID string, err error)
	// Fail makes a refund fail that has succeeded.
	Fail func(refundID string) error
	// Dispute opens a dispute of the whole payment of a session.
	Dispute func(sessionID string) (disputeID string, err error)
	// CloseDispute decides a dispute. If won is true, the host keeps the money.
	CloseDispute func(disputeID string, won bool) error
}

// Object is a coupon at the processor.
type Object struct {
	ID string
	// Owner is the ID of the couponkit coupon, as the adapter has stored it there. It
	// is empty for other applications.
	Owner string
	Name  string
	// Discount is the discount, with a fixed amount in minor units of ISO 4217.
	Discount pricing.Discount
	// MaxUses is the maximum number of redemptions; 0 means no limit.
	MaxUses int64
}

// Code is a promotion code at the processor.
type Code struct {
	ID string
	// CouponID is the ID of the coupon object.
	CouponID string
	Text     string
	Active   bool
}

// Loss tells when a request is interrupted.
type Loss uint8

// The kinds of loss.
const (
	BeforeEffect Loss = iota + 1 // the request does not arrive
	AfterEffect                  // the request takes effect and its answer does not arrive
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

// Faults interrupts requests between adapter and processor. Set both fields or none.
type Faults struct {
	// Lose interrupts the n-th request from now on, counted from 1. end removes the
	// fault and reports whether it has interrupted a request.
	Lose func(n int, when Loss) (end func() (struck bool))
	// Down makes every request fail until end is called.
	Down func() (end func())
}

// need is something that a clause needs: a group of hooks, or an ability of the processor.
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

func entering() need {
	return need{"Customer.Enter", func(h Harness) bool { return h.Customer.Enter != nil }}
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

func finding() need {
	return need{"FindsSessions", func(h Harness) bool { return h.FindsSessions }}
}

func keeping() need {
	return need{"a mirror that is kept", func(h Harness) bool { return !h.NoMirror }}
}

// clause is one sentence of the contract with its check.
type clause struct {
	name  string
	says  string
	needs []need
	check func(*probe)
}

// Run tests every clause of the contract. Each clause is a parallel subtest with a new
// harness.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range [][]clause{
		ofMirrors(ensureClauses(), updateClauses(), activeClauses(), removeClauses(), verifyClauses(), listClauses(), unsupportedClauses(), withoutCodeClauses()),
		noMirrorClauses(), createClauses(), boundClauses(), endClauses(), findClauses(), eventClauses(), refundClauses(), taxClauses(),
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

// ofMirrors joins groups of clauses. They need a processor that keeps mirrors.
func ofMirrors(groups ...[]clause) []clause {
	clauses := slices.Concat(groups...)
	for i := range clauses {
		clauses[i].needs = append([]need{keeping()}, clauses[i].needs...)
	}
	return clauses
}
