package storetest

import (
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

func searchClauses() []clause {
	return []clause{
		{"search", "Search finds coupons whose name, code or description holds the text, whatever the letter case; empty finds all", search},
		{"search finds a code as a look-up does", "Search folds as a look-up does: a code is found in every form that looks like it, with blanks around", searchFolds},
		{"search takes signs literally", "% and _ mean themselves", searchLiterally},
		{"search takes the longest code", "Search has at most MaxSearchLength code points, whatever their bytes", longestCodeIsFound},
	}
}

// shelf stores coupons with these names and returns their IDs by name.
func (p *probe) shelf(names ...string) map[string]string {
	p.Helper()
	ids := map[string]string{}
	for _, name := range names {
		ids[p.coupon(named(name)).ID] = name
	}
	return ids
}

// found searches through pages of two, and returns the names of what is found.
func (p *probe) found(text string, names map[string]string) []string {
	p.Helper()
	var found []string
	list := store.CouponList{Search: text, PageSize: 2}
	total := int64(0)
	for {
		page, err := p.s.ListCoupons(p.Context(), list)
		p.ok(err, "ListCoupons with the search %q", text)
		for _, c := range page.Items {
			found = append(found, names[c.ID])
		}
		total = page.Total
		if page.Next == "" {
			break
		}
		list.After = page.Next
	}
	if total != int64(len(found)) {
		p.broken("the search %q finds %d coupons and a total of %d", text, len(found), total)
	}
	slices.Sort(found)
	return found
}

func search(p *probe) {
	names := p.shelf("Summer Sale", "WINTER", "Frühling", "скидка", "ΤΙΜΗ", "Σίσυφος", "Maſse", "tail", "x")
	described := p.coupon(named("plain"), func(c *coupon.Coupon) { c.Description = "For the summer\nof ÉTÉ" })
	coded := p.coupon(named("head"), coded(p.code("XSUMMERX")))
	names[described.ID], names[coded.ID] = "described", "coded"
	inactive := p.coupon(named("Wintersport"), inState(coupon.Inactive))
	names[inactive.ID] = "inactive"
	for text, want := range map[string][]string{
		"summer": {"Summer Sale", "coded", "described"}, "SUMMER": {"Summer Sale", "coded", "described"},
		"mer sa": {"Summer Sale"}, "winter": {"WINTER", "inactive"}, "FRÜHLING": {"Frühling"}, "frühling": {"Frühling"},
		"fruhling": nil, "СКИД": {"скидка"}, "τιμη": {"ΤΙΜΗ"}, "été": {"described"}, "the summer\nof": {"described"},
		"summersale": nil, "  summer sale\t": {"Summer Sale"}, "headXSUMMERX": nil, "xsummerx": {"coded"}, "nothing": nil,
		"ΣΊΣΥΦΟΣ": {"Σίσυφος"}, "σίσυφος": {"Σίσυφος"}, "φοσ": {"Σίσυφος"}, "φος": {"Σίσυφος"}, "MASSE": {"Maſse"}, "masse": {"Maſse"}, "maße": {"Maſse"},
		inactive.ID: nil, "winters": {"inactive"},
	} {
		want = slices.Clone(want)
		slices.Sort(want)
		same(p, p.found(text, names), want, "what the search %q finds", text)
	}
	for _, nothing := range []string{"", " ", "\t\u200b"} {
		same(p, len(p.found(nothing, names)), len(names), "the number of coupons that the search %q finds", nothing)
	}
}

func searchFolds(p *probe) {
	names := p.shelf("Größe – ½ price", "else")
	for created, typed := range map[string][]string{
		"straße10":  {"straße10", "STRASSE10", " strasse10 ", "ｓｔｒａße１０", "stra\u00adße10", "STRAẞE10", "raße"},
		"ＡＢＣ":       {"ＡＢＣ", "abc", "\tABC\u3000", "ab", "\ufeffabc"},
		"été-7":     {"été-7", "e\u0301te\u0301-7", "ÉTÉ\u20137", "\u200bété", "TÉ\u22127"},
		"İNDİRİM10": {"İNDİRİM10", "indirim10", "ındırım10", "i\u0307ndi"},
	} {
		c := p.coupon(named(created), coded(p.code(created)))
		names[c.ID] = created
		for _, text := range typed {
			same(p, p.found(text, names), []string{created}, "what the search %+q finds", text)
		}
	}
	for _, text := range []string{"größe", "GRO\u0308SSE", "- 1⁄2 PRICE", "\u2014 ½"} {
		same(p, p.found(text, names), []string{"Größe – ½ price"}, "what the search %+q finds", text)
	}
}

func searchLiterally(p *probe) {
	all := []string{"100% off", "100 off", "a_b", "axb", `c\d`, "c/d", `it's`, `say "x"`, "[a-z]", "a*b?", "end%", "$1", `\%`, "--", ";"}
	names := p.shelf(all...)
	for _, text := range []string{
		"%", "_", "0%", "%o", "a_b", "_b", `\`, `\%`, `\_`, `c\d`, `'`, `''`, `"`, "[a-z]", "[", "*", "?", "a*b?", ".*", "$1", "--", ";", "%%", "__", "^", "|", "%off", "1_0",
	} {
		var want []string
		for _, name := range all {
			if strings.Contains(name, text) {
				want = append(want, name)
			}
		}
		// The codes of these coupons have letters, digits and "-" only.
		slices.Sort(want)
		same(p, p.found(text, names), want, "what the search %q finds", text)
	}
}

// longestCodeIsFound searches for the whole of a code that is as long as codes may be.
func longestCodeIsFound(p *probe) {
	code := strings.Repeat("Ж", coupon.MaxCodeLength)
	c := p.coupon(coded(p.code(code)))
	page, err := p.s.ListCoupons(p.Context(), store.CouponList{Search: strings.ToLower(code)})
	p.ok(err, "ListCoupons")
	same(p, page, store.CouponPage{Items: []coupon.Coupon{c}, Total: 1}, "what the search for a code of %d characters finds", coupon.MaxCodeLength)
}
