package coupon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// A snapshot whose time zone the system does not know is readable and keeps the name, so that its order
// can be paid. A coupon with such a time zone is refused, because a rule needs the zone.
func TestASnapshotKeepsAnUnknownTimeZone(t *testing.T) {
	t.Parallel()
	c := mustNewFromJSON(t, `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10","schedule":{"timeZone":"Europe/Berlin","hours":[{"day":"MONDAY","from":"09:00","until":"17:00"}]}}`)
	written := func(v any) string {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return strings.Replace(string(text), "Europe/Berlin", "Europe/Atlantis", 1)
	}
	stored := written(c.Snapshot())
	require.Contains(t, stored, "Europe/Atlantis")
	var read coupon.Snapshot
	require.NoError(t, json.Unmarshal([]byte(stored), &read))
	require.Equal(t, "Europe/Atlantis", read.Conditions.Schedule.Zone.String())
	require.Equal(t, c.Conditions.Schedule.Hours, read.Conditions.Schedule.Hours)
	again, err := json.Marshal(read)
	require.NoError(t, err)
	require.Equal(t, stored, string(again))

	for _, bad := range []string{`""`, `"` + strings.Repeat("x", calendar.MaxZoneLength+1) + `"`, `7`} {
		err := json.Unmarshal([]byte(strings.Replace(stored, `"Europe/Atlantis"`, bad, 1)), &read)
		require.ErrorIs(t, err, validation.ErrInvalid, bad)
	}
	err = json.Unmarshal([]byte(written(c)), &c)
	if diff := cmp.Diff(map[string]validation.Code{"schedule.timeZone": "unknown"}, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func mustNewFromJSON(t *testing.T, text string) coupon.Coupon {
	t.Helper()
	c, err := newFromJSON(text)
	require.NoError(t, err)
	return c
}
