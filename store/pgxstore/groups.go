package pgxstore

// groups are the calls that are joined into batches.
type groups struct {
	reserve    *group[*reserveRequest, verdict]
	settle     *group[settleRequest, settlement]
	transition *group[transitionRequest, transitioned]
}

func newGroups(s *Store, options BatchOptions) *groups {
	return &groups{
		reserve:    newGroup("reserve", options, s.reserveAll),
		settle:     newGroup("settle", options, s.settleAll),
		transition: newGroup("transition", options, s.transitionAll),
	}
}

func (g *groups) close() {
	g.reserve.close()
	g.settle.close()
	g.transition.close()
}
