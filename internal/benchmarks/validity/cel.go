package validity

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/couponkit/couponkit/internal/benchmarks/celsum"
)

var celDialect = dialect{
	field: func(name string) string { return "l." + name },
	sum: func(condition string) string {
		return "sum(lines.map(l, " + condition + ", l.price * l.quantity))"
	},
}

// celEnvironment declares the variables and a sum.
func celEnvironment() (*cel.Env, error) {
	return cel.NewEnv(
		ext.NativeTypes(reflect.TypeFor[line](), ext.ParseStructTags(true)),
		cel.Variable("active", cel.BoolType), cel.Variable("mirrorInvalid", cel.BoolType),
		cel.Variable("anonymous", cel.BoolType), cel.Variable("holds", cel.BoolType),
		cel.Variable("now", cel.IntType), cel.Variable("completed", cel.IntType), cel.Variable("reserved", cel.IntType),
		cel.Variable("completedByCustomer", cel.IntType), cel.Variable("reservedByCustomer", cel.IntType),
		cel.Variable("customer", cel.StringType), cel.Variable("email", cel.StringType),
		cel.Variable("domain", cel.StringType), cel.Variable("currency", cel.StringType),
		cel.Variable("allowed", cel.MapType(cel.StringType, cel.BoolType)),
		cel.Variable("lines", cel.ListType(cel.ObjectType("validity.line"))),
		celsum.Option(),
	)
}

// celRule evaluates a compiled rule. The variables are already converted to CEL's values.
type celRule struct {
	program   cel.Program
	variables any
}

func newCEL(s Situation) (Decider, error) {
	env, program, err := compileCEL(s)
	if err != nil {
		return nil, err
	}
	values := celVariables(build(&s, nil), celAddresses(env, s))
	for name, value := range values {
		values[name] = env.CELTypeAdapter().NativeToValue(value)
	}
	activation, err := cel.NewActivation(values)
	return &celRule{program: program, variables: activation}, err
}

func compileCEL(s Situation) (*cel.Env, cel.Program, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, nil, err
	}
	ast, issues := env.Compile(celDialect.rule(s))
	if err := issues.Err(); err != nil {
		return nil, nil, err
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	return env, program, err
}

// celAddresses returns the allow-list in the form with the fastest look-up in CEL.
func celAddresses(env *cel.Env, s Situation) ref.Val {
	set := make(map[ref.Val]ref.Val, s.Coupon.AllowedUserEmails.Len())
	for address := range s.Coupon.AllowedUserEmails.All() {
		set[types.String(address)] = types.True
	}
	return types.NewRefValMap(env.CELTypeAdapter(), set)
}

func celVariables(v variables, allowed ref.Val) map[string]any {
	return map[string]any{
		"active": v.Active, "mirrorInvalid": v.MirrorInvalid, "anonymous": v.Anonymous, "holds": v.Holds,
		"now": v.Now, "completed": v.Completed, "reserved": v.Reserved,
		"completedByCustomer": v.CompletedByCustomer, "reservedByCustomer": v.ReservedByCustomer,
		"customer": v.Customer, "email": v.Email, "domain": v.Domain, "currency": v.Currency,
		"allowed": allowed, "lines": v.Lines,
	}
}

func (r *celRule) Allowed() (bool, error) {
	answer, _, err := r.program.Eval(r.variables)
	return celAnswer(answer, err)
}

func celAnswer(answer ref.Val, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	allowed, ok := answer.(types.Bool)
	if !ok {
		return false, fmt.Errorf("cel-go answers %v", answer)
	}
	return bool(allowed), nil
}
