package coupon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 4.1, clause by clause.
func TestTheKeyOfACode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"SUMMER10": "SUMMER10",
		// upper-cased
		"summer10":    "SUMMER10",
		"dankefür100": "DANKEFÜR100",
		"straße":      "STRASSE",
		"STRAẞE":      "STRASSE",
		"ﬁve":         "FIVE",
		"ıstanbul":    "ISTANBUL",
		"İstanbul":    "ISTANBUL",
		"i̇stanbul":   "ISTANBUL", // the lower case of the line above
		"İNDİRİM10":   "INDIRIM10",
		"ındırım10":   "INDIRIM10",
		// dashes
		"A\u2010B": "A-B", "A\u2011B": "A-B", "A\u2012B": "A-B", "A\u2013B": "A-B", "A\u2014B": "A-B", "A\u2015B": "A-B", "A\u2212B": "A-B",
		"A\ufe58B": "A-B", "A\ufe63B": "A-B", "A\uff0dB": "A-B",
		// dots that are no steps of a path
		"...": "...", "A.": "A.", "…": "...",
		"ŉ": "ʼN",
		"ς": "Σ",
		"ǆ": "DŽ",
		// NFKC
		"ＳＵＭＭＥＲ１０":             "SUMMER10",
		"ｓｕｍｍｅｒ１０":             "SUMMER10",
		"𝐒𝐔𝐌𝐌𝐄𝐑①⓪":             "SUMMER10",
		"e\u0301TE10":          "ÉTE10",
		"\u212Bngstro":         "ÅNGSTRO", // Angstrom sign
		"\u212Aelvin":          "KELVIN",  // Kelvin sign
		"½":                    "1⁄2",
		"\U00011099\U000110ba": "\U0001109a",       // Kaithi, which is composed
		"\U00010041\u0301":     "\U00010041\u0301", // not Á
		"\U0001043d\u0308":     "\U00010415\u0308", // not Ё
		"\u1099\U000110ba":     "\u1099\U000110ba", // not of Kaithi
		"\u05d2\u0307":         "\u05d2\u0307",     // not of Todhri
		// capitals that later versions of Unicode add to a letter of Unicode 15.0
		"\u026410": "\u026410", "\ua7cb10": "\u026410", "\ua7d310": "\ua7d310", "\ua7d210": "\ua7d310",
		"\ua7d510": "\ua7d510", "\ua7d410": "\ua7d510", "\u019b10": "\u019b10", "\ua7dc10": "\u019b10",
		// surrounding white space trimmed
		"  SUMMER10\t\r\n":       "SUMMER10",
		"\u00a0SUMMER10\u3000":   "SUMMER10",
		"\u2003SUMMER10\u2028":   "SUMMER10",
		"´" + "A":                "\u0301A", // the accent decomposes to a space with a mark
		"OFF%_'\";--\\<script>/": "OFF%_'\";--\\<SCRIPT>/",
		"cpn_abc":                "CPN_ABC", // no ID
	} {
		got, err := coupon.ParseCode(typed)
		if err != nil || got.String() != want {
			t.Errorf("ParseCode(%+q) = %+q, %v; want %+q", typed, got, err, want)
		}
	}
}

func TestWhatIsNoCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]validation.Code{
		"":                             validation.Required,
		" \t\u00a0":                    validation.Required,
		"SUMMER 10":                    validation.Malformed,
		".":                            validation.Malformed,
		"/":                            validation.Malformed,
		" ..\n":                        validation.Malformed,
		"．":                            validation.Malformed, // full-width
		"\u2025":                       validation.Malformed, // two dots in one character
		"SUMMER\u00a010":               validation.Malformed,
		"SUMMER\u300010":               validation.Malformed,
		"A\n":                          "",
		"A\nB":                         validation.Malformed,
		"A¨":                           validation.Malformed, // decomposes to white space inside
		"ﷺ":                            validation.Malformed, // a phrase of four words
		"SUMMER\u200b10":               validation.Malformed, // zero-width
		"\ufeffSUMMER10":               validation.Malformed,
		"SUMMER10\u2060":               validation.Malformed,
		"A\u200dB":                     validation.Malformed,
		"A\u00adB":                     validation.Malformed,
		"A\u034fB":                     validation.Malformed,
		"A\ufe0f":                      validation.Malformed, // variation selector
		"A\U000e0100":                  validation.Malformed,
		"A\u3164":                      validation.Malformed, // Hangul filler: a letter
		"A\uffa0":                      validation.Malformed, // half-width filler
		"A\u2800":                      validation.Malformed, // Braille blank: a sign
		"A\u180e":                      validation.Malformed,
		"\u202eSUMMER":                 validation.Malformed, // bidirectional override
		"\u2066A\u2069":                validation.Malformed,
		"A\u061c":                      validation.Malformed,
		"A\x00B":                       validation.Malformed,
		"\x1bA":                        validation.Malformed,
		"A\x7f":                        validation.Malformed,
		"A\u0080":                      validation.Malformed,
		"A\ue000":                      validation.Malformed, // private use
		"A\u0378":                      validation.Malformed, // unassigned
		"A\U0010ffff":                  validation.Malformed,
		"A\ufffd":                      validation.Malformed,
		"A\xff":                        validation.Malformed,
		"\xed\xa0\x80":                 validation.Malformed, // half a surrogate pair
		"\xc0\x80":                     validation.Malformed, // overlong NUL
		"A\U0001fae9":                  validation.Malformed, // of Unicode 16.0
		"A\U000105c9":                  validation.Malformed, // of Unicode 16.0, a composed letter
		strings.Repeat("A", 256):       validation.TooLong,
		strings.Repeat("a", 256):       validation.TooLong,
		strings.Repeat("ß", 128):       validation.TooLong, // 256 once upper-cased
		strings.Repeat("ﬃ", 86):        validation.TooLong, // 258 once normalized
		strings.Repeat("A", 5_000_000): validation.TooLong,
	} {
		_, err := coupon.ParseCode(typed)
		if got := fieldCodes(t, err)["code"]; got != want {
			t.Errorf("ParseCode(%+.40q) = %v; want code %q", typed, err, want)
		}
	}
}

