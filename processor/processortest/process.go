package processortest

import (
	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/processor"
)

// processClauses are about a process that did not make the first call. It may continue after a crash,
// or receive a repeated request of the customer.
func processClauses() []clause {
	return []clause{
		{
			name:  "create in another process",
			needs: []need{sharing()},
			says:  "repeating CreateSession with the same Key and parameters returns the same session, in whatever process",
			check: createInAnotherProcess,
		},
		{
			name:  "lost answers of create in another process",
			needs: []need{sharing(), faulty()},
			says:  "after a lost answer or a crash the same call leads to the wanted state: the same session, in whatever process",
			check: lostAnswersOfCreateInAnotherProcess,
		},
		{
			name:  "many processes create one session",
			needs: []need{sharing()},
			says:  "repeating CreateSession with the same Key and parameters returns the same session, also at once in many processes",
			check: manyProcessesCreateOneSession,
		},
	}
}

// elsewhere returns the clause in another process of the host.
func (p *probe) elsewhere() *probe {
	p.Helper()
	other := *p
	if other.Processor = p.Another(); other.Processor == nil {
		p.Fatal("the hook Another of the harness returned no Processor")
	}
	return &other
}

func createInAnotherProcess(p *probe) {
	for _, r := range []processor.SessionRequest{p.request("key-1"), p.subscription("key-2")} {
		s := p.created(r)
		for range 2 { // two more processes, which know nothing of earlier calls
			other := p.elsewhere()
			for name, seen := range map[string]processor.Session{"CreateSession": other.created(r), "Session": other.session(s.ID)} {
				if diff := cmp.Diff(s, seen); diff != "" {
					p.broken("%s returns another session in another process (-here +there):\n%s", name, diff)
				}
			}
		}
		p.onlyPayable(s.ID, "after other processes were asked for it too")
		p.is(p.elsewhere().ended(s.ID), processor.SessionExpired, processor.Unpaid, "ended in another process")
		p.is(p.session(s.ID), processor.SessionExpired, processor.Unpaid, "read after that")
	}
}

func lostAnswersOfCreateInAnotherProcess(p *probe) {
	p.everyLostCreate(func(r processor.SessionRequest, where string) (sessionID string) {
		next, here, last := p.elsewhere().created(r), p.created(r), p.elsewhere().created(r)
		if next.ID != here.ID || next.ID != last.ID {
			p.broken("CreateSession %s, then repeated in another process, in this one and in a third, returned the sessions %q, %q and %q",
				where, next.ID, here.ID, last.ID)
		}
		p.onlyPayable(here.ID, "after CreateSession "+where+" was repeated in other processes")
		return here.ID
	})
}

// manyProcessesCreateOneSession allows one error: an adapter may not know the outcome of other
// processes' calls.
func manyProcessesCreateOneSession(p *probe) {
	r := p.request("key-1")
	processes, sessions, errs := make([]*probe, crowd), make([]processor.Session, crowd), make([]error, crowd)
	for i := range processes {
		processes[i] = p.elsewhere()
	}
	together(crowd, func(i int) { sessions[i], errs[i] = processes[i].Processor.CreateSession(p.Context(), r) })
	s := p.created(r)
	told := map[string]int{}
	for i := range crowd {
		p.lost(errs[i], "CreateSession beside other processes")
		if errs[i] == nil {
			told[sessions[i].ID]++
		}
	}
	if delete(told, s.ID); len(told) > 0 {
		p.broken("the session is %q, and of processes that asked at once some were told of others (how many): %v", s.ID, told)
	}
	p.onlyPayable(s.ID, "after many processes asked at once")
}
