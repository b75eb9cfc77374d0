module github.com/couponkit/couponkit/examples/stripe

go 1.26.0

require (
	github.com/couponkit/couponkit v0.0.0
	github.com/couponkit/couponkit/processor/stripeprocessor v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/shopspring/decimal v1.6.0 // indirect
	github.com/stripe/stripe-go/v86 v86.4.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace (
	github.com/couponkit/couponkit => ../..
	github.com/couponkit/couponkit/processor/stripeprocessor => ../../processor/stripeprocessor
)
