package mirrors

import (
	"fmt"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// TestRememberedAnswersAreBounded: the newest is among them.
func TestRememberedAnswersAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	checks := Cache{TTL: time.Minute}
	for i := range maxAnswers + 100 {
		c := coupon.Coupon{ID: fmt.Sprint("cpn_", i), Revision: 1}
		checks.put(c, processor.MirrorValid, now, checks.begin())
		if _, found, _ := checks.get(c, now); !found {
			t.Fatalf("answer %d is not remembered", i)
		}
	}
	if n := len(checks.answers); n != maxAnswers {
		t.Errorf("%d answers are remembered, want %d", n, maxAnswers)
	}
}
