package simulation_test

import (
	"testing"

	"github.com/couponkit/couponkit/internal/simulation"
)

// fates that every call meets; "" is that it arrives.
var fates = []string{
	"", "lost before it took effect", "its answer is lost", "delayed", "arrives twice", "will arrive again",
	"refused", "nobody waits for it any more", "the process stops in the middle of it",
}

// calls are all that a service makes: to the store, the processor and the ledger.
var calls = []string{
	"SaveCoupon create", "SaveCoupon edit", "SaveCoupon confirm", "SaveCoupon delete", "SaveCodes add", "SaveCodes edit", "LookUp", "ListCoupons",
	"Reserve", "Apply session_attached", "Apply paid", "Apply payment_pending", "Apply payment_failed", "Apply session_expired",
	"Apply cancelled", "Apply lapsed", "Apply payment_begun", "Apply refunded", "Apply reported", "Apply points_exchanged", "Apply points_refused", "Apply points_given_back",
	"Order", "ListOrders", "ListUses", "Journal",
	"EnsureMirror", "UpdateMirror", "SetMirrorActive", "RemoveMirror", "VerifyMirror", "Mirrors",
	"CreateSession", "Session", "ExpireSession", "FindSession", "Repay", "Refunds",
	"Debit", "Refund",
}

// least is what else has to happen, and how often, in a run of CI's seeds.
var least = []struct {
	kind, what, how string
	times           int
}{
	{"step", "create", "", 100},
	{"step", "edit", "", 100},
	{"step", "switch", "", 100},
	{"step", "delete", "", 100},
	{"step", "code made again", "while a session of its former coupon is open", 20},
	{"step", "add codes", "", 100},
	{"step", "change code", "", 20},
	{"step", "change batch", "", 20},
	{"step", "preview", "", 100},
	{"step", "exchange", "", 100},
	{"step", "cancel exchange", "", 100},
	{"step", "checkout", "", 1_000},
	{"step", "payment link", "", 100},
	{"step", "retry", "", 100},
	{"step", "refund", "", 100},
	{"step", "cancel checkout", "", 100},
	{"step", "refresh", "", 100},
	{"step", "sweep", "", 100},
	{"step", "reconcile", "", 100},
	{"step", "follow", "", 100},
	{"step", "payment for a lost order", "", 20},
	{"step", "payment for a lost order", "without a coupon", 5},
	{"step", "pay", "", 100},
	{"step", "pay later", "", 100},
	{"step", "decline", "", 100},
	{"step", "late payment arrives", "", 100},
	{"step", "late payment fails", "", 20},
	{"step", "time passes", "hours or days", 100},
	{"step", "process stops", "", 100},
	{"step", "process starts", "", 100},
	{"step", "power fails", "", 100},
	{"step", "points are spent elsewhere", "", 100},
	{"step", "staff refund", "", 100},
	{"step", "refund finishes", "", 50},
	{"step", "refund fails", "", 50},
	{"step", "refunds are refused", "", 100},
	{"step", "dispute", "after a refund", 20},
	{"step", "dispute decided", "", 50},
	{"step", "tamper", "activates", 50},
	{"step", "tamper", "deactivates", 50},
	{"step", "tamper", "deletes", 50},
	{"step", "tamper", "kills", 50},
	{"step", "deliver", "again", 100},
	{"step", "deliver", "before an older event", 100},
	{"step", "deliver", "days late", 50},
	{"step", "deliver", "at once", 50},
	{"step", "event repeated", "", 100},
	{"step", "expiry after the payment", "", 100},
	{"step", "other event", "", 100},
	{"step", "forge", "with a guessed secret", 50},
	{"step", "forge", "with another shop's secret", 50},
	{"step", "forge", "without a signature", 50},
	{"step", "forge", "with an old signature", 50},
	{"step", "forge", "with a signature of the future", 50},
	{"step", "forge", "with the signature of another body", 50},
	{"event", "completed", "paid", 100},
	{"event", "completed", "unpaid", 50},
	{"event", "completed", "no_payment_required", 20},
	{"event", "payment_succeeded", "paid", 50},
	{"event", "payment_failed", "unpaid", 20},
	{"event", "expired", "unpaid", 100},
	{"event", "ignored", "", 100},
	{"event", "refund_changed", "", 100},
	{"event", "dispute_changed", "", 50},
	{"origin", "checkout", "", 100},
	{"origin", "points", "", 100},
	{"origin", "points", "in a checkout", 50},
	{"origin", "payment", "", 10},
	{"use", "none", "reserved", 100},
	{"use", "none", "completed", 10},
	{"use", "reserved", "completed", 100},
	{"use", "reserved", "released", 100},
	{"use", "released", "completed", 20},
	{"use", "released", "reserved", 5},
	{"use", "completed", "over the limit", 10},
	{"use", "completed", "with more claims", 50},
	{"use", "completed", "given back", 50},
	{"use", "completed", "with points that are refunded", 2},
	{"points", "none", "pending", 100},
	{"points", "pending", "debited", 100},
	{"points", "pending", "refund_due", 50},
	{"points", "debited", "refund_due", 50},
	{"points", "refund_due", "refunded", 100},
	{"points", "debited", "passed_on", 50},
	{"points", "passed_on", "debited", 5},
	{"order", "new", "open", 100},
	{"order", "open", "awaiting_payment", 50},
	{"order", "open", "paid", 100},
	{"order", "open", "cancelled", 100},
	{"order", "awaiting_payment", "paid", 50},
	{"order", "awaiting_payment", "cancelled", 20},
	{"order", "cancelled", "paid", 20},
	{"order", "new", "paid", 20},
	{"order", "paid", "partly_refunded", 50},
	{"order", "paid", "refunded", 50},
	{"order", "partly_refunded", "refunded", 20},
	{"repayment", "none", "due", 100},
	{"repayment", "none", "elsewhere", 50},
	{"repayment", "due", "pending", 50},
	{"repayment", "due", "succeeded", 50},
	{"repayment", "due", "failed", 50},
	{"repayment", "pending", "succeeded", 20},
	{"repayment", "pending", "failed", 20},
	{"repayment", "succeeded", "failed", 20},
	{"repayment", "failed", "due", 20},
	{"repayment", "failed", "elsewhere", 5},
	{"repayment", "swept", "", 50},
	{"tax", "of the total", "partly_refunded", 50},
	{"tax", "of the total", "refunded", 50},
	{"tax", "by line", "partly_refunded", 50},
	{"tax", "by line", "refunded", 50},
	{"external refund", "none", "recorded", 100},
	{"dispute", "none", "recorded", 50},
	{"dispute", "open", "won", 20},
	{"dispute", "open", "lost", 20},
	{"order", "new", "replaces another one", 100},
	{"order", "new", "waits for the end of a payment", 100},
	{"order", "replaced", "the end of its payment is recorded", 100},
	{"order", "open", "ending", 50},
	{"order", "ending", "cancelled", 50},
	{"order", "ending", "paid", 2},
	{"order", "ending", "as somebody wished", 50},
	{"order", "cancelled", "resumed after its hand-over", 5},
	{"order", "cancelled", "superseded by a payment", 20},
	{"order", "cancelled", "as somebody wished", 100},
	{"order", "cancelled", "refreshed to paid", 1},
	{"order", "not cancelled", "paid", 20},
	{"order", "not cancelled", "awaiting_payment", 20},
	{"order", "open", "refreshed to paid", 50},
	{"order", "open", "refreshed to awaiting_payment", 20},
	{"order", "open", "refreshed to cancelled", 20},
	{"order", "awaiting_payment", "refreshed to paid", 5},
	{"order", "new", "with the maximum of a discount", 20},
	{"order", "new", "with several coupons", 100},
	{"order", "new", "with kept claims", 50},
	{"order", "kept claims", "freed", 50},
	{"budget", "reserved", "", 100},
	{"budget", "completed", "", 100},
	{"budget", "refuses", "a price", 100},
	{"budget", "given back", "unpaid", 100},
	{"budget", "given back", "by a refund, in part", 20},
	{"budget", "given back", "by a refund, to the end", 20},
	{"budget", "edited", "added", 50},
	{"budget", "edited", "lowered", 50},
	{"budget", "edited", "raised", 50},
	{"budget", "edited", "removed", 50},
	{"budget", "beside", "a limit of uses", 100},
	{"budget", "beside", "a limit of each customer", 100},
	{"budget", "at rest", "left", 50},
	{"budget", "at rest", "too little left", 20},
	{"coupon", "new", "pending", 100},
	{"coupon", "pending", "active", 100},
	{"coupon", "pending", "deleting", 50},
	{"coupon", "active", "active", 100},
	{"coupon", "active", "inactive", 50},
	{"coupon", "inactive", "active", 50},
	{"coupon", "active", "deleting", 50},
	{"coupon", "inactive", "deleting", 20},
	{"coupon", "deleting", "deleted", 100},
	{"rejection", "code_required", "", 10},
	{"rejection", "coupon_not_found", "", 10},
	{"rejection", "coupon_inactive", "", 10},
	{"rejection", "coupon_not_started", "", 10},
	{"rejection", "coupon_expired", "", 10},
	{"rejection", "processor_out_of_sync", "", 10},
	{"rejection", "usage_limit_reached", "", 10},
	{"rejection", "user_usage_limit_reached", "", 10},
	{"rejection", "budget_exhausted", "", 100},
	{"rejection", "minimum_purchase_not_met", "", 10},
	{"rejection", "user_not_allowed", "", 10},
	{"rejection", "points_not_redeemed", "", 10},
	{"rejection", "no_eligible_items", "", 10},
	{"rejection", "no_discount", "", 10},
	{"rejection", "currency_mismatch", "", 10},
	{"rejection", "code_taken", "", 10},
	{"rejection", "cart_totals_invalid", "", 10},
	{"rejection", "below_minimum_charge", "", 10},
}

// checkCoverage: a simulation shows nothing about what does not happen in it.
func checkCoverage(t *testing.T, all simulation.Coverage) {
	t.Helper()
	for _, call := range calls {
		for _, fate := range fates {
			if all[[3]string{"fate", call, fate}] == 0 {
				t.Errorf("%s, %q: never happened", call, fate)
			}
		}
		if all.Of("step", "arrive late", call) == 0 {
			t.Errorf("%s never arrived late", call)
		}
	}
	for _, kind := range []string{"create", "edit", "switch", "delete", "exchange", "cancel exchange", "checkout", "payment link", "refund", "cancel checkout", "refresh", "deliver", "sweep", "reconcile", "follow"} {
		if n := all.Of("stopped at", kind, ""); n < 20 {
			t.Errorf("a process stopped in the middle of a %s %d times", kind, n)
		}
	}
	for _, l := range least {
		if n := all.Of(l.kind, l.what, l.how); n < l.times {
			t.Errorf("%s %s %s: happened %d times, at least %d are wanted", l.kind, l.what, l.how, n, l.times)
		}
	}
}
