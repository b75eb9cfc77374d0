// Package fakeprocessor is a payment processor in memory: the reference for the
// contract of package processor, and the other side in tests and examples.
//
// # Idea
//
// [New] makes a [Processor]. It keeps coupon objects, promotion codes and sessions
// as a real processor does: terms of an object are frozen, no two active codes are
// the same whatever their letter case, a deleted coupon takes its codes along, a
// session ends by the clock. On top of that it is an adapter: every method of the
// contract looks at the objects, and does what is missing in single steps.
//
//	fake := fakeprocessor.New(fakeprocessor.Options{Now: clock})
//	session, err := fake.CreateSession(ctx, request)
//	err = fake.Pay(session.ID)                      // the customer
//	err = fake.Deliver(ctx, fakeprocessor.Serve(h)) // the webhook
//
// The same calls in the same order make the same IDs; Options.IDPrefix tells those
// of two runs apart.
//
// # Beside a store that is durable
//
// The processor forgets everything with its process, and its IDs begin again. A store that
// outlives it (SQLite, MySQL, PostgreSQL) knows them: the session cs_000001 of the second
// start is that of another redemption, and the checkout is store.ErrSuperseded. Give each
// start a prefix of its own:
//
//	fake := fakeprocessor.New(fakeprocessor.Options{IDPrefix: rand.Text() + "_"}) // crypto/rand
//
// Coupons of before have no mirror until Service.Reconcile has made them again; their
// sessions are unknown, and the sweep takes them for expired.
//
// # The customer
//
// [Processor.Pay], [Processor.Decline], [Processor.PayLater] with
// [Processor.PaymentArrives] or [Processor.PaymentFails] are what the customer and
// the bank do. A session that nobody pays expires when [Options].Now says so.
//
// # The webhook
//
// Every change of a session queues an event. [Processor.Deliver] sends what is
// queued: over HTTP with [Post], to a handler with [Serve], to a function with
// [Processor.Events]. [Processor.Deliveries] hands it to the test instead, which may
// deliver it late, in another order, or not at all; [Processor.Redeliveries] brings
// everything again, [Processor.Repeat] tells a fact under another ID, and [Sign]
// forges. On the receiving side are [Processor.ParseEvent] and [Processor.Handler].
//
// # Faults
//
// [Processor.Inject] lets calls fail: lost before they arrive, done and the answer
// lost, refused, late, or with something else happening in between. A fault hits a
// method as a whole or one [Step] of it, so that a mirror can be left half made.
// [Processor.Calls] is the log.
//
// # Behind our back
//
// [Processor.PlantForeignCode] is somebody else's coupon. The Tamper methods change
// a mirror as staff would who work at the processor. [Processor.Coupons] and
// [Processor.PromotionCodes] show what is there.
//
// It is meant for tests, examples and trials: it forgets everything with its process
// and never forgets before. It implements sections 4.2 to 4.6 and 6 of the
// specification.
package fakeprocessor
