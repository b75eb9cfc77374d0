package enum_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/enum"
	"github.com/couponkit/couponkit/validation"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for rule, names := range map[string]enum.Names{
		"must be DAY, WEEK or MONTH": {"", "DAY", "WEEK", "MONTH"},
		"must be full or never":      {"full", "never"},
	} {
		for i, name := range names {
			value := uint8(9)
			err := names.Parse([]byte(name), &value)
			if name == "" {
				require.EqualError(t, err, "invalid input: "+rule)
				require.Equal(t, "x.Type(0)", names.GoString("x.Type", uint8(i)))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, uint8(i), value)
			require.Equal(t, name, names.Of(value))
			require.Equal(t, "x.Type("+name+")", names.GoString("x.Type", value))
		}
		require.Equal(t, rule, names.Rule())
		require.Empty(t, names.Of(200))
		require.Equal(t, "x.Type(200)", names.GoString("x.Type", 200))
		value := uint8(1)
		require.ErrorIs(t, names.Parse([]byte("day"), &value), validation.ErrInvalid)
		require.Zero(t, value)
	}
}
