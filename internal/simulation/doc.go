// Package simulation runs the whole service in a world that one seed decides.
//
//	go test ./internal/simulation                # 3,000 lives, large worlds, planted faults
//	go test ./internal/simulation -seeds 1000000 # a million lives
//	go test ./internal/simulation -seed 17 -v    # one life; a failure shows its trace
//	go test ./internal/simulation -v             # with the tables of what happened
//
// # Idea
//
// A world has a virtual clock, shops with a payment processor, a ledger of points and
// tables each, customers, administrators, and processes that run the real service for
// all shops. Every call that a process makes to the world outside stops at a gate; the
// schedule then picks one call, of any operation on any process, and decides its fate.
// It goes through; it is lost before or after it took effect; it arrives late, when its
// caller has long gone on, or twice, or once more later; it is refused; nobody waits
// for it any more; or the process stops in the middle of it. Between calls customers
// pay, at once or later, or do not; events are delivered late, twice, in any order,
// under two IDs, forged, or contradicting each other; administrators edit, switch,
// delete and make coupons again, with an old revision in mind; somebody changes the
// mirror at the processor; sweeps and reconciles run; minutes or weeks pass; processes
// stop and start, and the power fails.
//
// Only one thing happens at a time: operations are coroutines. So a seed always leads
// to the same life, on every machine, and on every store: internal/integration/sqldb
// lives the same lives on SQLite. The dice of a step depend on the seed and the number
// of the step alone. A life that fails is lived again without one stretch of steps
// after the other, until no step can be left out; what remains is the trace that
// [FaultError] shows.
//
// No world is like the others: the seed also draws how many processes and customers
// there are, how bad the network is, how much is under way at once, and what happens
// more often than usual, or not at all.
//
// # Invariants
//
// After every effect, and once everything has come to rest (what is late has arrived,
// every event was told again, and sweeps and reconciles have run), the world is checked
// by what the stores and the processors show, never by what a caller was told. Each
// invariant has a check, and a planted fault that shows that the check can fail; those
// after the line hold at rest.
//
//	invariant                         from                              check                        planted fault that it finds
//
//	limits hold                       contract 5.2; design              checkPlace                   check-then-act
//	over the limit is flagged         contract 5.6                      checkPlace                   flagging every late payment
//	counts equal rows                 contract 5.7                      checkCounts                  counting before recording
//	states move forward               contract 5, diagram               checkTransition, checkOrder  releasing a completed session
//	one redemption for each session   contract 5.4; design              checkCompleted               matching by event ID
//	only what is paid completes       contract 5.5                      checkCompleted               taking what is finished for paid
//	only what is unpaid is released   contract 5, diagram               checkReleased                releasing before completing
//	rows stay                         contract 4.3; design 1            scanShop, checkOrder         deleting redemptions with their coupon
//	codes are unique                  contract 4.1                      sawCoupon                    letting two coupons have one code
//	only active coupons are reserved  contract 5.2                      checkPlace                   reserving what was switched off
//	points are bounded                contract 5.9; design              checkPoints                  refunding twice
//	quotes add up                     contract 2.1 to 2.5, 2.9; design  checkQuote                   rounding percentages in the store
//	sessions charge quotes            contract 2.4, 2.5                 checkSession                 charging a cent more
//	errors change nothing             package store                     inspectTouched               failing after the commit
//	previews change nothing           design, data flow 1               writes                       mending a mirror in a preview
//	forgeries are refused             contract 8, webhook               forge                        believing unsigned events
//	orders are their customers'       contract 5.2                      bought                       sharing keys between customers
//	one order for each key            contract 5.2                      bought                       forgetting keys
//	a second try keeps the place      contract 5.3                      checkLeaving                 giving away what is about to be taken over
//	totals are compared               contract 6, spec 7.10             bought                       not comparing totals
//	answers are true                  contract 5.4; package store       acknowledged, bought         forgetting the crash between session and attach
//	no surprise                       contract 6                        expect, do                   leaking a driver's error
//	-----------------------------------------------------------------------------------------------
//	every payment counts              contract 5.4, 5.6; design         checkPayments, acknowledged  dropping payments without a reservation
//	orders end                        contract 5.8                      checkRows, checkPayments     forgetting orders in the sweep
//	no reservation lives for ever     contract 5.1, 5.8                 checkRows                    forgetting reservations in the sweep
//	points are conserved              contract 5.9; design              checkRows                    forgetting refunds in the sweep
//	mirror equals store               design, admin changes             checkMirror                  leaving the code of a coupon that is off active
//	rest is quiet                     contract 5.8; design              restShop                     leaving the mirror of a deleted coupon
//	places that are left can be had   contract 5.2, 5.3                 checkPlaces                  counting uses twice
//
// The tests print how often each step, fate and transition has happened, and fail when
// one of them has not: a simulation shows nothing about what does not happen in it.
package simulation
