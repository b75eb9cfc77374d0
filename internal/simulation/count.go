package simulation

import "github.com/couponkit/couponkit/redemption"

// countUse counts what has happened to a use.
func (w *world) countUse(before, now redemption.Use) {
	from := "none"
	if !before.IsZero() {
		from = before.State.String()
	}
	if before.State != now.State {
		w.coverage.count("use", from, now.State.String())
	}
	if before.PointsState != now.PointsState {
		from := before.PointsState.String()
		w.coverage.count("points", from, now.PointsState.String())
	}
	switch {
	case !before.IsZero():
	case now.Origin == redemption.FromPoints && now.OrderID != "":
		w.coverage.count("origin", "points", "in a checkout")
	default:
		w.coverage.count("origin", now.Origin.String(), "")
	}
	if now.OverLimit && !before.OverLimit {
		w.coverage.count("use", "completed", "over the limit")
	}
	if now.State == redemption.Completed && before.State != redemption.Completed && now.PointsState > redemption.PointsDebited {
		w.coverage.count("use", "completed", "with points that are "+now.PointsState.String())
	}
}
