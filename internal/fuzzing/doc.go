// Fuzzing gathers long fuzzing time for every target of the repository in small
// slices, over as many days as it takes, and keeps what came of it.
//
//	go run ./internal/fuzzing run -goal 1h    until every target has had an hour
//	go run ./internal/fuzzing keep            new inputs that reach new code, into testdata/fuzz
//	go run ./internal/fuzzing table           the time of every target, from the log
//
// # Idea
//
// An hour for each of some forty targets is two days of one processor, which nobody
// has in one piece. So run gives the target that has had the least time one slice,
// writes down what happened in log.tsv, and takes the next: it can be stopped at any
// moment and goes on where it was. What the fuzzer has learnt is kept in a cache
// between slices.
//
// targets.txt lists the targets, the riskiest first, each with what it reads and how
// it knows a wrong answer; a test holds the list to the tree.
//
// A finding is an input in testdata/fuzz of the package, as go test -fuzz leaves it.
// The target gets no more slices until run is started again, by then with a fix: the
// input stays, as its regression test.
package main
