// Package architecture asserts which package may import which. It has no code
// of its own: policy_test.go is the policy, floors_test.go holds the tree to it.
package architecture
