package api

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// FuzzNetwork: an address is one client however it is written, with a port, in
// brackets, with a zone, in capitals, or an IPv4 one as IPv6. Two addresses are one
// client only when they are the same IPv4 address or share 64 bits of IPv6. What is no
// address is itself.
func FuzzNetwork(f *testing.F) {
	for _, a := range []string{"203.0.113.7", "::ffff:203.0.113.7", "2001:db8:1:2:3::4", "fe80::1", "::", "::1"} {
		for _, b := range []string{"203.0.113.7", "2001:db8:1:2::9", "2001:db8:1:3::4"} {
			x, y := netip.MustParseAddr(a).As16(), netip.MustParseAddr(b).As16()
			f.Add(x[:], y[:], uint16(4711), "eth0", a+":x")
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte, port uint16, zone, text string) {
		a, ok := netip.AddrFromSlice(first)
		if !ok {
			checkNoAddress(t, text)
			return
		}
		want := network(a.String())
		for _, form := range formsOf(a, port, zone) {
			if got := network(form); got != want {
				t.Errorf("%q is %q, %q is %q", a, want, form, got)
			}
		}
		if b, ok := netip.AddrFromSlice(second); ok && (network(b.String()) == want) != sameClient(a, b) {
			t.Errorf("%q is %q, %q is %q", a, want, b, network(b.String()))
		}
	})
}

// formsOf are ways in which an address may be written.
func formsOf(a netip.Addr, port uint16, zone string) []string {
	forms := []string{netip.AddrPortFrom(a, port).String(), strings.ToUpper(a.String()), a.StringExpanded()}
	if a.Is4() {
		mapped := netip.AddrFrom16(a.As16())
		forms = append(forms, mapped.String(), netip.AddrPortFrom(mapped, port).String())
	}
	if a.Is6() {
		forms = append(forms, "["+a.String()+"]", fmt.Sprintf("[%s]:%d", a, port))
		if zone != "" && !strings.ContainsAny(zone, "]%") {
			forms = append(forms, a.WithZone(zone).String())
		}
	}
	return forms
}

// sameClient compares the bits.
func sameClient(a, b netip.Addr) bool {
	x, y := a.As16(), b.As16()
	if a.Unmap().Is4() || b.Unmap().Is4() {
		return x == y
	}
	return [8]byte(x[:8]) == [8]byte(y[:8])
}

func checkNoAddress(t *testing.T, text string) {
	t.Helper()
	_, plain := netip.ParseAddr(strings.Trim(text, "[]"))
	_, withPort := netip.ParseAddrPort(text)
	if got := network(text); plain != nil && withPort != nil && got != text {
		t.Errorf("%q is no address and is taken for %q", text, got)
	}
}
