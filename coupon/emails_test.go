package coupon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/validation"
)

func TestEmailListInJSON(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]coupon.EmailList{
		`["A@x.org","b@x.org"]`:         {"A@x.org", "b@x.org"},
		`"a@x.org, b@x.org\nc@x.org"`:   {"a@x.org", "b@x.org", "c@x.org"},
		`""`:                            nil,
		`null`:                          nil,
		`[]`:                            nil,
		` ["a@x.org , not split here"]`: {"a@x.org , not split here"},
	} {
		var got coupon.EmailList
		require.NoError(t, json.Unmarshal([]byte(document), &got), document)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", document, diff)
		}
	}
	for document, field := range map[string]string{`["a@x.org",7]`: "[1]", `{}`: "", `5`: "", `[null]`: "[0]"} {
		var got coupon.EmailList
		if codes := fieldCodes(t, json.Unmarshal([]byte(document), &got)); codes[field] != validation.Malformed {
			t.Errorf("%s: %v", document, codes)
		}
	}
	var l coupon.EmailList
	for _, document := range []string{"", `"`, `"open`} {
		if l.UnmarshalJSON([]byte(document)) == nil {
			t.Errorf("%q is accepted", document)
		}
	}
}

// checkLookUp compares a set with a linear scan of the addresses it was made of.
func checkLookUp(s coupon.EmailSet, addresses []string, asked string) error {
	scanned := slices.ContainsFunc(addresses, func(a string) bool {
		return email.Normalize(a) == email.Normalize(asked) || isOfDomain(asked, a)
	})
	if s.Has(asked) != scanned {
		return fmt.Errorf("Has(%q) is %t, a scan of %q says %t", asked, s.Has(asked), addresses, scanned)
	}
	return nil
}

// isOfDomain reports whether the entry is one of the domain of the address.
func isOfDomain(address, entry string) bool {
	address = email.Normalize(address)
	at := strings.LastIndex(address, "@")
	return at > 0 && utf8.ValidString(address) && !strings.Contains(address, "\x00") && len(address) <= email.MaxLength &&
		email.Normalize(entry) == "*"+address[at:]
}

func TestLookUpEqualsALinearScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		addresses := rapid.SliceOfN(coupontest.EmailEntry(), 0, 20).Draw(t, "addresses")
		set, err := coupon.NewEmailSet(addresses...)
		if err != nil {
			t.Fatal(err)
		}
		asked := rapid.OneOf(coupontest.Email(), coupontest.Hostile()).Draw(t, "asked")
		if len(addresses) > 0 && rapid.Bool().Draw(t, "a member") {
			asked = rapid.SampledFrom(addresses).Draw(t, "member")
		}
		asked = rapid.SampledFrom([]func(string) string{strings.ToUpper, strings.ToLower, strings.TrimSpace}).Draw(t, "form")(asked)
		for _, s := range []coupon.EmailSet{set, set.Narrow(asked)} {
			if err := checkLookUp(s, addresses, asked); err != nil {
				t.Error(err)
			}
			if s.Len() != set.Len() {
				t.Errorf("%d addresses narrow to %d", set.Len(), s.Len())
			}
		}
	})
}

func TestTheLookUpCheckerNotices(t *testing.T) {
	t.Parallel()
	set, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
	require.NoError(t, err)
	if checkLookUp(set, []string{"ann@example.org"}, "bob@example.org") == nil ||
		checkLookUp(coupon.EmailSet{}, []string{"ann@example.org"}, "ANN@example.org") == nil ||
		checkLookUp(set.Narrow("bob@example.org"), []string{"ann@example.org"}, "ann@example.org") == nil {
		t.Error("a wrong answer passes")
	}
}

