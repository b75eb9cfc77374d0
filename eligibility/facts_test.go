package eligibility_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/validation"
)

// Every fact has its form, and every fault is named.
func TestTheFormsOfFacts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                                "",
		`null`:                              "",
		`{"country":"DE","channel":"web"}`:  "",
		`{"country":"de"}`:                  "country: a country is an ISO 3166-1 code of two upper-case letters",
		`{"country":"DEU","channel":7}`:     "channel: must be text",
		`{"contry":"DE"}`:                   "contry: there is no such field",
		`{"country":"D1","channel":"LONG"}`: "country: a country is an ISO 3166-1 code of two upper-case letters; channel: at most 64 characters",
		`{"country":"","channel":"Läden"}`:  "",
		`["DE"]`:                            "a JSON object is expected",
	} {
		facts := eligibility.Facts{Country: "FR"}
		err := json.Unmarshal([]byte(strings.ReplaceAll(text, "LONG", strings.Repeat("é", 65))), &facts)
		if want == "" {
			require.NoError(t, err, text)
			require.NotEqual(t, "FR", facts.Country)
			continue
		}
		require.ErrorIs(t, err, validation.ErrInvalid, text)
		require.ErrorContains(t, err, want, text)
		require.Equal(t, "FR", facts.Country)
	}
	require.ErrorContains(t, eligibility.Facts{Channel: "\xff"}.Validate(), "channel: must be valid UTF-8 text")
	require.NoError(t, eligibility.Facts{Channel: strings.Repeat("é", 64)}.Validate())
}

// What is written is read again, and absent facts have no member.
func TestFactsInJSON(t *testing.T) {
	t.Parallel()
	for _, facts := range []eligibility.Facts{{}, {Country: "DE"}, {Channel: "store"}, {Country: "AT", Channel: "app"}} {
		text, err := json.Marshal(facts)
		require.NoError(t, err)
		var read eligibility.Facts
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, facts, read)
		require.Equal(t, facts.IsZero(), string(text) == "{}")
	}
}
