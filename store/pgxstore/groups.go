package pgxstore

import "github.com/couponkit/couponkit/store"

// groups are the calls that are joined into batches.
type groups struct {
	reserve    *group[*reserveRequest, verdict]
	settle     *group[settleRequest, settlement]
	transition *group[transitionRequest, transitioned]
	attach     *group[store.Attachment, attached]
}

func newGroups(s *Store, options BatchOptions) *groups {
	reserve := newGroup("reserve", options, s.reserveAll)
	reserve.meanwhile = func(v verdict) int { return v.meanwhile }
	reserve.weigh = func(r *reserveRequest) int { return r.documents.bytes() }
	return &groups{
		reserve:    reserve,
		settle:     newGroup("settle", options, s.settleAll),
		transition: newGroup("transition", options, s.transitionAll),
		attach:     newGroup("attach", options, s.attachAll),
	}
}

func (g *groups) close() {
	g.reserve.close()
	g.settle.close()
	g.transition.close()
	g.attach.close()
}
