package replay

import (
	"bufio"
	"fmt"
	"io"
)

// Sizes in the chart, in units of SVG.
const (
	chartWidth = 720
	rowHeight  = 22
	headHeight = 44
	barLeft    = 230
	barWidth   = 380
)

// WriteSVG writes the histograms as one SVG image: a bar for each bucket, and a part for each currency. The image has
// a title and a description for readers who do not see it, and all numbers as text. Its text is English.
func (r Report) WriteSVG(w io.Writer) error {
	b := bufio.NewWriter(w)
	height := 0
	for i := range r.Currencies {
		height += headHeight + rowHeight*len(r.Currencies[i].Histogram)
	}
	p := func(form string, args ...any) { _, _ = fmt.Fprintf(b, form, args...) } // Flush returns the error
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="replay-title replay-desc"`,
		chartWidth, max(height, headHeight))
	p(" font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"currentColor\">\n")
	p("<title id=\"replay-title\">Carts by the change of what they cost</title>\n<desc id=\"replay-desc\">")
	for i := range r.Currencies {
		s := &r.Currencies[i]
		p("%s: %d carts would cost less, %d more and %d the same. ", s.Currency.Code(), s.Wins.Carts, s.Loses.Carts, s.Stays.Carts)
	}
	if len(r.Currencies) == 0 {
		p("There is no cart.")
	}
	p("</desc>\n")
	top := 0
	for i := range r.Currencies {
		top = r.Currencies[i].chart(p, top)
	}
	p("</svg>\n")
	return b.Flush()
}

// chart writes the part of a currency. It returns where the part ends.
func (s *Sums) chart(p func(string, ...any), top int) int {
	most := int64(1)
	for _, b := range s.Histogram {
		most = max(most, b.Carts)
	}
	p("<text x=\"0\" y=\"%d\" font-weight=\"bold\">%s: carts by change</text>\n", top+headHeight-18, s.Currency.Code())
	top += headHeight
	for _, b := range s.Histogram {
		p("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", barLeft-8, top+15, b.label())
		length := max(min(b.Carts, 1), b.Carts*barWidth/most)
		p("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>", barLeft, top+2, length, rowHeight-4, b.color())
		p("<text x=\"%d\" y=\"%d\">%d</text>\n", barLeft+length+8, top+15, b.Carts)
		top += rowHeight
	}
	return top
}

// label describes the change, such as "1.00 to 1.99 less".
func (b Bucket) label() string {
	in, from, to, word := b.From.Currency(), b.From.Minor(), b.To.Minor(), "more"
	switch {
	case to == 0:
		return "no change"
	case to < 0:
		from, to, word = -to, -from, "less"
	}
	if from == to {
		return in.Format(from) + " " + word
	}
	return in.Format(from) + " to " + in.Format(to) + " " + word
}

func (b Bucket) color() string {
	switch {
	case b.To.Minor() < 0:
		return "#2e7d4f"
	case b.To.Minor() > 0:
		return "#b3412e"
	}
	return "#767676"
}
