package codecsv_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/validation"
)

// A file that is nil is named like any other fault.
func TestNoFile(t *testing.T) {
	t.Parallel()
	_, err := codecsv.NewReader(nil, codecsv.Options{})
	require.ErrorIs(t, err, validation.ErrInvalid)
	_, err = codecsv.NewRecipientReader(nil, codecsv.Options{})
	require.ErrorIs(t, err, validation.ErrInvalid)
	_, err = codecsv.NewWriter(nil, codecsv.WriteOptions{})
	require.ErrorIs(t, err, validation.ErrInvalid)
}
