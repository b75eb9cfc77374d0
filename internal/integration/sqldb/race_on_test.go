//go:build race

package sqldb_test

// underRace tells that the race detector makes every statement several times as
// expensive, of the SQLite drivers most of all, which are Go: the runs that want many
// uses want fewer then.
const underRace = true
