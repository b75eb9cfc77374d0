package app_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// FuzzForwardedFor: behind a proxy the client's address is what that proxy has written,
// as a header of its own or after what was there; whatever the client says of itself
// changes nothing. Where the proxy has written nothing it is the connection's.
func FuzzForwardedFor(f *testing.F) {
	for _, said := range []string{
		"", "198.51.100.1", "198.51.100.1, 203.0.113.9", ",", " , \n,", "unknown", "a\nb", "2001:db8::1", "[2001:db8::1]:443", "\"x, y\"", "203.0.113.7:80",
	} {
		f.Add(said, []byte{203, 0, 113, 7}, true)
		f.Add(said, []byte("\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"), false)
		f.Add(said, []byte{}, false)
	}
	f.Fuzz(func(t *testing.T, said string, address []byte, ownLine bool) {
		const connection = "192.0.2.1:4711"
		r := &http.Request{RemoteAddr: connection, Header: http.Header{}}
		for line := range strings.SplitSeq(said, "\n") {
			r.Header.Add("X-Forwarded-For", line)
		}
		client, ok := netip.AddrFromSlice(address)
		if !ok { // the proxy adds an empty entry
			r.Header.Add("X-Forwarded-For", "")
			if got := app.ClientAddress(r); got != connection {
				t.Errorf("the proxy says nothing, the client %q: %q", said, got)
			}
			return
		}
		if lines := r.Header["X-Forwarded-For"]; ownLine {
			r.Header["X-Forwarded-For"] = append(lines, client.String())
		} else {
			lines[len(lines)-1] += ", " + client.String()
		}
		if got := app.ClientAddress(r); got != client.String() {
			t.Errorf("the proxy says %s, the client %q: %q", client, said, got)
		}
	})
}

// TestNoForwardedFor: a proxy that writes no header leaves the connection's address.
func TestNoForwardedFor(t *testing.T) {
	t.Parallel()
	const connection = "192.0.2.1:4711"
	if got := app.ClientAddress(&http.Request{RemoteAddr: connection, Header: http.Header{}}); got != connection {
		t.Errorf("%q", got)
	}
}
