package couponkit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// TestNilOptions: a nil leaves a part out that a service can do without. Every other nil is named.
func TestNilOptions(t *testing.T) {
	t.Parallel()
	_, err := couponkit.New(memstore.New(),
		nil, couponkit.WithRecorder(nil), couponkit.WithUsers(nil), couponkit.WithPoints(nil), couponkit.WithLimiter(nil),
		couponkit.WithAutomatic(nil), couponkit.WithCodeForms(),
	)
	require.NoError(t, err)
	for field, option := range map[string]couponkit.Option{
		"processor": couponkit.WithProcessor(nil),
		"clock":     couponkit.WithClock(nil),
		"ids":       couponkit.WithIDs(nil),
		"observer":  couponkit.WithObserver(nil),
		"logger":    couponkit.WithLogger(nil),
		"location":  couponkit.WithLocation(nil),
	} {
		_, err := couponkit.New(memstore.New(), option)
		require.Equal(t, []string{field}, faultyFields(t, err))
	}
	_, err = couponkit.New(memstore.New(), couponkit.WithObserver(couponkit.ObserverFunc(nil)))
	require.Equal(t, []string{"observer"}, faultyFields(t, err))
}

// TestOffersOfNoStore: the first update tells it.
func TestOffersOfNoStore(t *testing.T) {
	t.Parallel()
	_, err := couponkit.NewOffers(nil, offers.Limits{}).Update(t.Context())
	require.ErrorIs(t, err, validation.ErrInvalid)
}
