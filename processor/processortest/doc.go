// Package processortest is the suite that every implementation of package processor
// passes: its subtests are the clauses of that contract, one by one.
//
// # Use
//
// An adapter's test makes a [Harness] and calls [Run]:
//
//	func TestContract(t *testing.T) {
//		processortest.Run(t, func(t *testing.T) processortest.Harness {
//			account := newSimulatedAccount(t)
//			return processortest.Harness{
//				Processor: myprocessor.New(account.URL()),
//				Another:   func() processor.Processor { return myprocessor.New(account.URL()) },
//				Now:       account.Now,
//				Customer:  processortest.Customer{Pay: account.Pay, …},
//				…
//			}
//		})
//	}
//
// Every clause gets a harness of its own, and clauses run in parallel. A clause that
// fails says what the contract asks for, and what was seen.
//
// # What a harness can do
//
// The contract speaks of a world in which customers pay, staff delete objects behind
// our back, and answers get lost. A suite that sees only the methods of the contract
// could not tell a mirror that was removed from one that was forgotten, so the harness
// brings hooks into that world. They come in groups. A group that is left nil is a
// declaration that the surroundings cannot do this; the clauses that need it are
// skipped by name, with the name of the group. An adapter is proven only by a harness
// that has them all; for a service beyond the test's reach, write a stateful stand-in.
//
// Differences between processors that the contract allows are read from
// processor.Abilities, [Harness].ListsMirrors and [Harness].NoMirror: the suite checks
// what is declared, in both directions.
//
// # Faults
//
// With [Faults] the suite cuts off every request of every method, once before it
// arrives and once before its answer does, repeats the method, and looks whether one
// coupon and one active promotion code are there. An adapter that tries again by
// itself may answer without an error; it still has to end in the same state.
//
// # Processes and payable sessions
//
// A host runs several processes, and starts them again. With Another the suite repeats
// calls for sessions in a process that has not made them, also after a lost answer: an
// adapter that remembers its answers, or the key that it made up, is found by that. One
// that looks whether there is a session and then makes it is found only if two processes
// look before either makes one. A stand-in that answers in no time nearly never lets them:
// let it wait a millisecond before it answers.
//
// A session whose answer was lost is one that nobody was told of, so that it cannot be
// asked for, and that a customer could pay all the same. With Payable the suite counts
// the sessions past the adapter: where the call was repeated there is one.
//
// The suite does not check how a webhook's signature is verified, since the contract
// leaves that to the adapter.
package processortest
