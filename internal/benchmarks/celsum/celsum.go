// Package celsum adds sum to CEL, which has none. The function is the one that Kubernetes adds.
package celsum

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Option declares sum(list) for lists of int.
func Option() cel.EnvOption {
	return cel.Function("sum", cel.Overload("sum_list_int", []*cel.Type{cel.ListType(cel.IntType)}, cel.IntType, cel.UnaryBinding(sum)))
}

func sum(list ref.Val) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	total := types.Int(0)
	for it := l.Iterator(); it.HasNext() == types.True; {
		n, ok := it.Next().(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(list)
		}
		total += n
	}
	return total
}
