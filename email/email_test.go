package email_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 4.4.
func TestAddresses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	for text, want := range map[string]string{
		"ann@example.org":                     "ann@example.org",
		" Ann@Example.ORG\r\n":                "ann@example.org",
		"\u00a0ann@example.org":               "ann@example.org",
		"a.b+c_d-e'f!#$%&/=?^`{|}~@x.io":      "a.b+c_d-e'f!#$%&/=?^`{|}~@x.io",
		"JÜRGEN@BÜCHER.example":               "jürgen@bücher.example",
		"用户@例え.jp":                            "用户@例え.jp",
		"a@1.2x":                              "a@1.2x",
		"a@b.c":                               "a@b.c",
		"a@xn--bcher-kva.example":             "a@xn--bcher-kva.example",
		long + "@example.org":                 long + "@example.org",
		"a@" + strings.Repeat("y", 63) + ".z": "a@" + strings.Repeat("y", 63) + ".z",
		"\u212Aim@example.org":                "\u212Aim@example.org", // the Kelvin sign is not the letter
		"\u0130da@example.org":                "\u0130da@example.org", // nor is the dotted I
	} {
		if got, err := email.Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"ann", "@", "ann@", "@example.org", "ann@@example.org@", "a@b@c", "ann example@example.org", "ann@exam ple.org",
		".ann@example.org", "ann.@example.org", "a..b@example.org", `"ann"@example.org`, "Ann <ann@example.org>",
		"ann@example.org, bob@example.org", "ann@example.org;", "ann@.org", "ann@org.", "ann@a..b", "ann@-a.org", "ann@a-.org",
		"ann@a_b.org", "ann@[127.0.0.1]", "ann@a/b", "ann\x00@example.org", "ann\u200b@example.org", "ann\u202e@example.org",
		"ann@exam\u200bple.org", "ann@exam\ufe0fple.org", "ann@exam\u3164ple.org", "ann@example.org\x00", "ann\xff@example.org",
		"ann@exam\xffple.org", "ann\n@example.org", "ann@½.org", "(c)ann@example.org", `a\b@example.org`,
		"ann@example", "ann@localhost", "a@1.2", "ann@127.0.0.1", "ann@example.org.", "ann@例え", // nobody is reached there
		"*", "*@*", "*@example.org", "a*@x.org", "*a@x.org", "ann@*.org", // these are for allow-lists, if at all
		long + "x@example.org", "a@" + strings.Repeat("y", 64) + ".z",
	} {
		got, err := email.Parse(text)
		if code(t, err) != validation.Malformed || got != "" {
			t.Errorf("Parse(%q) = %q, %v", text, got, err)
		}
		if len(err.Error()) > 300 {
			t.Errorf("%d bytes of error", len(err.Error()))
		}
	}
	tooLong := "a@" + strings.Repeat(strings.Repeat("y", 62)+".", 4) + "z"
	_, err := email.Parse(tooLong)
	require.Equal(t, validation.TooLong, code(t, err))
	_, err = email.Parse("  ")
	require.Equal(t, validation.Required, code(t, err))
}

