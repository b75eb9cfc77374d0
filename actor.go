package couponkit

import "context"

type actorKey struct{}

// WithActor returns a context that names who makes the calls, such as the ID of an administrator.
// The journal records the name in the field By of its entries; see [Service.Journal]. Without a
// name, By is empty. A call with a name that the store cannot keep returns a
// [*validation.Error] for the field "by".
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

func actorOf(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}
