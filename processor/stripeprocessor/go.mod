module github.com/couponkit/couponkit/processor/stripeprocessor

go 1.26.0

require (
	github.com/couponkit/couponkit v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/shopspring/decimal v1.6.0
	github.com/stretchr/testify v1.12.1
	github.com/stripe/stripe-go/v86 v86.4.0
	golang.org/x/time v0.16.0
	pgregory.net/rapid v1.3.0
)

require (
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/couponkit/couponkit => ../..
