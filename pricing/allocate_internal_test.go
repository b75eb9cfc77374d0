package pricing

import (
	"slices"
	"testing"
)

// pivotsLast lays n claims out so that every pivot, the middle claim, is the
// last in order of those that are left: each partition then takes away only one.
func pivotsLast(n int) []share {
	place := make([]int, n) // which claim stands where, as partitions move them
	for i := range place {
		place[i] = i
	}
	claims := make([]share, n)
	for high := n - 1; high >= 0; high-- {
		mid := high / 2
		claims[place[mid]] = share{remainder: uint64(n - high), line: place[mid]}
		place[mid], place[high] = place[high], place[mid]
	}
	return claims
}

// A selection that only partitioned would look at all claims once per claim. It
// gives up in time and sorts what is left, which shows: the claims beyond the
// selected one are in order too.
func TestSelectionIsNotDefeatedByItsPivots(t *testing.T) {
	t.Parallel()
	const n = 10_000
	claims := pivotsLast(n)
	looks := 0
	for low, high := 0, n-1; high > 0 && looks < 100*n; {
		looks += high - low
		left, _ := partition(claims, low, high)
		high = left
	}
	if looks < 100*n {
		t.Fatalf("the claims are no challenge: partitioning looked %d times", looks)
	}

	claims = pivotsLast(n)
	selectFirst(claims, 1)
	if !slices.IsSortedFunc(claims[:n/2], share.compare) {
		t.Error("selection went on partitioning")
	}
	if claims[0].remainder != n {
		t.Errorf("selected the claim %+v", claims[0])
	}
}

// For every n, the n first claims come to the front, whatever the order before.
func TestSelectFirst(t *testing.T) {
	t.Parallel()
	const most = 40
	for size := range most {
		for n := range size + 1 {
			claims := make([]share, size)
			for i := range claims {
				claims[i] = share{remainder: uint64(i * 7919 % 13), line: i}
			}
			want := slices.Clone(claims)
			slices.SortFunc(want, share.compare)
			selectFirst(claims, n)
			slices.SortFunc(claims[:n], share.compare)
			if !slices.Equal(claims[:n], want[:n]) {
				t.Errorf("the %d first of %d: got %v, want %v", n, size, claims[:n], want[:n])
			}
		}
	}
}
