package stripeprocessor_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/processor"
)

// manyMirrors plants two full pages and a half, the newest with the highest number.
func manyMirrors(w *world) {
	w.Helper()
	for i := range 250 {
		id := fmt.Sprintf("cpn_%d", i)
		require.NoError(w, w.account.PlantCoupon(mirrorOf(i), map[string]string{"app": "couponkit", "couponId": id, "kind": "mirror"}))
	}
}

func mirrorOf(i int) string { return fmt.Sprintf("ck_cpn_%d_r1", i) }

// TestListsOutliveDeletions: Stripe does not go on after an object that was deleted
// meanwhile, be it the last of a page or a whole page, and the list goes on all the
// same: each object comes once, and none of those that are there is left out.
func TestListsOutliveDeletions(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string][2]int{
		"the last of a page": {50, 50}, "a page": {50, 149}, "two pages": {50, 249}, "nearly all": {1, 249},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manyMirrors(w)
			seen := map[string]int{}
			for ref, err := range w.processor.Mirrors(t.Context()) {
				require.NoError(t, err)
				if seen[ref.Mirror.CouponID]++; len(seen) == 1 { // the first page is being read, the second is fetched
					for i := gone[0]; i <= gone[1]; i++ {
						require.NoError(t, w.account.DeleteCoupon(mirrorOf(i)))
					}
				}
			}
			for i := range 250 {
				if n := seen[mirrorOf(i)]; n > 1 || n == 0 && (i < gone[0] || i > gone[1]) {
					t.Errorf("object %d was listed %d times", i, n)
				}
			}
		})
	}
}

// TestAnEmptyPageThatIsNotTheLast is an answer that could not be read: as an end, it would hide
// the session of an earlier call, and there would be a second.
func TestAnEmptyPageThatIsNotTheLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	w.savedFailure(r)
	odd := w.anotherProcess(through(emptyPages{w.server.Client().Transport}))
	_, err := odd.CreateSession(t.Context(), r)
	require.ErrorIs(t, err, processor.ErrUnavailable)
	require.Len(t, w.account.Sessions(), 1)
	for _, err := range odd.Mirrors(t.Context()) {
		require.ErrorIs(t, err, processor.ErrUnavailable)
	}
}

// emptyPages answers every list so.
type emptyPages struct{ next http.RoundTripper }

func (e emptyPages) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && (r.URL.Path == "/v1/checkout/sessions" || r.URL.Path == "/v1/coupons") {
		list := answering{status: http.StatusOK, text: []byte(`{"object":"list","url":"/v1/lists","has_more":true,"data":[]}`)}
		return list.RoundTrip(r)
	}
	return e.next.RoundTrip(r)
}
