package architecture_test

import "slices"

// The floors of the repository, bottom first. This is a statement of policy:
//
//   - a package imports packages of this repository only from floors above it
//     in this list, never from its own;
//   - it imports third-party modules only as its line says;
//   - the standard library is free here. What the pure floors may take from it
//     is the business of the linter and of .ci/run purity.
//
// Test files are not bound: a test may look up. Nested modules are held to the
// same list. A package that is not in the list fails the test: decide where it
// stands before it grows. Do not change a line to make a build pass.
var policy = []floor{
	{"0 the error that names every invalid field", []rule{
		{path: "validation"},
	}},
	{"0 reading and writing of JSON objects and names, and fingerprints", []rule{
		{path: "internal/appendjson"},
		{path: "internal/strictjson"},
		{path: "internal/enum"},
		{path: "internal/fingerprint"},
	}},
	{"0 characters, for keys", []rule{
		{path: "internal/unicode15", modules: []string{"golang.org/x/text"}},
	}},
	{"0 money", []rule{
		{path: "pricing", modules: core},
	}},
	{"0 local time, addresses", []rule{
		{path: "calendar"},
		{path: "email"},
	}},
	{"1 model", []rule{
		{path: "coupon", modules: core},
	}},
	{"2 generation of codes", []rule{
		{path: "codes"},
		{path: "codes/codecsv"},
	}},
	{"2 rules and claims", []rule{
		{path: "eligibility", modules: core},
	}},
	{"2 the best of many coupons, on top of rules", []rule{
		{path: "eligibility/offers"},
	}},
	{"2 what coupons would have changed, on top of the best of many", []rule{
		{path: "eligibility/replay"},
	}},
	{"2 state machine, on top of claims", []rule{
		{path: "redemption", modules: core},
	}},
	{"3 contracts", []rule{
		{path: "store", modules: decimal},
		{path: "processor", modules: decimal},
	}},
	{"3 decisions of stores", []rule{
		{path: "store/engine", modules: decimal},
		{path: "store/internal/sqlparts", modules: decimal},
	}},
	{"3 rate limiter", []rule{
		{path: "ratelimit"},
	}},
	{"3 answers about mirrors", []rule{
		{path: "internal/mirrors"},
	}},
	{"3 administration, settlement", []rule{
		{path: "internal/catalog"},
		{path: "internal/settle"},
	}},
	{"3 prices", []rule{
		{path: "internal/quote"},
	}},
	{"3 reservations, payments", []rule{
		{path: "internal/checkout"},
		{path: "internal/payments"},
	}},
	{"4 front door", []rule{
		{path: ".", modules: core},
	}},
	{"5 implementations", []rule{
		{path: "store/memstore", modules: core},
		{path: "store/sqlstore/...", modules: core},
		{path: "store/pgxstore/...", modules: with(core, "github.com/jackc/pgx/v5")},
		{path: "processor/fakeprocessor", modules: core},
		{path: "processor/stripeprocessor/...", modules: with(core, "github.com/stripe/stripe-go", "golang.org/x/time")},
	}},
	{"5 generators and suites that hosts run in their own tests", []rule{
		{path: "pricing/pricingtest", modules: engines, suite: true},
	}},
	{"5 generators and suites, on top of the generators of money", []rule{
		{path: "coupon/coupontest", modules: engines, suite: true},
	}},
	{"5 generators and suites, on top of the generators of coupons", []rule{
		{path: "store/storetest", modules: engines, suite: true},
		{path: "processor/processortest", modules: engines, suite: true},
	}},
	{"6 programs", []rule{
		{path: "examples/...", modules: anything},
	}},
	{"7 the tool, which also runs the reference service", []rule{
		{path: "cmd/...", modules: anything},
	}},
	{"proof: a world for the whole service", []rule{
		{path: "internal/simulation", modules: core},
	}},
	{"proof: engines. The one tag, of internal/integration, is for the tests of programs", []rule{
		{path: "internal/agreement", modules: engines, suite: true},
		{path: "internal/architecture"},
		{path: "internal/killtest", modules: engines, suite: true},
		{path: "internal/testsize"},
		{path: "internal/integration/...", modules: anything, suite: true},
	}},
	{"proof: peers, never tagged", []rule{
		{path: "internal/benchmarks/...", modules: anything, suite: true},
	}},
}

// strangers are pairs of trees whose packages never import each other, on
// whichever floor they stand: a store works with any processor and the reverse.
var strangers = [][2]string{
	{"store/...", "processor/..."},
}

// testEngines are what only test files and suites import, so that no shipped
// binary links them.
var testEngines = []string{
	"github.com/anishathalye/porcupine",
	"github.com/google/go-cmp",
	"github.com/stretchr/testify",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
	"testing",
}

var (
	decimal  = []string{"github.com/shopspring/decimal"}
	core     = with(decimal, "golang.org/x/text")
	engines  = with(core, "github.com/google/go-cmp", "github.com/stretchr/testify", "pgregory.net/rapid")
	anything = []string{""}
)

// with returns a list of its own, so that no line of the policy grows another.
func with(modules []string, more ...string) []string {
	return slices.Concat(modules, more)
}

// A floor is a set of packages that do not import each other.
type floor struct {
	name  string
	rules []rule
}

// A rule says what one package, or with a trailing "/..." one tree of packages,
// may import.
type rule struct {
	path    string   // relative to the root of the repository; "." is the root package
	modules []string // third-party import paths allowed, with everything below them
	suite   bool     // hosts or developers import it in tests, so test engines are its business
}
