// Package postgrestest starts throwaway PostgreSQL servers for tests.
//
// # Idea
//
// A test of a store proves nothing without a real server, and nobody should have
// to prepare one. [Start] finds the installed binaries, those on the PATH before
// others and the newest of the others, makes a fresh cluster with initdb in a temporary
// directory, starts it on a random loopback port with fsync on and removes everything in
// [Server.Close]. PostgreSQL refuses to run as root; then the server runs as the user
// postgres, or as nobody.
//
// The environment variable COUPONKIT_POSTGRES_DSN names a server to use instead;
// databases are then made on it and dropped again, and it is never stopped.
package postgrestest
