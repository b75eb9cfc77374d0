package processortest_test

import (
	"testing"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

// An adapter's test file holds one test that runs the suite. Here the adapter is the
// fake, and the harness has the hooks of the customer and of the webhook.
func ExampleRun() {
	testContract := func(t *testing.T) {
		t.Helper()
		processortest.Run(t, func(t *testing.T) processortest.Harness {
			t.Helper()
			clock := newClock()
			fake := fakeprocessor.New(fakeprocessor.Options{Now: clock.Now})
			return processortest.Harness{
				Processor:     fake,
				ListsMirrors:  true,
				FindsSessions: true,
				Now:           clock.Now,
				Advance:       clock.Advance,
				Customer: processortest.Customer{
					Pay: fake.Pay, PayLater: fake.PayLater,
					PaymentArrives: fake.PaymentArrives, PaymentFails: fake.PaymentFails,
					Enter: func(id, email string) error { return fake.Enter(id, processor.Payer{Email: email}) },
				},
				Renewal: fake.Renewal,
				Events: func() (list []processor.Event, err error) {
					for _, d := range fake.Deliveries() {
						e, err := fake.ParseEvent(d.Payload, d.Signature)
						if err != nil {
							return nil, err
						}
						list = append(list, e)
					}
					return list, nil
				},
			}
		})
	}
	_ = testing.InternalTest{Name: "TestContract", F: testContract} // go test finds func TestContract
}
