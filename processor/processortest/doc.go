// Package processortest tests implementations of package processor. Each subtest checks
// one clause of the contract.
//
// The test of an adapter makes a [Harness] and calls [Run]:
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
// Subtests run in parallel, each with its own harness. A failure names the clause and
// the observed result.
//
// # Harness
//
// The fields of a Harness simulate customers, staff at the processor and lost answers.
// They come in groups, such as [Customer] and [Account]. If a group is nil, the
// subtests that need it are skipped. The skip message names the group. Only a complete
// harness tests the whole contract. For a remote processor, write a stand-in that keeps
// state.
//
// Allowed differences between processors are declared in [processor.Abilities],
// Harness.ListsMirrors, Harness.FindsSessions and Harness.NoMirror. The suite checks that every
// declaration is true.
//
// # Faults
//
// With [Faults] the suite interrupts every request of every method: once before its
// effect, and once before its answer. It then repeats the method and checks the result.
// An adapter may retry and return no error. The final state must be the same.
//
// # Processes
//
// With Harness.Another the suite repeats calls in another process of the host. This
// finds adapters that keep session IDs or idempotency keys in memory. To find races
// between two processes, the stand-in should wait a millisecond before each answer.
//
// A session whose answer was lost is unknown to the host, but a customer could pay it.
// With Harness.Payable the suite checks that only one session can be paid.
//
// The suite does not test the verification of webhook signatures.
package processortest
