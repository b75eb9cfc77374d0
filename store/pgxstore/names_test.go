package pgxstore_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestTheLongestPrefix: behind the longest prefix that is accepted, PostgreSQL cuts but
// the names of what only migrations name, and no two names become one.
func TestTheLongestPrefix(t *testing.T) {
	t.Parallel()
	const most = 63 // bytes of a name
	var in pgxstore.Namespace
	for next := in; ; in = next {
		next.Prefix += "P"
		if _, err := pgxstore.Migrations(next); err != nil {
			break
		}
	}
	steps, err := pgxstore.Migrations(in)
	if err != nil {
		t.Fatal(err)
	}
	script, err := pgxstore.SearchIndex(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		script += step.SQL
	}
	whole, cut := map[string]string{}, map[string]bool{}
	for _, quoted := range regexp.MustCompile(`"P+[a-z0-9_]+"`).FindAllString(script, -1) {
		name := strings.Trim(quoted, `"`)
		kept := name[:min(len(name), most)]
		if other, known := whole[kept]; known && other != name {
			t.Errorf("%s and %s are one", name, other)
		}
		whole[kept] = name
		if kept != name {
			cut[strings.TrimPrefix(name, in.Prefix)] = true
		}
	}
	want := map[string]bool{
		"coupon_allowed_emails_coupon_fkey": true, "coupon_redemptions_created_at_idx": true,
		"coupon_redemptions_origin_check": true, "coupon_redemptions_points_check": true,
	}
	if diff := cmp.Diff(want, cut); diff != "" {
		t.Errorf("names that are cut behind %d bytes (-want +got):\n%s", len(in.Prefix), diff)
	}
}
