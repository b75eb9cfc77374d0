package pricing

import (
	"fmt"
	"slices"
	"testing"
)

// pivotsFirst lays n claims out so that every pivot, the middle claim, is the
// first in order of those that are left: each partition then takes away only one
// claim, and selecting the last looks at n(n-1)/2.
func pivotsFirst(n int) []share {
	place := make([]int, n) // which claim stands where, as partitions move them
	for i := range place {
		place[i] = i
	}
	claims := make([]share, n)
	for low := range n {
		mid := (low + n - 1) / 2
		claims[place[mid]] = share{remainder: uint64(n - low), line: place[mid]}
		place[mid], place[low] = place[low], place[mid]
	}
	return claims
}

// The budget is what partitioning looks at, to the claim: on the worst cart it
// suffices exactly, and one less does not.
func TestQuickselectKeepsItsBudget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 10, 101} {
		looks := n * (n - 1) / 2
		if claims := pivotsFirst(n); !quickselect(claims, n-1, looks) || claims[n-1].remainder != 1 {
			t.Errorf("%d claims within %d: the last is %+v", n, looks, claims[n-1])
		}
		if quickselect(pivotsFirst(n), n-1, looks-1) {
			t.Errorf("%d claims: %d looks suffice", n, looks-1)
		}
	}
	if !quickselect(nil, 0, 0) || !quickselect(make([]share, 1), 1, 0) {
		t.Error("where there is nothing to select, a budget is needed")
	}
}

// The largest cart, made to defeat the pivots, is sorted before the looks become
// quadratic.
func TestSelectionIsNotDefeatedByItsPivots(t *testing.T) {
	t.Parallel()
	claims := pivotsFirst(MaxLines)
	if quickselect(slices.Clone(claims), MaxLines-2, selectPasses*MaxLines) {
		t.Fatal("the claims are no challenge")
	}
	selectFirst(claims, MaxLines-2)
	if claims[MaxLines-1].remainder != 1 || !slices.IsSortedFunc(claims, share.compare) {
		t.Errorf("the last claim is %+v", claims[MaxLines-1])
	}
}

// For every n, the n first claims come to the front, whatever the order before,
// and ordinary claims need no sort.
func TestSelectFirst(t *testing.T) {
	t.Parallel()
	for _, layout := range []func(i int) uint64{
		func(i int) uint64 { return uint64(i * 7919 % 1013) },
		func(i int) uint64 { return uint64(i * 7919 % 13) },
		func(i int) uint64 { return uint64(i) },
		func(i int) uint64 { return uint64(1000 - i) },
		func(int) uint64 { return 5 },
	} {
		for _, size := range []int{0, 1, 2, 3, 4, 5, 8, 13, 33, 200} {
			for n := range size + 1 {
				claims := make([]share, size)
				for i := range claims {
					claims[i] = share{remainder: layout(i), line: i}
				}
				want := slices.SortedFunc(slices.Values(claims), share.compare)
				if !quickselect(slices.Clone(claims), n, selectPasses*size) {
					t.Errorf("the %d first of %d are not selected within the budget", n, size)
				}
				selectFirst(claims, n)
				slices.SortFunc(claims[:n], share.compare)
				if got, want := fmt.Sprint(claims[:n]), fmt.Sprint(want[:n]); got != want {
					t.Errorf("the %d first of %d: got %s, want %s", n, size, got, want)
				}
			}
		}
	}
}
