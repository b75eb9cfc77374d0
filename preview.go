package couponkit

import (
	"context"
	"iter"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
)

// PreviewCodes tells what [Service.CreateCodes] would do, and changes nothing. It returns the batch as it is, with the Size
// that it would have, or the error of CreateCodes: the call would add the codes between Added and Size.
func (s *Service) PreviewCodes(ctx context.Context, couponID string, d coupon.BatchDraft) (coupon.IssuedBatch, error) {
	return s.catalog().PreviewCodes(ctx, couponID, d)
}

// PreviewAssign tells what [Service.AssignCodes] would do, and changes nothing. A code that would be assigned has its owner,
// and no Key. The errors are those of AssignCodes. The memory grows with the owners.
func (s *Service) PreviewAssign(ctx context.Context, couponID, batchID string, owners iter.Seq[coupon.Owner]) iter.Seq2[coupon.IssuedCode, error] {
	return s.catalog().PreviewAssign(ctx, couponID, batchID, owners)
}

// PreviewImport tells what [Service.ImportCodes] would do, and changes nothing. It yields the same verdicts and errors. The
// memory grows with the new codes.
func (s *Service) PreviewImport(
	ctx context.Context, couponID, batchID string, rows iter.Seq2[codecsv.Row, error],
) iter.Seq2[codecsv.Imported, error] {
	return s.catalog().PreviewImport(ctx, couponID, batchID, rows)
}
