package validity

import (
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// exprDialect puts the condition inside the sum. This avoids the list that filter would build.
var exprDialect = dialect{
	field: func(name string) string { return "." + name },
	sum: func(condition string) string {
		return "sum(lines, " + condition + " ? .price * .quantity : 0)"
	},
}

// exprRule runs a compiled rule. It reuses the machine and the variables.
type exprRule struct {
	program   *vm.Program
	machine   vm.VM
	variables any
}

func newExpr(s Situation) (Decider, error) {
	program, err := expr.Compile(exprDialect.rule(s), expr.Env(variables{}), expr.AsBool())
	return &exprRule{program: program, variables: build(&s, addresses(s.Coupon))}, err
}

func (r *exprRule) Allowed() (bool, error) {
	answer, err := r.machine.Run(r.program, r.variables)
	if err != nil {
		return false, err
	}
	allowed, ok := answer.(bool)
	if !ok {
		return false, fmt.Errorf("expr answers %v", answer)
	}
	return allowed, nil
}
