// Package fingerprint makes short texts that tell whether two requests are the same.
package fingerprint

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Digest gathers the values of which a fingerprint is made. Every value is written with its length.
// Two different lists of values therefore never have the same bytes.
type Digest []byte

// Text adds a text.
func (d *Digest) Text(s string) {
	*d = binary.AppendUvarint(*d, uint64(len(s)))
	*d = append(*d, s...)
}

// Number adds a number.
func (d *Digest) Number(n int64) { *d = binary.AppendVarint(*d, n) }

// Sum returns the fingerprint of the values.
func (d *Digest) Sum() string {
	sum := sha256.Sum256(*d)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
