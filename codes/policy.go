package codes

import (
	"fmt"
	"math/big"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// Policy bounds the odds that somebody guesses a code. A zero field has its default.
type Policy struct {
	// GuessesPerSecond is the number of codes that all guessers together can try in a second, behind the limiter of the
	// shop. The default is 10.
	GuessesPerSecond uint32
	// Period is how long codes are valid and guessers try. The default is 365 days.
	Period time.Duration
	// OneIn are the odds that are allowed: at most 1 in OneIn that guessers find any of the codes. The default is 1,000.
	OneIn uint64
}

const (
	defaultGuesses = 10
	defaultPeriod  = 365 * 24 * time.Hour
	defaultOneIn   = 1_000
)

// withDefaults returns the policy with defaults for zero fields.
func (p Policy) withDefaults() Policy {
	if p.GuessesPerSecond == 0 {
		p.GuessesPerSecond = defaultGuesses
	}
	if p.Period == 0 {
		p.Period = defaultPeriod
	}
	if p.OneIn == 0 {
		p.OneIn = defaultOneIn
	}
	return p
}

// guesses returns the number of codes that guessers can try in the period, rounded up.
func (p Policy) guesses() *big.Int {
	guesses := new(big.Int).Mul(big.NewInt(int64(p.Period)), big.NewInt(int64(p.GuessesPerSecond)))
	guesses.Add(guesses, big.NewInt(int64(time.Second)-1))
	return guesses.Div(guesses, big.NewInt(int64(time.Second)))
}

// Odds returns n if the odds that guessers find any of the issued codes are 1 in n, rounded down. No issued codes count as
// one. Odds returns 0 if the guessers can try more codes than they need for one hit on average.
//
// Guessers know the shape and how check symbols are made, and so try only texts with a correct check symbol. For n random
// symbols, there are 22ⁿ⁻¹ × 21 such texts. The average number of hits is issued × guesses / texts. The probability of a
// hit is at most that average, and close to it if it is small. The computation is exact.
//
// If the shape is invalid or the Period is negative, Odds returns a [*validation.Error].
func (p Policy) Odds(shape coupon.CodeShape, issued uint64) (*big.Int, error) {
	var faults validation.Error
	shape, err := shape.Normalize()
	faults.Merge("", err)
	if p.Period < 0 {
		faults.Add("period", validation.TooSmall, "a period is not negative")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return p.withDefaults().odds(shape.Symbols, issued), nil
}

func (p Policy) odds(randomSymbols int, issued uint64) *big.Int {
	chances := new(big.Int).SetUint64(max(issued, 1))
	chances.Mul(chances, p.guesses())
	return chances.Div(space(randomSymbols), chances)
}

// Check refuses a shape that is too short for so many issued codes: the odds are worse than the policy allows. The error
// is a [*validation.Error] for the field symbols, or pattern if the shape has a pattern. Its message states the odds, and
// how many symbols are enough.
func (p Policy) Check(shape coupon.CodeShape, issued uint64) error {
	odds, err := p.Odds(shape, issued)
	p = p.withDefaults()
	allowed := new(big.Int).SetUint64(p.OneIn)
	if err != nil || odds.Cmp(allowed) >= 0 {
		return err
	}
	field := "symbols"
	if shape.Pattern != "" {
		field = "pattern"
	}
	return validation.New(field, validation.TooSmall, fmt.Sprintf("%s guesses find one of %s codes with odds of %s; allowed are 1 in %s; %s",
		grouped(p.guesses()), grouped(new(big.Int).SetUint64(max(issued, 1))), inWords(odds), grouped(allowed), p.enough(issued)))
}

// Shape returns the shape of codes of which so many are issued. A shape with neither Symbols nor Pattern gets as many
// random symbols as the policy needs, at least [coupon.DefaultCodeSymbols]. The errors are those of [Policy.Check].
func (p Policy) Shape(shape coupon.CodeShape, issued uint64) (coupon.CodeShape, error) {
	if shape.Symbols == 0 && shape.Pattern == "" {
		shape.Symbols = max(coupon.DefaultCodeSymbols, p.Symbols(issued))
	}
	return shape, p.Check(shape, issued)
}

// Symbols returns the smallest number of random symbols that the policy allows for so many issued codes. It returns 0 if
// no number is allowed, or the Period is negative.
func (p Policy) Symbols(issued uint64) int {
	if p = p.withDefaults(); p.Period < 0 {
		return 0
	}
	allowed := new(big.Int).SetUint64(p.OneIn)
	for n := coupon.MinCodeSymbols; n <= coupon.MaxCodeSymbols; n++ {
		if p.odds(n, issued).Cmp(allowed) >= 0 {
			return n
		}
	}
	return 0
}

// enough returns a text with the number of random symbols that reaches the allowed odds.
func (p Policy) enough(issued uint64) string {
	if n := p.Symbols(issued); n > 0 {
		return fmt.Sprintf("%d random symbols are enough", n)
	}
	return "no length is enough"
}

// inWords returns odds as text, such as "1 in 1,000".
func inWords(odds *big.Int) string {
	if odds.Sign() == 0 {
		return "worse than 1 in 1"
	}
	return "1 in " + grouped(odds)
}

// grouped returns a number with commas between thousands.
func grouped(n *big.Int) string {
	text := n.String()
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
