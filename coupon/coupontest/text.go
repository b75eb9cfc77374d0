package coupontest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/email"
)

// hostile are texts that often break software.
var hostile = []string{
	"", " ", "\t\r\n", "\x00", "a\x00b", "\x1b[31m", "\x7f", "\u0085",
	"\xff", "a\xc3\x28", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\ufffd", "\ufeff",
	"'", `"`, `\`, "`", "'; DROP TABLE coupons; --", `{"code":"X"}`, "<script>", "%", "_", "%_%", `\%`, "$1", "?", "${x}",
	"null", "NaN", "1e400", "-0", "0x10", "٣", "½", "１０",
	"ß", "ẞ", "ŉ", "ǰ", "ﬁ", "ﬀ", "İ", "ı", "i̇", "K", "Å", "ς", "Ω", "ǆ", "ǅ", "ა",
	"é", "e\u0301", "\u0301", "a\u0345\u0307", "Z͑ͫ̓a̴l̶g̷o", "각", "\u1100\u1161\u11a8",
	"\u200b", "a\u200bb", "\u200d", "\u2060", "\u00ad", "\u034f", "\u115f", "\u3164", "\u2800", "\ufe0f", "\U000e0041",
	"\u202eabc", "abc\u202c", "\u2066x\u2069", "\u061c", "עברית", "العربية",
	"\u00a0", "a\u00a0b", "\u2003", "\u3000", "\u2028", "\u180e", "´", "¨a",
	"ＳＵＭＭＥＲ", "𝐀𝐁", "①", "㎏", "ﷺ", "👩‍👩‍👧", "🇪🇺", "\U000100a8\u0301", "\U0010ffff", "\ue000", "\u0378",
	"cpn_x", "CPN_X", "ann@example.org", `"a b"@example.org`, "a@b@c", "a@[127.0.0.1]", "@", "a@", "a@x..y",
	"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "2026-02-30", "2016-12-31T23:59:60Z",
}

// Hostile draws text that software stumbles over: control characters, text that is not UTF-8, quotes and wildcards of
// SQL, letters whose upper case is longer or unexpected, combining, invisible and right-to-left characters, white space
// of all kinds, compatibility forms, very long text, and any mixture. Nothing is promised of it, least of all that it
// is valid.
func Hostile() *rapid.Generator[string] {
	known := rapid.SampledFrom(hostile)
	return rapid.OneOf(
		known,
		rapid.Map(rapid.SliceOfN(known, 2, 6), func(parts []string) string { return strings.Join(parts, "") }),
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Custom(func(t *rapid.T) string {
			length := rapid.SampledFrom([]int{63, 64, 65, 254, 255, 256, 2_000, 2_001, 5_000}).Draw(t, "length")
			return strings.Repeat(known.Draw(t, "repeated"), length)
		}),
	)
}

// Text draws text that a name, a description or an item ID may be: 1 to most code points of valid UTF-8 without control
// characters, not blank. Otherwise it is as hostile as it gets.
func Text(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(Hostile().Draw(t, "text"), "?"))
		if utf8.RuneCountInString(text) > most {
			text = string([]rune(text)[:most])
		}
		if strings.TrimSpace(text) == "" {
			return "x"
		}
		return text
	})
}

// Code draws a code: of ASCII mostly, but also of letters beyond it, and of 1 and of [coupon.MaxCodeLength] characters.
func Code() *rapid.Generator[coupon.Code] {
	ascii := rapid.StringMatching(`[A-Z0-9][A-Z0-9!-~]{0,20}`)
	beyond := rapid.SampledFrom([]string{
		"DANKEFÜR100", "STRASSE", "ΠΡΟΣΦΟΡΆ", "СКИДКА", "夏10", "PROMOÇÃO", "ÅR", "İNDİRİM", "הנחה", "خصم١٠",
	})
	return rapid.Custom(func(t *rapid.T) coupon.Code {
		text := rapid.OneOf(ascii, ascii, beyond, rapid.Custom(func(t *rapid.T) string {
			length := rapid.SampledFrom([]int{1, 2, coupon.MaxCodeLength - 1, coupon.MaxCodeLength}).Draw(t, "length")
			return strings.Repeat(rapid.SampledFrom([]string{"A", "Ü", "夏", "'", "%"}).Draw(t, "repeated"), length)
		})).Draw(t, "code")
		code, err := coupon.ParseCode(strings.ToUpper(text))
		if err != nil {
			t.Fatalf("drew an impossible code %q: %v", text, err)
		}
		return code
	})
}

// Spelling draws a text that customers may type for the code: in upper, lower or mixed case, in full-width forms, with
// white space around it.
func Spelling(code coupon.Code) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := []rune(code.String())
		switch rapid.SampledFrom([]string{"as it is", "lower", "mixed", "wide"}).Draw(t, "spelling") {
		case "lower":
			for i, r := range text {
				text[i] = lower(r)
			}
		case "mixed":
			for i, r := range text {
				if rapid.Bool().Draw(t, "lower") {
					text[i] = lower(r)
				}
			}
		case "wide":
			for i, r := range text {
				text[i] = wide(r)
			}
		}
		space := rapid.SampledFrom([]string{"", "", " ", "\t", "\r\n", "\u00a0", "\u3000"})
		return space.Draw(t, "before") + string(text) + space.Draw(t, "after")
	})
}

// lower returns the lower case of a letter if its upper case is that letter again. It does not change
// others, such as the dotted capital I, whose lower case is the common i.
func lower(r rune) rune {
	if low := unicode.ToLower(r); unicode.ToUpper(low) == r {
		return low
	}
	return r
}

// wide returns the full-width form of printable ASCII.
func wide(r rune) rune {
	if r > ' ' && r <= '~' {
		return r - '!' + '！'
	}
	return r
}

// Email draws an address in its normalized form. The people and the hosts are few, so that two draws may be the same.
func Email() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		local := rapid.SampledFrom([]string{"ann", "bob", "a.b+c", "o'neil", "jürgen", "用户", strings.Repeat("x", 63)}).Draw(t, "local part")
		return fmt.Sprintf("%s%d@%s", local, rapid.IntRange(0, 9).Draw(t, "number"),
			rapid.SampledFrom([]string{"example.org", "example.com", "mail.example.net", "bücher.example", "xn--bcher-kva.example"}).Draw(t, "host"))
	})
}

// EmailEntry draws an entry of an allow-list in its normalized form: an address as [Email] draws it, and at times the
// domain of one.
func EmailEntry() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		address := Email().Draw(t, "address")
		if _, domain := email.Entries(address); rapid.IntRange(0, 5).Draw(t, "domain") == 0 {
			return domain
		}
		return address
	})
}
