package web

import (
	"fmt"
	"net/http"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// Panel answers what the pages of administrators show. Its method is called for administrators only,
// by several requests at once.
type Panel interface {
	// Show returns what the page with the given template shows.
	Show(template string, r *http.Request) (Shown, error)
	// Failure returns the status and the text of the page of an error.
	Failure(err error) (status int, text string)
}

// Shown is what a page shows.
type Shown struct {
	// Data is what the template sees as .Data.
	Data any
	// Problem is what is wrong with the form; Status is that of the answer, 0 for 200.
	Problem string
	Status  int
	// Redirect is an address to go to. If it is given, nothing is shown.
	Redirect string
}

// maxForm is the maximum size of a form, in bytes.
const maxForm = 64 << 10

// panelPage returns the handler of an administrators' page whose content depends on the request.
func (s *Site) panelPage(p page) (http.Handler, error) {
	t, err := s.parse(p)
	if err != nil {
		return nil, err
	}
	return s.administered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		var shown Shown
		var err error
		if s.panel != nil {
			shown, err = s.panel.Show(p.template, r)
		}
		if err != nil {
			status, text := s.panel.Failure(err)
			s.Error(w, r, status, p.title, text)
			return
		}
		if shown.Redirect != "" {
			http.Redirect(w, r, shown.Redirect, http.StatusSeeOther)
			return
		}
		body, err := s.fill(t, p, view{Data: shown.Data, Problem: shown.Problem})
		if err != nil {
			s.Error(w, r, http.StatusInternalServerError, p.title, "The page could not be shown.")
			return
		}
		documentWith(max(shown.Status, http.StatusOK), body).ServeHTTP(unstored{w}, &http.Request{Method: http.MethodGet})
	})), nil
}

// unstored adds a header that forbids caching, because the page has personal data.
type unstored struct{ http.ResponseWriter }

// WriteHeader sends the header.
func (w unstored) WriteHeader(status int) {
	w.Header().Set("Cache-Control", "no-store")
	w.ResponseWriter.WriteHeader(status)
}

// Day is how a coupon was used on one day.
type Day struct {
	Date                          string
	Completed, Reserved, Restored int64
	Amounts                       []Amount
}

// Amount is a discount in one currency, and what refunds took back of it.
type Amount struct{ Discount, Returned pricing.Money }

// Chart is a picture of bars, a bar for each day.
type Chart struct {
	Title         string
	Width, Height int
	Left, Right   int // where the lines of the axis begin and end
	Marks         []Mark
	Bars          []Bar
	Labels        []Mark
}

// Mark is a text on an axis, at X or Y.
type Mark struct {
	X, Y int
	Text string
}

// Bar is a day: its lower part and what is upon it. All heights are from the top of the picture.
type Bar struct {
	X, Width            int
	Y, Height           int
	UpperY, UpperHeight int
	Title               string
}

const (
	chartWidth, chartHeight = 720, 220
	chartTop, chartBottom   = 12, 28
	chartLabels             = 6
)

type column struct {
	lower, upper int64
	title        string
}

// UsesChart shows how often a coupon was used each day.
func UsesChart(days []Day) Chart {
	columns, completed := make([]column, len(days)), int64(0)
	for i, d := range days {
		columns[i] = column{d.Completed, d.Reserved, fmt.Sprintf("%s: %d completed, %d reserved", dateText(d.Date), d.Completed, d.Reserved)}
		completed += d.Completed
	}
	text := func(n int64) string { return fmt.Sprint(n) }
	return newChart(counted(completed, "use")+" in "+counted(int64(len(days)), "day"), days, columns, text)
}

// DiscountCharts show the discount of each day less what refunds took back, currency by currency.
func DiscountCharts(days []Day) []Chart {
	var charts []Chart
	for _, currency := range currenciesOf(days) {
		columns, sum := make([]column, len(days)), int64(0)
		text := func(minor int64) string { return pricing.NewMoney(minor, currency).String() }
		for i, d := range days {
			for _, a := range d.Amounts {
				if a.Discount.Currency() == currency {
					columns[i].lower = a.Discount.Minor() - a.Returned.Minor()
				}
			}
			sum += columns[i].lower
			columns[i].title = dateText(d.Date) + ": " + text(columns[i].lower)
		}
		charts = append(charts, newChart("Discount of "+text(sum)+" in "+counted(int64(len(days)), "day"), days, columns, text))
	}
	return charts
}

