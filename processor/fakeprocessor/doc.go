// Package fakeprocessor is a payment processor in memory, for tests, examples and
// trials. It is the reference implementation of package processor.
//
//	fake := fakeprocessor.New(fakeprocessor.Options{Now: clock})
//	session, err := fake.CreateSession(ctx, request)
//	err = fake.Pay(session.ID)                      // the customer
//	err = fake.Deliver(ctx, fakeprocessor.Serve(h)) // the webhook
//
// [New] makes a [Processor]. It behaves like a real processor:
//
//   - the terms of a coupon object are fixed
//   - an active promotion code is unique in any letter case
//   - deleting a coupon deactivates its codes
//   - a session expires by the clock
//
// [Options].CanMirror makes a processor that cannot express some coupons.
//
// The package implements sections 4.2 to 4.6 and 6 of the specification.
//
// # The customer
//
// [Processor.Pay], [Processor.Decline] and [Processor.PayLater] simulate the customer.
// [Processor.PaymentArrives] and [Processor.PaymentFails] end a delayed payment. Unpaid
// sessions expire by [Options].Now.
//
// [Processor.RefundByStaff] refunds in the dashboard. [Processor.FailRefund] makes a refund fail.
// [Processor.Dispute] and [Processor.CloseDispute] simulate the customer's bank.
//
// # The webhook
//
// Every change of a session queues an event. [Processor.Deliver] sends the queue: over
// HTTP with [Post], to a handler with [Serve], or to a function with
// [Processor.Events].
//
// [Processor.Deliveries] returns the queue to a test. The test may then deliver late,
// in another order, or never. [Processor.Redeliveries] returns all earlier events
// again. [Processor.Repeat] reports a fact under a second ID. [Sign] signs forged
// deliveries.
//
// [Processor.ParseEvent] and [Processor.Handler] receive deliveries.
//
// # Faults
//
// [Processor.Inject] makes calls fail. A [Fault] affects a whole method or one [Step]
// of it. [Processor.Calls] returns the log of all calls.
//
// # Changes past the adapter
//
// [Processor.PlantForeignCode] creates a coupon of another application. The Tamper
// methods change a mirror as staff at the processor would. [Processor.Coupons] and
// [Processor.PromotionCodes] return all objects.
//
// # With a durable store
//
// The processor loses its data when the process ends, and its IDs start again. Give
// each process its own prefix if the store keeps its data:
//
//	fake := fakeprocessor.New(fakeprocessor.Options{IDPrefix: rand.Text() + "_"}) // crypto/rand
//
// After a restart the mirrors of all coupons are missing. Service.Reconcile creates
// them again. Earlier sessions are unknown, and the sweep treats them as expired.
package fakeprocessor
