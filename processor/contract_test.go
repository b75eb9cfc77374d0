package processor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/couponkit/couponkit/processor"
)

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, test := range []struct {
		value fmt.Stringer
		want  string
	}{
		{processor.Ignored, "ignored"},
		{processor.Completed, "completed"},
		{processor.PaymentSucceeded, "payment_succeeded"},
		{processor.PaymentFailed, "payment_failed"},
		{processor.Expired, "expired"},
		{processor.RefundChanged, "refund_changed"},
		{processor.DisputeChanged, "dispute_changed"},
		{processor.DisputeChanged + 1, ""},
		{processor.RefundStatus(0), ""},
		{processor.RefundPending, "pending"},
		{processor.RefundSucceeded, "succeeded"},
		{processor.RefundFailed, "failed"},
		{processor.RefundFailed + 1, ""},
		{processor.DisputeStatus(0), ""},
		{processor.DisputeOpen, "open"},
		{processor.DisputeWon, "won"},
		{processor.DisputeLost, "lost"},
		{processor.DisputeLost + 1, ""},
		{processor.MirrorStatus(0), ""},
		{processor.MirrorValid, "valid"},
		{processor.MirrorInvalid, "invalid"},
		{processor.MirrorMissing, "missing"},
		{processor.MirrorUnsupported, "unsupported"},
		{processor.MirrorUnsupported + 1, ""},
		{processor.Mode(0), ""},
		{processor.Payment, "payment"},
		{processor.Subscription, "subscription"},
		{processor.Subscription + 1, ""},
		{processor.SessionStatus(0), ""},
		{processor.SessionOpen, "open"},
		{processor.SessionComplete, "complete"},
		{processor.SessionExpired, "expired"},
		{processor.SessionExpired + 1, ""},
		{processor.PaymentStatus(0), ""},
		{processor.Unpaid, "unpaid"},
		{processor.Paid, "paid"},
		{processor.NoPaymentRequired, "no_payment_required"},
		{processor.NoPaymentRequired + 1, ""},
	} {
		if got := test.value.String(); got != test.want {
			t.Errorf("%T(%d) is called %q, want %q", test.value, test.value, got, test.want)
		}
		key := fmt.Sprintf("%T %s", test.value, test.want)
		if test.want != "" && seen[key] {
			t.Errorf("two values of %T are called %q", test.value, test.want)
		}
		seen[key] = true
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	for status, want := range map[processor.PaymentStatus]bool{
		0: false, processor.Unpaid: false, processor.Paid: true, processor.NoPaymentRequired: true,
	} {
		if got := status.Settled(); got != want {
			t.Errorf("%q is settled: %t, want %t", status, got, want)
		}
	}
}

// TestSentinels: every error matches exactly one sentinel, but a taken code is a
// rejection too.
func TestSentinels(t *testing.T) {
	t.Parallel()
	sentinels := []error{
		processor.ErrUnavailable, processor.ErrRejected, processor.ErrCodeTaken,
		processor.ErrNotFound, processor.ErrForbidden, processor.ErrSignature,
	}
	for _, err := range sentinels {
		for _, target := range sentinels {
			want := err == target || err == processor.ErrCodeTaken && target == processor.ErrRejected //nolint:errorlint // identity is meant
			if got := errors.Is(fmt.Errorf("wrapped: %w", err), target); got != want {
				t.Errorf("%q matches %q: %t, want %t", err, target, got, want)
			}
		}
	}
}
