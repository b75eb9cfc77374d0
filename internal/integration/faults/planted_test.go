package faults_test

import (
	"strings"
	"testing"
)

// TestPlantedFaultsAreNoticed breaks the store, and clients, on purpose: rounds
// without any other fault must notice it.
func TestPlantedFaultsAreNoticed(t *testing.T) {
	server := newServer(t)
	for name, plant := range map[string]func(*harness){
		"what others took before the gate is not minded": func(h *harness) {
			h.rewriteFunctions("k.coupon_id = coupon) <= limit_of_all", "k.coupon_id = coupon) >= 0")
			h.rewriteFunctions("> limits[l.place] AS beyond", "> limits[l.place] AND false AS beyond")
		},
		"acknowledged before it is committed": func(h *harness) { h.modes = []string{forgetful} },
		"a release keeps the place": func(h *harness) {
			h.exec(`CREATE FUNCTION keep_places() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF new.state = 'released' AND old.state = 'reserved' THEN
					UPDATE coupon_counters SET reserved = reserved + 1 WHERE coupon_id = new.coupon_id AND stripe = 0;
				END IF;
				RETURN new;
			END $$`)
			h.exec(`CREATE TRIGGER keep_places BEFORE UPDATE ON coupon_redemptions FOR EACH ROW EXECUTE FUNCTION keep_places()`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, server)
			defer h.close()
			h.planted = true
			plant(h)
			for round := range 100 {
				h.round(round, calm)
				if h.current.violations > 0 {
					t.Logf("in round %d", round+1)
					return
				}
			}
			t.Errorf("100 rounds notice nothing:\n%s", h.summary())
		})
	}
}

func (h *harness) exec(statement string) {
	h.t.Helper()
	if _, err := h.pool.Exec(h.t.Context(), statement); err != nil {
		h.t.Fatal(err)
	}
}

// rewriteFunctions replaces a text in the functions of the store.
func (h *harness) rewriteFunctions(before, after string) {
	h.t.Helper()
	rows, err := h.pool.Query(h.t.Context(), `SELECT pg_get_functiondef(oid) FROM pg_proc
		WHERE proname LIKE 'couponkit%' AND prokind = 'f' AND pronamespace = current_schema()::regnamespace`)
	if err != nil {
		h.t.Fatal(err)
	}
	var changed []string
	for rows.Next() {
		var definition string
		if err := rows.Scan(&definition); err != nil {
			h.t.Fatal(err)
		}
		if broken := strings.ReplaceAll(definition, before, after); broken != definition {
			changed = append(changed, broken)
		}
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	if len(changed) == 0 {
		h.t.Fatalf("no function of the store has %q", before)
	}
	for _, definition := range changed {
		h.exec(definition)
	}
}