// A letter outside ASCII whose lower case is inside it would make one person's
// address another's.
func TestNoForeignLetterBecomesAnASCIIOne(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		normalised := email.Normalize("x" + string(r) + "x")
		if strings.Trim(normalised, "abcdefghijklmnopqrstuvwxyz") == "" {
			t.Errorf("%U becomes %q", r, normalised)
		}
		if again := email.Normalize(normalised); again != normalised {
			t.Errorf("%U: %q, and again %q", r, normalised, again)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                 nil,
		" ,\n,\r\n":                        nil,
		"a@x.org":                          {"a@x.org"},
		"a@x.org,b@x.org":                  {"a@x.org", "b@x.org"},
		"a@x.org\nb@x.org\r\n":             {"a@x.org", "b@x.org"},
		" a@x.org ,\n\n b@x.org,":          {"a@x.org", "b@x.org"},
		"a@x.org b@x.org":                  {"a@x.org b@x.org"}, // spaces separate nothing
		"a@x.org;b@x.org":                  {"a@x.org", "b@x.org"},
		"a@x.org\tb@x.org\t;\n\n":          {"a@x.org", "b@x.org"},
		"a@x.org\rb@x.org":                 {"a@x.org", "b@x.org"},
		"Ann <a@x.org>; B <b@x.org>":       {"Ann <a@x.org>", "B <b@x.org>"},
		` "Doe, Ann" <a@x.org>,b@x.org`:    {`"Doe, Ann" <a@x.org>`, "b@x.org"},
		"\"open, a@x.org\nb@x.org,c@x.org": {`"open, a@x.org`, "b@x.org", "c@x.org"},
		`o"n@x.org,b@x.org`:                {`o"n@x.org`, "b@x.org"},
		"*@x.org, a@y.org":                 {"*@x.org", "a@y.org"},
		"\u00a0a@x.org\u3000":              {"a@x.org"},
	} {
		if diff := cmp.Diff(want, email.Split(text)); diff != "" {
			t.Errorf("Split(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"ann@example.org", " A@B ", "a@b@c", "\u212A@x", "a@\xff", "ann\u200b@x.org", "用户@例え.jp", ".a@b", "a@-b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, err := email.Parse(text)
		if err != nil {
			if !errors.Is(err, validation.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		if again, err := email.Parse(address); err != nil || again != address {
			t.Errorf("%q is %q, and again %q, %v", text, address, again, err)
		}
		if own, _ := email.Entries(text); own != address {
			t.Errorf("%q has the entry %q", text, own)
		}
		if strings.ContainsFunc(address, unicode.IsSpace) || strings.ContainsAny(address, ",\n\x00*") || !strings.Contains(address, ".") || len(address) > 254 {
			t.Errorf("%q is accepted", text)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"", "a@x.org,b@x.org", "a\n\n,b\r\nc", `"Doe, Ann" <a@x.org>; b`, `"`, "\xff,\x00", " , "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := email.Split(text)
		for _, entry := range list {
			if entry == "" || strings.ContainsAny(entry, "\r\n") || !strings.Contains(text, entry) ||
				strings.ContainsAny(entry, ",;\t") && entry[0] != '"' {
				t.Errorf("%q has the entry %q", text, entry)
			}
		}
		if again := email.Split(strings.Join(list, "\n")); !slices.Equal(again, list) {
			t.Errorf("%q splits into %q, and again into %q", text, list, again)
		}
	})
}

// What is wrong with an address is said of the part in which it is.
func TestFaultsOfAddressesAreForPeople(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ann":              "the @ is missing",
		"@example.org":     "the part before the @ has 1 to 64 characters",
		".ann@x.org":       "the part before the @ is malformed",
		"ann@":             "the part after the @ is no domain",
		"\xff@example.org": "it is not valid UTF-8",
	} {
		_, err := email.Parse(text)
		require.ErrorContains(t, err, want)
	}
}

// code returns the code of the only fault.
func code(tb testing.TB, err error) validation.Code {
	tb.Helper()
	var faults *validation.Error
	require.ErrorAs(tb, err, &faults)
	require.Len(tb, faults.Fields, 1)
	require.Empty(tb, faults.Fields[0].Path)
	return faults.Fields[0].Code
}

// What people paste, entry by entry.
func TestEntriesOfAnAllowList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"*@Example.ORG":                "*@example.org",
		" *@bücher.example\n":          "*@bücher.example",
		"<*@example.org>":              "*@example.org",
		"Ann Doe <Ann@Example.org>":    "ann@example.org",
		`"Doe, Ann" <ann@example.org>`: "ann@example.org",
		"<ann@example.org>":            "ann@example.org",
		"ann@x.org <ann@X.org>":        "ann@x.org",
		"'ann@x.org' <ann@x.org>":      "ann@x.org",
		`"Ann@x.org" <ann@x.org>`:      "ann@x.org",
		`"5* Ann" <ann@x.org>`:         "ann@x.org",
		`Ann "the\tboss" <ann@x.org>`:  "ann@x.org",
	} {
		if entry, err := email.ParseEntry(text); err != nil || entry != want {
			t.Errorf("%q is the entry %q, %v; want %q", text, entry, err, want)
		}
	}
	const wildcard, separators = "accepted only as in *@example.org", "commas, semicolons, tabs or new lines"
	for text, want := range map[string]string{
		"*": wildcard, "*@*.org": wildcard, "*@*": wildcard, "a*@x.org": wildcard, "**@x.org": wildcard, "ann@*.org": wildcard, "*.x.org": wildcard,
		"*@x@y.org": separators, "*@localhost": "no dot", "*@": "no domain", "*@.org": "no domain", "*@-x.org": "no domain", "*@10.0.0.1": "number",
		"@example.org": "before the @", "ann@localhost": "no dot", "ann@example": "no dot",
		"a@x.org b@x.org": separators, "a@x.org|b@x.org": separators, "a@x.org, b@x.org": separators, "a@x.org;b@x.org": separators,
		"Ann <a@x.org> Bob <b@x.org>": separators, "a@x.org <b@x.org>": separators, "a@x.org\nBob <b@x.org>": separators,
		"a@x.org, Bob <b@x.org>": separators, "Ann <>": "", "Ann <a@x.org": "", "a@x.org>": "", "Ann": "the @ is missing", ">": "", "<": "",
	} {
		_, err := email.ParseEntry(text)
		if code(t, err) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	_, err := email.ParseEntry("*@" + strings.Repeat(strings.Repeat("y", 60)+".", 5) + "org")
	require.Equal(t, validation.TooLong, code(t, err))
	for _, nobody := range []string{"", "@example.org", "ann\xff@example.org", "ann\x00@example.org"} {
		own, domain := email.Entries(nobody)
		require.Equal(t, []string{email.Normalize(nobody), ""}, []string{own, domain}, "no domain entry can match")
	}
}
