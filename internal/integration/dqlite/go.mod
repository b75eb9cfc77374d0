module github.com/couponkit/couponkit/internal/integration/dqlite

go 1.26.0

replace (
	github.com/couponkit/couponkit => ../../..
	// Only programs of go-dqlite need cobra. This version, which cmd/couponkit has, has few requirements of its own.
	github.com/spf13/cobra => github.com/spf13/cobra v1.10.2
)

require (
	github.com/canonical/go-dqlite v1.11.5
	github.com/couponkit/couponkit v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/Rican7/retry v0.3.0 // indirect
	github.com/ghodss/yaml v1.0.0 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/google/renameio v1.0.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/mattn/go-sqlite3 v1.14.7 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/shopspring/decimal v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/text v0.44.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
