package pgxstore

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/store"
)

// groups are the calls that are joined into batches.
type groups struct {
	reserve    *group[*reserveRequest, verdict]
	settle     *group[settleRequest, settlement]
	transition *group[transitionRequest, transitioned]
	attach     *group[store.Attachment, attached]
}

func newGroups(s *Store, options BatchOptions) *groups {
	return &groups{
		reserve:    newGroup("reserve", options, s.reserveAll),
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

// errAlone marks a call for which a batch has done nothing: it is to be run alone.
var errAlone = errors.New("left alone by a batch")

// leftAlone runs the calls that a batch has left alone, each in a transaction of its own.
func leftAlone[Q, A any](ctx context.Context, requests []Q, answers []answer[A], err error,
	run func(context.Context, []Q) ([]answer[A], error),
) ([]answer[A], error) {
	if err != nil {
		return nil, err
	}
	for i := range answers {
		if !errors.Is(answers[i].err, errAlone) {
			continue
		}
		single, err := run(ctx, requests[i:i+1])
		if err != nil {
			answers[i] = answer[A]{err: err}
		} else {
			answers[i] = single[0]
		}
	}
	return answers, nil
}
