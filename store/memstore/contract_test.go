package memstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memstore.New() }, storetest.Capabilities{})
}

// A session without an ID is none: an order that has none yet is left as it is.
func TestAttachNeedsASession(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	o := store.Order{
		ID: "ord_1", Key: "k", CustomerID: "ann", State: store.OrderOpen, Quote: pricing.Quote{Currency: pricing.EUR()},
		CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(1, 0).UTC(),
	}
	_, _, err := s.CreateOrder(t.Context(), o)
	require.NoError(t, err)
	_, err = s.AttachSession(t.Context(), store.Attachment{OrderID: o.ID, SessionURL: "https://pay.example", At: time.Unix(2, 0)})
	require.ErrorIs(t, err, pricing.ErrInvalid)
	stored, err := s.Order(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, o, stored)
}
