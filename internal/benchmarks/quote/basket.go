package quote

// Line is a price and how many are bought.
type Line struct {
	// Price of one unit, in cents.
	Price int64
	// Quantity is at least 1.
	Quantity int64
}

// Basket is what is priced. Its lines cost more than 0 together.
type Basket struct {
	Lines []Line
	// Percent is what is taken off, in ten-thousandths of a percent: 125,000 is
	// 12.5 %. Where it is 0, Amount is taken off.
	Percent int64
	// Amount is what is taken off in cents, at most the price of all.
	Amount int64
}

// percentScale is 100 % in the unit of Basket.Percent.
const percentScale = 1_000_000

// Answer is what a way has found out.
type Answer struct {
	// Discounts has each line's part of the discount, in cents.
	Discounts []int64
	// Total is the price of all after the discount, in cents.
	Total int64
}

// Pricing prices one basket as often as it is asked.
type Pricing interface {
	// Price does the work that is timed.
	Price() error
	// Answer returns what the last call of Price has found out.
	Answer() Answer
}

// Way is one way of pricing.
type Way struct {
	// Name is what results are reported under.
	Name string
	// Loose tells that the way has no largest remainder: its parts are each within
	// one cent of the exact share and sum to the discount, and no more.
	Loose bool
	// Prepare takes the prices into the form that the way keeps them in.
	Prepare func(Basket) (Pricing, error)
}

// Ways returns all of them, this repository's first.
func Ways() []Way {
	return []Way{
		{Name: "couponkit", Prepare: newReused},
		{Name: "couponkit-fresh", Prepare: newFresh},
		{Name: "floor", Prepare: newFloor},
		{Name: "plain-int64", Prepare: newPlain},
		{Name: "go-money", Loose: true, Prepare: newGoMoney},
		{Name: "shopspring", Prepare: newShopspring},
	}
}
