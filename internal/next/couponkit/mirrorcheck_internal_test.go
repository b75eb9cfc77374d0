package couponkit

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
	checks := mirrorChecks{ttl: time.Minute}
	for i := range maxMirrorAnswers + 100 {
		c := coupon.Coupon{ID: fmt.Sprint("cpn_", i), Revision: 1}
		checks.put(c, mirrorAnswer{status: processor.MirrorValid, at: now}, checks.begin())
		if _, found, _ := checks.get(c, now); !found {
			t.Fatalf("answer %d is not remembered", i)
		}
	}
	if n := len(checks.answers); n != maxMirrorAnswers {
		t.Errorf("%d answers are remembered, want %d", n, maxMirrorAnswers)
	}
}
