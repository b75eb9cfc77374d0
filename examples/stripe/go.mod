module github.com/couponkit/couponkit/examples/stripe

go 1.26.0

require (
	github.com/couponkit/couponkit v0.0.0
	github.com/couponkit/couponkit/internal/integration v0.0.0-00010101000000-000000000000
	github.com/couponkit/couponkit/processor/stripeprocessor v0.0.0
	github.com/couponkit/couponkit/store/pgxstore v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/jackc/pgx/v5 v5.13.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/shopspring/decimal v1.6.0 // indirect
	github.com/stripe/stripe-go/v86 v86.4.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace (
	github.com/couponkit/couponkit => ../..
	github.com/couponkit/couponkit/internal/integration => ../../internal/integration
	github.com/couponkit/couponkit/processor/stripeprocessor => ../../processor/stripeprocessor
	github.com/couponkit/couponkit/store/pgxstore => ../../store/pgxstore
)
