package main

import (
	"testing"
)

// TestOnAccountInMemory runs the example as it is.
func TestOnAccountInMemory(t *testing.T) {
	if err := run(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"sk_live_1", "nonsense"} {
		if err := run(t.Context(), key, "whsec_1"); err == nil {
			t.Errorf("the key %s is accepted", key)
		}
	}
	if err := run(t.Context(), "sk_test_1", ""); err == nil {
		t.Error("no webhook secret is needed")
	}
}