func TestEmailSet(t *testing.T) {
	t.Parallel()
	set, err := coupon.NewEmailSet("Bob@x.org", "ann@x.org", " BOB@X.ORG")
	require.NoError(t, err)
	want := []string{"bob@x.org", "ann@x.org"}
	if diff := cmp.Diff(want, set.Slice()); diff != "" {
		t.Errorf("duplicates collapse, the order stays (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Collect(set.All())); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}
	set.Slice()[0] = "changed"
	if !set.Has("bob@x.org") || set.Slice()[0] != "bob@x.org" {
		t.Error("the set can be changed from outside")
	}
	_, err = coupon.NewEmailSet("ann@x.org", "nobody", "", "bob@x.org", "nobody")
	if diff := cmp.Diff(map[string]validation.Code{"[1]": "malformed", "[2]": "required", "[4]": "malformed"}, fieldCodes(t, err)); diff != "" {
		t.Errorf("every one that is no address is named (-want +got):\n%s", diff)
	}
	_, err = coupon.NewEmailSet(make([]string, coupon.MaxAllowedEmails+1)...)
	if diff := cmp.Diff(map[string]validation.Code{"": "too_long"}, fieldCodes(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNarrowedEmailSet(t *testing.T) {
	t.Parallel()
	set, err := coupon.NewEmailSet("ann@x.org", "bob@x.org", "cid@x.org")
	require.NoError(t, err)
	member, stranger := set.Narrow(" ANN@x.org"), set.Narrow("dan@x.org")
	if !member.Has("Ann@x.org") || member.Has("bob@x.org") || stranger.Has("dan@x.org") || stranger.Has("") {
		t.Error("a narrowed set answers wrongly")
	}
	if member.Len() != 3 || stranger.Len() != 3 || !member.Narrowed() || !stranger.Narrowed() || set.Narrowed() {
		t.Error("a narrowed set still tells how many addresses there are")
	}
	if len(member.Slice()) != 1 || len(stranger.Slice()) != 0 {
		t.Error("a narrowed set holds only the one address")
	}
	if again := member.Narrow("ann@x.org"); !again.Equal(member) {
		t.Error("narrowing again to the same address changes it")
	}
	if other := member.Narrow("bob@x.org"); other.Has("ann@x.org") || other.Len() != 3 {
		t.Error("narrowing again to another address keeps the first")
	}
	if set.Equal(member) || member.Equal(stranger) || !set.Equal(set) {
		t.Error("Equal ignores what was left out")
	}
	one, err := coupon.NewEmailSet("ann@x.org")
	require.NoError(t, err)
	if one.Narrow("ann@x.org").Narrowed() {
		t.Error("a set of one is whole when narrowed to it")
	}
	for _, empty := range []coupon.EmailSet{coupon.NarrowedEmailSet(0, "ann@x.org"), coupon.NarrowedEmailSet(-1, ""), {}} {
		if empty.Len() != 0 || empty.Narrowed() || empty.Has("ann@x.org") || empty.Has("") {
			t.Errorf("%v is not empty", empty)
		}
	}
	text, err := json.Marshal(member)
	require.NoError(t, err)
	var read coupon.EmailSet
	require.NoError(t, json.Unmarshal(text, &read))
	if string(text) != "null" || !read.Narrowed() || read.Has("ann@x.org") {
		t.Errorf("a part of the list is %s in JSON, and read as %v; it must not pass for the list", text, read.Slice())
	}
}

func TestEmailSetInJSON(t *testing.T) {
	t.Parallel()
	var set coupon.EmailSet
	require.NoError(t, json.Unmarshal([]byte(`"B@x.org,a@x.org"`), &set))
	data, err := json.Marshal(set)
	require.NoError(t, err)
	if string(data) != `["b@x.org","a@x.org"]` {
		t.Errorf("got %s", data)
	}
	if data, err = json.Marshal(coupon.EmailSet{}); err != nil || string(data) != "[]" {
		t.Errorf("the empty set is %s, %v", data, err)
	}
	for _, document := range []string{`["b"]`, `5`} {
		if json.Unmarshal([]byte(document), &set) == nil || set.Len() != 2 {
			t.Errorf("%s is accepted or changes the set", document)
		}
	}
}

// Contract section 4.4: look-up must not scan, 100,000 addresses are normal.
func TestLookUpAllocatesNothing(t *testing.T) {
	set := manyEmails(t, 100_000)
	for _, asked := range []string{"user-99999@example.org", " USER-1@Example.ORG ", "stranger@example.org", "Ann@Example.NET", "@example.net", strings.Repeat("x", 254)} {
		if n := testing.AllocsPerRun(100, func() { set.Has(asked) }); n != 0 {
			t.Errorf("%v allocations for %.30q", n, asked)
		}
	}
}

func manyEmails(tb testing.TB, n int) coupon.EmailSet {
	tb.Helper()
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("user-%d@example.org", i)
	}
	set, err := coupon.NewEmailSet(append(addresses, "*@example.net")...)
	require.NoError(tb, err)
	return set
}

func BenchmarkEmailSetHas(b *testing.B) {
	for _, n := range []int{1, 100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			set := manyEmails(b, n)
			b.ReportAllocs()
			for b.Loop() {
				set.Has("USER-0@example.org")
			}
		})
	}
}

// FuzzAllowList: whatever is accepted as an entry is its own entry, and lets nobody in
// but its address or its domain.
func FuzzAllowList(f *testing.F) {
	for _, seed := range []string{"*@example.org", "Ann <ann@example.org>", `"Doe, Ann" <ann@x.org>`, `"5* Ann" <ann@x.org>`, "a@x.org <b@x.org>", "<*@x.org>", "*", "**@x.org"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := coupon.NewEmailSet(text)
		if err != nil {
			if !errors.Is(err, validation.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		entry := set.Slice()[0]
		if again, err := coupon.NewEmailSet(entry); err != nil || !again.Equal(set) {
			t.Errorf("%q is %q, and again %q, %v", text, entry, again.Slice(), err)
		}
		domain, covered := strings.CutPrefix(entry, "*@")
		star := strings.Contains(text, "*")
		named := strings.Contains(text, "<") // a name may have a star
		if strings.Count(entry, "@") != 1 || strings.Contains(domain, "*") || set.Has("somebody@"+domain) != covered ||
			covered && !star || star && !covered && !named {
			t.Errorf("%q is %q", text, entry)
		}
		for _, stranger := range []string{"ann@sub." + domain, "ann@x" + domain, "ann", "@" + domain, "*" + domain} {
			if covered && set.Has(stranger) {
				t.Errorf("%q lets %q in", entry, stranger)
			}
		}
	})
}

// An allow-list with a domain is kept, written and changed as any other.
func TestADomainOnTheAllowList(t *testing.T) {
	t.Parallel()
	d := ten()
	d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, email.Split("*@Example.ORG; Ann <ann@x.org>")
	text, err := json.Marshal(d)
	require.NoError(t, err)
	var again coupon.Draft
	require.NoError(t, json.Unmarshal(text, &again))
	c, err := coupon.New(again, creation)
	require.NoError(t, err)
	require.Equal(t, []string{"*@example.org", "ann@x.org"}, c.AllowedUserEmails.Slice())
	for address, in := range map[string]bool{
		"bob@example.org": true, " BOB@EXAMPLE.org ": true, "jürgen@example.org": true, "*@example.org": true, `"a@b"@example.org`: true, "ann@x.org": true,
		"bob@x.org": false, "bob@sub.example.org": false, "bob@example.org.": false, "bob@anexample.org": false, "example.org": false,
		"@example.org": false, "": false, "b\x00b@example.org": false, "b\xffb@example.org": false,
		strings.Repeat("b", 300) + "@example.org": false, strings.Repeat("ü", 300) + "@example.org": false,
	} {
		narrowed := c.AllowedUserEmails.Narrow(address)
		if c.AllowedUserEmails.Has(address) != in || narrowed.Has(address) != in || narrowed.Len() != 2 {
			t.Errorf("%q: %t, and %t in a narrowed set of %d", address, c.AllowedUserEmails.Has(address), narrowed.Has(address), narrowed.Len())
		}
	}
	text, err = json.Marshal(c)
	require.NoError(t, err)
	var read coupon.Coupon
	require.NoError(t, json.Unmarshal(text, &read))
	require.True(t, read.AllowedUserEmails.Equal(c.AllowedUserEmails))
	changed, err := c.Apply(coupon.Patch{AllowedUserEmails: coupon.Set(coupon.EmailList{"*@y.org"})}, coupon.Edit{At: noon})
	require.NoError(t, err)
	require.False(t, changed.AllowedUserEmails.Has("bob@example.org"))
	require.True(t, changed.AllowedUserEmails.Has("bob@y.org"))
	one := changed.AllowedUserEmails.Narrow("bob@y.org")
	require.True(t, one.Equal(changed.AllowedUserEmails), "the only entry is the whole list, and not the address that it lets in")
	d.AllowedUserEmails = coupon.EmailList{}
	_, err = coupon.New(d, creation)
	require.Equal(t, validation.Required, fieldCodes(t, err)["allowedUserEmails"])
}

// A request of a few megabytes has a short answer on every path.
func TestAMillionBadAddresses(t *testing.T) {
	t.Parallel()
	const most = 200_000 // bytes
	million := slices.Repeat([]string{"x"}, coupon.MaxAllowedEmails)
	bad := million[:20_000]
	text, err := json.Marshal(bad)
	require.NoError(t, err)
	answers := map[string]func() error{
		"set":   func() error { _, err := coupon.NewEmailSet(million...); return err },
		"draft": func() error { d := ten(); d.AllowedUserEmails = bad; _, err := coupon.New(d, creation); return err },
		"patch": func() error {
			_, err := full(t).Apply(coupon.Patch{AllowedUserEmails: coupon.Set(coupon.EmailList(bad)), Name: coupon.Set("")}, coupon.Edit{At: noon})
			return err
		},
		"array beside a fault": func() error { _, err := newFromJSON(`{"code":7,"allowedUserEmails":` + string(text) + `}`); return err },
		"array of numbers": func() error {
			_, err := newFromJSON(`{"allowedUserEmails":[` + strings.Repeat("7,", len(bad)-1) + `7]}`)
			return err
		},
		"array of numbers in a patch": func() error {
			_, err := applyJSON(full(t), `{"allowedUserEmails":[`+strings.Repeat("7,", len(bad)-1)+`7]}`)
			return err
		},
		"text beside a fault": func() error {
			_, err := applyJSON(full(t), `{"maxUses":"","allowedUserEmails":"`+strings.Repeat("x,", len(bad))+`"}`)
			return err
		},
		"items": func() error {
			d := ten()
			d.AppliesTo, d.PlanIDs, d.Code = coupon.Subscription, make([]string, coupon.MaxSelectedItems), ""
			_, err := coupon.New(d, creation)
			return err
		},
	}
	for name, answer := range answers {
		var faults *validation.Error
		require.ErrorAs(t, answer(), &faults, name)
		written, err := json.Marshal(faults.Fields)
		require.NoError(t, err)
		require.Less(t, len(written), most, name)
		counted := slices.ContainsFunc(faults.Fields, func(f validation.Field) bool { return f.Code == validation.More })
		require.True(t, counted, name)
	}
}

// What is stored is read as it stands.
func TestStoredAllowListsAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	entries := []string{"\ua7cb@example.org", "UPPER@example.org", "no address", "*@\U000105c9.example", "UPPER@example.org"}
	set := coupon.StoredEmailSet(entries...)
	if diff := cmp.Diff(entries[:4], set.Slice()); diff != "" || set.Narrowed() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, entry := range entries[:4] {
		narrowed := coupon.NarrowedEmailSet(3, entry)
		require.Equal(t, []string{entry}, narrowed.Slice())
		require.Equal(t, 3, narrowed.Len())
	}
}
