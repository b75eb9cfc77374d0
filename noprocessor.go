package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/processor"
)

// noProcessor is the processor of a host that makes its own payments. It mirrors no coupon and has no
// sessions.
type noProcessor struct{ processor.NoMirror }

func (noProcessor) Abilities() processor.Abilities { return processor.Abilities{} }

func (noProcessor) CreateSession(context.Context, processor.SessionRequest) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

func (noProcessor) Session(context.Context, string) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

func (noProcessor) ExpireSession(context.Context, string) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

// hasProcessor reports whether the service makes payments.
func (s *Service) hasProcessor() bool {
	_, none := s.processor.(noProcessor)
	return !none
}