// The bound counts code points of the key, not of what was typed, and not bytes.
func TestTheBoundIsThatOfTheKey(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]string{
		"ASCII":                       strings.Repeat("A", 255),
		"four bytes a letter":         strings.Repeat("𝐀", 255),
		"letters of several parts":    strings.Repeat("\u1100\u1161\u11a8", 255),
		"a letter that grows":         strings.Repeat("ß", 127) + "X",
		"much white space around":     strings.Repeat(" ", 100_000) + "A" + strings.Repeat("\u3000", 100_000),
		"letters that cannot compose": strings.Repeat("夏", 255),
	} {
		code, err := coupon.ParseCode(typed)
		require.NoError(t, err, name)
		if n := utf8.RuneCountInString(code.String()); n > coupon.MaxCodeLength {
			t.Errorf("%s: %d code points", name, n)
		}
		_, err = coupon.ParseCode(strings.TrimSpace(typed) + strings.Repeat("X", 255))
		if fieldCodes(t, err)["code"] != validation.TooLong {
			t.Errorf("%s and 255 more: %v", name, err)
		}
	}
}

// checkKey returns what is wrong with a key, if anything.
func checkKey(key string) error {
	again, err := coupon.ParseCode(key)
	switch {
	case err != nil:
		return fmt.Errorf("the key %+q is no code: %w", key, err)
	case again.String() != key:
		return fmt.Errorf("the key of the key %+q is %+q", key, again)
	case unicode15.NFKC(key) != key:
		return fmt.Errorf("the key %+q is not NFKC", key)
	case key == "" || utf8.RuneCountInString(key) > 255:
		return fmt.Errorf("the key %+q has %d code points", key, utf8.RuneCountInString(key))
	case strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return fmt.Errorf("the key %+q has white space or control characters", key)
	}
	return nil
}

func TestTheKeyCheckerNotices(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"", "a", "A B", " A", "e\u0301", "Ａ", "ß", "A\u200b", strings.Repeat("A", 256), "\xff"} {
		if checkKey(broken) == nil {
			t.Errorf("%+q passes for a key", broken)
		}
	}
}

// Every character there is, alone and in company. Those that are unassigned,
// private or invisible are in no key at all.
func TestAKeyIsItsOwnKey(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode15.Assigned(r) || unicode.Is(unicode.Cf, r) {
			if r%64 == 0 && !isRefused("A"+string(r)+"B") {
				t.Errorf("%U is accepted", r)
			}
			continue
		}
		for _, typed := range []string{string(r), "A" + string(r), string(r) + "\u0301", string(r) + "\u0345\u0307"} {
			if code, err := coupon.ParseCode(typed); err == nil {
				if err := checkKey(code.String()); err != nil {
					t.Errorf("typed %+q: %v", typed, err)
				}
			}
		}
	}
}

