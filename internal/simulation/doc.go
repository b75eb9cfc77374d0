// Package simulation runs the whole service in a world that one seed decides. README.md tells
// how to run it.
//
// A world has a virtual clock and shops. Each shop has a payment processor, a ledger of points,
// a store, customers and administrators. Processes run the real service for all shops. Every
// call that a process makes to the world outside stops at a [Wire]. The schedule then picks one
// call, of any operation on any process, and decides its fate. The call goes through, or it is
// lost before or after it took effect. It arrives late, when its caller has long gone on, or
// twice, or once more later. It is refused, or nobody waits for it any more, or the process
// stops in the middle of it.
//
// Customers buy with up to four coupons at once. Between calls they pay, at once or later, or do
// not. Events are delivered late, twice, in any order, under two IDs, forged, or contradicting
// each other. A payment comes whose order the shop does not have. Staff refund payments in the
// processor's dashboard. The processor refuses refunds, finishes them later, or lets them fail
// after they have succeeded. Customers dispute payments, and banks decide. Administrators edit,
// switch, delete and make coupons again, with an old revision in mind. They give coupons budgets
// and caps, and change budgets or remove them. Somebody changes the mirror at the processor.
// Sweeps and reconciles run. Hosts read the journal. Minutes or weeks pass. Processes stop and
// start, and the power fails. The seed also draws how large and how bad a world is, and whether
// its processors add taxes.
//
// Some worlds have automatic coupons, which each process finds in an index of its own. The index follows the store
// late, and is empty or old in between.
//
// Only one thing happens at a time: operations are coroutines. So a seed always leads to the
// same life, on every machine and on every store. The tests of internal/integration/sqldb live
// the same lives on SQLite. The dice of a step depend on the seed and the number of the step
// alone. A life that fails is lived again without one stretch of steps after the other, until
// no step can be left out. What remains is the trace that [FaultError] shows.
//
// # Invariants
//
// The world is checked after every effect, and once everything has come to rest: what is late
// has arrived, every event was delivered again, and sweeps and reconciles have run. The checks
// read what stores and processors show, never what a caller was answered. Each invariant has a
// check, and a planted fault that shows that the check can fail. The last group holds at rest.
// What the checks count as taken from a budget follows from quotes, refunds and the terms of
// coupons, never from claims or counters.
//
//	invariant                         from                              check                        planted fault that it finds
//
//	limits hold                       contract 5.2; design              checkLimits                  checking limits before the transaction
//	budgets hold                      contract 4.11                     checkBudgets                 checking budgets before the transaction
//	budgets equal discounts           contract 4.11, 5.7; refunds 4.4   checkCounters, spend         giving a budget back twice
//	budgets can be spent              contract 4.11                     checkSpent, checkLeft        halving a budget when a customer asks
//	over the limit is flagged         contract 5.6                      checkLimits                  flagging every late payment
//	counters equal records            contract 5.7; design, counters    checkCounters                giving claims back twice
//	states move forward               contract 5, diagram               checkOrder, checkUse         releasing a paid order
//	uses follow their orders          package redemption                checkUse                     keeping the uses of a replaced order
//	a hand-over is whole              contract 5.3; design, hand-over   checkEnd                     handing over in two steps
//	one session for each place        contract 5.3; design, hand-over   checkPlaces                  beginning a payment while the one before can be paid
//	the end of a payment is true      contract 5.3; design, hand-over   checkEnd                     ending sessions in words
//	claims go back for an answer      contract 5.3                      checkPaymentOf               taking claims back without asking
//	a second try keeps its claims     contract 5.3; design, hand-over   checkReleased                ending an order with the session before
//	a cancelled checkout is over      contract 5.3                      cancelled                    cancelling in words
//	a payment wins over a cancel      contract 5.3                      checkReleased, tooLate       taking each session for ended unpaid
//	a refreshed order agrees          contract 5.8                      refreshed                    asking what the processor said first
//	one order for each session        contract 5.4; design              attached, checkUse           taking each event for a payment
//	only what is paid completes       contract 5.5                      checkPaid                    taking what is finished for paid
//	only what has ended is released   contract 5, diagram               checkReleased                releasing before completing
//	orders know what was charged      refunds 6                         checkEnd                     forgetting the tax of a payment
//	records stay                      contract 4.3; design              readAll, checkOrder          deleting uses with their coupon
//	codes are unique                  contract 4.1                      sawCoupon                    letting two coupons have one code
//	only active coupons are reserved  contract 5.2                      checkLimits                  reserving what was switched off
//	points are bounded                contract 5.9; design              checkPoints, checkExchange   refunding twice
//	quotes add up                     contract 2.1 to 2.5, 2.9; design  checkQuote                   rounding percentages in the store
//	sessions charge quotes            contract 2.4, 2.5                 checkSession                 charging a cent more
//	the journal has each change once  design, journal                   sawEntry, follow             losing an entry between two pages
//	errors change nothing             package store                     check                        failing after the commit
//	previews change nothing           design, data flow                 writes                       repairing a mirror in a preview
//	forgeries are refused             contract 8, webhook               forge                        believing unsigned events
//	orders are their customers'       contract 5.2                      bought                       sharing keys between customers
//	one order for each key            contract 5.2                      bought, checkNewOrder        forgetting keys
//	totals are compared               contract 6, spec 7.10             bought                       not comparing totals
//	payers are counted                contract 4.8                      acknowledged, checkOrder     forgetting who has paid
//	nothing is given back twice       refunds 4.2 to 4.5, 5.1           checkRefunds, checkPayback   asking with another key each time
//	never more than was paid          refunds 1, 5.4                    checkRepayments              refunding a cent more
//	taxes go back with their goods    refunds 1, 6                      checkTaxes                   forgetting the tax of a refund
//	no more goes back than came in    refunds 5.1, 5.4                  checkPayback                 refunding whatever is asked for
//	a dispute changes no refund       refunds 5.6                       checkRepayments              deducting disputes from refunds
//	answers are true                  contract 5.4; package store       acknowledged, bought         answering before committing
//	no surprise                       contract 6                        expect, do                   leaking a driver's error
//	-----------------------------------------------------------------------------------------------
//	every payment counts              contract 5.4, 5.6; design         checkPayments, acknowledged  recording unknown payments without their use
//	orders end                        contract 5.8                      checkRecords, checkPayments  forgetting orders in the sweep
//	nothing is reserved for ever      contract 5.1, 5.8                 checkRecords                 forgetting exchanges in the sweep
//	points are conserved              contract 5.9; design              checkRecords                 forgetting refunds in the sweep
//	orders know what went back        refunds 5, 5.7                    checkMoney                   forgetting repayments in the sweep
//	mirror equals store               design, admin changes             checkMirror                  leaving the code of a coupon that is off active
//	rest is quiet                     contract 5.8; design              restShop                     leaving the mirror of a deleted coupon
//	free uses can be had              contract 5.2, 5.3                 checkFree                    counting uses twice for a customer
//
// The tests print how often each step, fate and transition has happened. They fail when one
// of them is too rare: a simulation shows nothing about what does not happen in it.
package simulation