func currenciesOf(days []Day) (all []pricing.Currency) {
	seen := map[pricing.Currency]bool{}
	for _, d := range days {
		for _, a := range d.Amounts {
			if c := a.Discount.Currency(); !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	return all
}

func newChart(title string, days []Day, columns []column, text func(int64) string) Chart {
	most := int64(1)
	for _, c := range columns {
		most = max(most, c.lower+c.upper)
	}
	step := roundStep(most)
	top := (most + step - 1) / step * step
	chart := Chart{Title: title, Width: chartWidth, Height: chartHeight, Right: chartWidth - 8}
	chart.Left = 20 + 8*len(text(top))
	y := func(value int64) int {
		return chartHeight - chartBottom - int(float64(value)/float64(top)*(chartHeight-chartTop-chartBottom))
	}
	for mark := int64(0); mark <= top; mark += step {
		chart.Marks = append(chart.Marks, Mark{chart.Left - 8, y(mark), text(mark)})
	}
	slot := float64(chart.Right-chart.Left) / float64(max(len(columns), 1))
	every := (len(columns) + chartLabels - 1) / chartLabels
	for i, c := range columns {
		x := chart.Left + int(slot*float64(i)+slot*0.15)
		width := max(1, min(32, int(slot*0.7)))
		chart.Bars = append(chart.Bars, Bar{x, width, y(c.lower), y(0) - y(c.lower), y(c.lower + c.upper), y(c.lower) - y(c.lower+c.upper), c.title})
		if i%every == 0 {
			chart.Labels = append(chart.Labels, Mark{x + width/2, chartHeight - 8, shortDate(days[i].Date)})
		}
	}
	return chart
}

// roundStep returns the least round number that divides an axis into at most four parts.
func roundStep(most int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, factor := range [...]int64{1, 2, 5} {
			if step := power * factor; step >= (most+3)/4 || power > most {
				return step
			}
		}
	}
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Formats of days and instants on pages.
const (
	dayLayout    = "2 Jan 2006"
	momentLayout = dayLayout + ", 15:04 MST"
)

func dateText(date string) string  { return formatDate(date, dayLayout) }
func shortDate(date string) string { return formatDate(date, "2 Jan") }

func formatDate(date, layout string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.Format(layout)
}

// flagText returns the text for a payment that somebody should check.
func flagText(flag couponkit.Flag) string {
	return map[couponkit.Flag]string{
		couponkit.FlagNone:           "",
		couponkit.FlagAmountMismatch: "The customer was charged another amount than the order's.",
		couponkit.FlagUnknownOrder:   "The order was lost. Only its payment is known.",
		couponkit.FlagPaidTwice:      "The customer may have paid twice. Return the second payment at the payment processor.",
		couponkit.FlagOverLimit:      "A coupon of this order was used more often than it allows.",
		couponkit.FlagPointsRefunded: "The points for this order were given back, or used by another order.",
		couponkit.FlagRefundFailed:   "The money of a refund did not go back to the customer.",
		couponkit.FlagDisputed:       "The customer disputes the payment.",
		couponkit.FlagExternalRefund: "Somebody made a refund at the payment processor. It names no items, and these still count as sold.",
	}[flag]
}

// repaymentText returns the text for the state of a refund's money.
func repaymentText(state redemption.RepaymentState) string {
	return map[redemption.RepaymentState]string{
		redemption.RepaymentNone:      "",
		redemption.RepaymentElsewhere: "The money is returned elsewhere, without the payment processor.",
		redemption.RepaymentDue:       "The payment processor has not answered yet. It is asked again.",
		redemption.RepaymentPending:   "The payment processor is returning the money.",
		redemption.RepaymentSucceeded: "The payment processor has returned the money.",
		redemption.RepaymentFailed:    "The money did not go back.",
	}[state]
}

// dueText returns the text for work that must be done outside the service.
func dueText(kind redemption.DueKind) string {
	return map[redemption.DueKind]string{
		redemption.EndPayment:   "The payment may still be possible. The payment processor is asked again until the payment has ended.",
		redemption.AskPayment:   "A payment is said to be on its way. The payment processor is asked whether it still is.",
		redemption.ReturnMoney:  "The payment processor has to return the money of a refund.",
		redemption.ReturnPoints: "The customer has to get points back.",
	}[kind]
}

// disputeText returns the text for the state of a dispute.
func disputeText(state redemption.DisputeState) string {
	return map[redemption.DisputeState]string{
		redemption.DisputeOpen: "The customer's bank has not decided.",
		redemption.DisputeWon:  "The shop keeps the money.",
		redemption.DisputeLost: "The customer has the money back.",
	}[state]
}
