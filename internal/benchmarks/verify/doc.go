// Package verify measures how long a store recounts its counters, beside one aggregate over the same table.
package verify
