package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// redis is added below.
func redis(context.Context, *pgxpool.Pool) (redeemer, func() error, error) {
	return nil, nil, errAbsent
}
