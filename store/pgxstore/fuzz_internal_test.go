package pgxstore

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/store"
)

// FuzzNamespace: a schema that is accepted makes exactly one quoted name of a schema and one
// of a table, whatever signs it holds.
func FuzzNamespace(f *testing.F) {
	for _, seed := range []string{"", "public", `a"b`, `c"."d`, "ä", "a;DROP", "--", "$$", "$1", "a\x00", "\xff", strings.Repeat("s", 63), "{coupons}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		options := Options{Schema: schema}
		if options.validate() != nil {
			return
		}
		names, rest := quotedNames(options.expand(`SELECT {coupons} FROM`))
		if diff := cmp.Diff([]string{options.schema(), "coupons"}, names); diff != "" || rest != "SELECT . FROM" {
			t.Errorf("%q leaves %q (-want +got):\n%s", schema, rest, diff)
		}
		if name := names[0]; name == "" || len(name) > 63 || strings.ContainsAny(name, "\x00$") {
			t.Errorf("%q is no name", name)
		}
	})
}

// quotedNames reads a statement as PostgreSQL does: names between quotes, in which two quotes
// are one, and what is left.
func quotedNames(statement string) (names []string, rest string) {
	for {
		before, after, found := strings.Cut(statement, `"`)
		rest += before
		if !found {
			return names, rest
		}
		var name strings.Builder
		for {
			part, more, closed := strings.Cut(after, `"`)
			name.WriteString(part)
			if !closed {
				return append(names, name.String()), rest + "unclosed"
			}
			after = more
			if !strings.HasPrefix(more, `"`) {
				break
			}
			name.WriteByte('"')
			after = more[1:]
		}
		names, statement = append(names, name.String()), after
	}
}

// FuzzLikePattern: LIKE finds with the pattern what holds the text, letter case aside. likes
// is LIKE as PostgreSQL's manual describes it.
func FuzzLikePattern(f *testing.F) {
	for _, seed := range [][2]string{{"10% off", "0%"}, {"a_b", "_"}, {`c\d`, `\`}, {"Straße", "STRASSE"}, {"", ""}, {"x", "%"}, {"ab", "_"}, {`\%`, `\%`}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, search string) {
		if !store.IsText(text) || !store.IsText(search) || len(text) > 200 || len(search) > 50 {
			return
		}
		want := strings.Contains(store.Fold(text), store.Fold(search))
		if got := likes([]rune(store.Fold(text)), []rune(likePattern(search))); got != want {
			t.Errorf("%q in %q: LIKE says %t", search, text, got)
		}
		if names, rest := quotedNames(pgx.Identifier{text}.Sanitize()); len(names) != 1 || names[0] != text || rest != "" {
			t.Errorf("%q is quoted as %q", text, names)
		}
	})
}

func likes(text, pattern []rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch pattern[0] {
	case '%':
		for i := range len(text) + 1 {
			if likes(text[i:], pattern[1:]) {
				return true
			}
		}
		return false
	case '_':
		return len(text) > 0 && likes(text[1:], pattern[1:])
	case '\\':
		return len(pattern) > 1 && len(text) > 0 && text[0] == pattern[1] && likes(text[1:], pattern[2:])
	}
	return len(text) > 0 && text[0] == pattern[0] && likes(text[1:], pattern[1:])
}