// The digest is the same on every Go toolchain, whatever version of Unicode its tables have.
func TestKeysAreTheSameOnEveryToolchain(t *testing.T) {
	t.Parallel()
	const want = "3881dae44733932fca43c3e8083931eccc3a2199731a0b647519b1630214eb06"
	all := sha256.New()
	write := func(texts ...string) {
		_, err := io.WriteString(all, strings.Join(texts, "\x00")+"\n")
		require.NoError(t, err)
	}
	for r := range rune(0x32000) {
		if plain := r >= 0x3400 && r < 0xA000 || r >= 0xAC00 && r < 0xF900 || r >= 0x12000 && r < 0x1D000 || r >= 0x20000 && r < 0x2F800; plain {
			continue // ideographs and syllables
		}
		for _, typed := range []string{"a" + string(r), "\u05d2" + string(r), string(r) + "\u0301"} {
			code, codeErr := coupon.ParseCode(typed)
			address, emailErr := email.Parse(typed + "@" + typed + ".example")
			own, domain := email.Entries(typed + "@" + typed)
			write(typed, code.String(), strconv.FormatBool(codeErr == nil), address, strconv.FormatBool(emailErr == nil), coupon.Fold(typed), own, domain)
		}
	}
	require.Equal(t, want, hex.EncodeToString(all.Sum(nil)))
}

func isRefused(typed string) bool {
	_, err := coupon.ParseCode(typed)
	return err != nil
}

func TestParseCodeOnHostileText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typed := coupontest.Hostile().Draw(t, "typed")
		code, err := coupon.ParseCode(typed)
		if err != nil {
			if !errors.Is(err, validation.ErrInvalid) || !code.IsZero() {
				t.Errorf("%+q: code %q, error %v", typed, code, err)
			}
			return
		}
		if err := checkKey(code.String()); err != nil {
			t.Errorf("typed %+q: %v", typed, err)
		}
	})
}

// However a customer spells a code, it is the same one; another code never is.
func TestSpellingsAreOneCode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := coupontest.Code().Draw(t, "code")
		typed := coupontest.Spelling(code).Draw(t, "typed")
		got, err := coupon.ParseCode(typed)
		if err != nil || got != code || !got.Equal(code) {
			t.Errorf("%+q is %q, %v; want %q", typed, got, err, code)
		}
		other := code.String() + "X"
		if len(other) < 250 {
			if got, err := coupon.ParseCode(other); err != nil || got == code {
				t.Errorf("%q is %q, %v", other, got, err)
			}
		}
	})
}

func TestCodesAndIDsNeverMeet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(coupontest.ID(), coupontest.Hostile()).Draw(t, "text")
		if code, err := coupon.ParseCode(text); err == nil && coupon.IsID(code.String()) {
			t.Errorf("the code %q is an ID", code)
		}
	})
	for text, want := range map[string]bool{
		"cpn_1": true, "cpn_": false, "": false, "CPN_1": false, " cpn_1": false, "cpn_a b": false, "cpn_\x00": false,
		"cpn_ü": false, "cpn_" + strings.Repeat("x", 60): true, "cpn_" + strings.Repeat("x", 61): false,
	} {
		if coupon.IsID(text) != want {
			t.Errorf("IsID(%q) = %t", text, !want)
		}
	}
}

// What is stored is read as it stands: no version of this library refuses or changes the key of
// another.
func TestCodeAsText(t *testing.T) {
	t.Parallel()
	var code coupon.Code
	for _, key := range []string{"TEN", "SALE\U0001fae9", "\ua7cb10", " ten ", "t n"} { // whatever another version made
		require.NoError(t, code.UnmarshalText([]byte(key)))
		text, err := code.MarshalText()
		require.NoError(t, err)
		require.Equal(t, key, string(text))
		require.Equal(t, coupon.StoredCode(key), code)
	}
	require.NoError(t, code.UnmarshalText(nil))
	if !code.IsZero() {
		t.Errorf("the empty text is the code %q", code)
	}
}

func TestAPlainCodeCostsNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = coupon.ParseCode("SUMMER10") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseCode(f *testing.F) {
	for _, seed := range []string{"summer10", " ＴＥＮ ", "straße", "A\u200bB", "\xff", "\U000100a8\u0301", "´", "i̇", "ŉ", "a\u0345\u0307"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		code, err := coupon.ParseCode(typed)
		if err != nil {
			if !errors.Is(err, validation.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		if err := checkKey(code.String()); err != nil {
			t.Error(err)
		}
	})
}

// fieldCodes returns the faults of a validation error by field, "" for nil.
func fieldCodes(tb testing.TB, err error) map[string]validation.Code {
	tb.Helper()
	if err == nil {
		return map[string]validation.Code{}
	}
	var invalid *validation.Error
	require.ErrorAs(tb, err, &invalid)
	require.ErrorIs(tb, err, validation.ErrInvalid)
	require.NotEmpty(tb, invalid.Fields)
	found := map[string]validation.Code{}
	for _, f := range invalid.Fields {
		if found[f.Path] == f.Code {
			tb.Errorf("%s of %q is reported twice: %v", f.Code, f.Path, err)
		}
		require.NotEmpty(tb, f.Message)
		found[f.Path] = f.Code
	}
	return found
}
