package codecsv

// Verdict tells what has become of a row.
type Verdict string

// These constants are the verdicts.
const (
	// Added means that the code is new.
	Added Verdict = "added"
	// Known means that the batch has the code already, with the same terms, from an earlier row or an earlier call.
	Known Verdict = "known"
	// Taken means that another coupon or another batch has the code.
	Taken Verdict = "taken"
	// Refused means that the row is invalid, or that the batch has the code with other terms; see [Row].Refusal.
	Refused Verdict = "refused"
)

// Imported is a row with its verdict.
type Imported struct {
	Row

	Verdict Verdict
	// CouponID is the coupon that has the code. It is empty if the row was refused.
	CouponID string
}
