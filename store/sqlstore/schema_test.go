package sqlstore_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/sqlstore"
)

func dialects() []sqlstore.Dialect { return []sqlstore.Dialect{sqlstore.SQLite, sqlstore.MySQL} }

func TestMigrationsCanBePrinted(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		steps, err := sqlstore.Migrations(d, "shop_")
		require.NoError(t, err)
		require.NotEmpty(t, steps)
		for _, table := range []string{"coupons", "coupon_redemptions", "orders"} {
			require.Regexp(t, `CREATE TABLE (IF NOT EXISTS )?shop_`+table+` `, steps[0].SQL())
		}
		for i, step := range steps {
			require.Equal(t, i+1, step.Version)
			script := step.SQL()
			require.NotContains(t, script, "{", "every name is written out")
			require.Len(t, strings.Split(script, ";\n\n"), len(step.Statements))
		}
	}
}

// Every name of a table, index or constraint carries the prefix, so that two stores
// share a database; and none is too long with the longest prefix.
func TestEveryNameHasThePrefix(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("p", 31)
	named := regexp.MustCompile(`(?:TABLE(?: IF NOT EXISTS)?|INDEX|KEY|CONSTRAINT) ([a-z][a-z0-9_]*)`)
	for _, d := range dialects() {
		steps, err := sqlstore.Migrations(d, longest)
		require.NoError(t, err)
		names := 0
		for _, step := range steps {
			for _, found := range named.FindAllStringSubmatch(step.SQL(), -1) {
				names++
				require.True(t, strings.HasPrefix(found[1], longest), found[1])
				require.LessOrEqual(t, len(found[1]), 64, found[1])
			}
		}
		require.Greater(t, names, 10)
	}
}

// To MySQL a CASE is no condition (error 3812), though to MariaDB it is, on which the
// integration tests run.
func TestEveryConditionIsOneToMySQL(t *testing.T) {
	t.Parallel()
	bare := regexp.MustCompile(`CHECK \(CASE [^;]*? END\)`)
	require.Regexp(t, bare, "CHECK (CASE a\n WHEN 1 THEN b = 1 END)")
	steps, err := sqlstore.Migrations(sqlstore.MySQL, "")
	require.NoError(t, err)
	for _, step := range steps {
		require.Empty(t, bare.FindString(step.SQL()))
	}
}

func TestPrefixesThatNeedQuotesAreRefused(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"1a", "a-b", "a b", "a;", "`", `"`, "ü", "{coupons}", strings.Repeat("p", 32)} {
		for _, d := range dialects() {
			_, err := sqlstore.Migrations(d, prefix)
			require.ErrorIs(t, err, pricing.ErrInvalid, prefix)
		}
	}
	_, err := sqlstore.Migrations(0, "")
	require.ErrorIs(t, err, pricing.ErrInvalid)
}

// A host without Migrate runs the statements with its own tool.
func ExampleMigrations() {
	steps, err := sqlstore.Migrations(sqlstore.SQLite, "shop_")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range steps {
		fmt.Println(step.Version, step.Name)
	}
	first, _, _ := strings.Cut(steps[0].SQL()[strings.Index(steps[0].SQL(), "CREATE"):], "\n")
	fmt.Println(first)
	// Output:
	// 1 tables
	// 2 indexes
	// 3 keys
	// 4 leaving
	// CREATE TABLE shop_coupons (
}
