package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// settings are what the tool knows besides the command line. Secrets never stand on a command line.
type settings struct {
	// Database is the URL of the database, or the path of an SQLite file.
	Database string `json:"database"`
	// Schema is the PostgreSQL schema, TablePrefix the prefix of the tables of other databases. Empty is the default.
	Schema      string `json:"schema"`
	TablePrefix string `json:"tablePrefix"`
	// StripeSecretKey makes changes of coupons and refunds reach Stripe. StripeURL is a stand-in for Stripe.
	StripeSecretKey string `json:"stripeSecretKey"`
	StripeURL       string `json:"stripeUrl"`
	// TimeZone is the IANA name of the zone in which dates begin and end. Empty is UTC.
	TimeZone string `json:"timeZone"`
	// Currency is that of new coupons that name none. Empty is EUR.
	Currency string `json:"currency"`

	location *time.Location
	currency pricing.Currency
}

const maxConfigBytes = 1 << 20

// load reads the settings. A variable of the environment goes before the file. Two databases are refused, because the
// person can have meant either.
func (t *tool) load() error {
	var s settings
	if file := cmp.Or(t.configFile, t.Getenv("COUPONKIT_CONFIG")); file != "" {
		data, err := readPrivate(file)
		if err != nil {
			return usageError{err}
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			return usagef("%s is no JSON object of settings: %s", file, withoutValue(err))
		}
	}
	if env := t.Getenv("COUPONKIT_DATABASE"); env != "" {
		if s.Database != "" && s.Database != env {
			return usagef("COUPONKIT_DATABASE and the settings file name different databases")
		}
		s.Database = env
	}
	for _, v := range [...]struct {
		value *string
		name  string
	}{
		{&s.Schema, "COUPONKIT_SCHEMA"},
		{&s.TablePrefix, "COUPONKIT_TABLE_PREFIX"},
		{&s.StripeSecretKey, "STRIPE_SECRET_KEY"},
		{&s.StripeURL, "STRIPE_API_URL"},
		{&s.TimeZone, "COUPONKIT_TIME_ZONE"},
		{&s.Currency, "COUPONKIT_CURRENCY"},
	} {
		*v.value = cmp.Or(t.Getenv(v.name), *v.value)
	}
	t.keepSecret(s)
	var err error
	if s.location, err = time.LoadLocation(cmp.Or(s.TimeZone, "UTC")); err != nil || s.TimeZone == "Local" {
		return usagef("the time zone %q is no IANA name, such as Europe/Berlin", s.TimeZone)
	}
	if s.currency, err = pricing.ParseCurrency(cmp.Or(s.Currency, "EUR")); err != nil {
		return usagef("the currency %q is no ISO 4217 code", s.Currency)
	}
	t.settings = s
	return nil
}

// withoutValue describes a fault of JSON without the values of the file, which may be secrets.
func withoutValue(err error) string {
	if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return kind.Field + " is a " + kind.Value
	}
	return err.Error()
}

// readPrivate reads a file that nobody but its owner may read.
func readPrivate(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the person names the file
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("settings: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("settings: %s is no file", name)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("settings: others may read or change %s, which may have a password: run chmod 600", name)
	case info.Size() > maxConfigBytes:
		return nil, fmt.Errorf("settings: %s is larger than %d bytes", name, maxConfigBytes)
	}
	return io.ReadAll(io.LimitReader(f, maxConfigBytes))
}

// secretWord finds passwords in parameters of a database's address.
var secretWord = regexp.MustCompile(`(?i)(password|passwd|pwd|sslkey)=([^&\s]+)`)

// keepSecret remembers the texts that are never printed.
func (t *tool) keepSecret(s settings) {
	hide := func(text string) {
		if text != "" {
			t.secrets = append(t.secrets, text)
		}
	}
	hide(s.StripeSecretKey)
	if strings.Contains(s.Database, "://") || secretWord.MatchString(s.Database) {
		hide(s.Database)
	}
	if _, rest, is := strings.Cut(s.Database, "://"); is {
		user, _, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(user, '@'); at >= 0 {
			_, typed, _ := strings.Cut(user[:at], ":")
			plain, _ := url.PathUnescape(typed)
			hide(typed)
			hide(plain)
		}
	}
	for _, found := range secretWord.FindAllStringSubmatch(s.Database, -1) {
		plain, _ := url.QueryUnescape(found[2])
		hide(found[2])
		hide(plain)
	}
}

// withoutSecrets returns a text in which no secret is left.
func (t *tool) withoutSecrets(text string) string {
	for _, secret := range t.secrets {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}

// databaseAddress matches what can be the address of a database.
var databaseAddress = regexp.MustCompile(`(?i)\b(postgres|postgresql|mysql|mariadb|sqlite)://|\bpassword=|://[^/\s]*:[^/\s]*@`)

// refuseSecrets refuses addresses of databases on a command line. Every user of the machine can read it.
func refuseSecrets(args []string) error {
	if slices.ContainsFunc(args, databaseAddress.MatchString) {
		return usagef("the address of a database does not belong on the command line, where every user of the machine can read it: use COUPONKIT_DATABASE or a settings file")
	}
	return nil
}
