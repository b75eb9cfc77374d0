#!/usr/bin/env bash
# A counter of uses in a stream: increment, and refuse the order if the answer is above the limit. The answer was lost,
# and the increment is repeated under its message ID.
#
# Guess before the run: counted once, and answered with the value. An increment may also demand the sequence it has read.
# Seen (nats-server v2.15.3 with JetStream, which has counters since 2.12):
#   - Counted once, and answered without the value: a duplicate, and the sequence of the first.
#   - The message of that sequence has the value, unless the stream keeps one message of a subject, which a counter
#     invites to. After the next increment it is gone there, and the value now is that of all.
#   - Every header with an expectation is refused together with an increment, as "message counter increment is
#     invalid". So there is no increment below a limit.
# What follows: who asks a counter for a decision has to keep the decision with it. For limits, keep one message for
# each use, and let the stream refuse the message above max_msgs_per_subject.
# The build takes about two minutes.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module findings

go 1.26.0

require (
	github.com/nats-io/nats-server/v2 v2.15.3
	github.com/nats-io/nats.go v1.55.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

func main() {
	if err := run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run() error {
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: os.Args[1], Host: "127.0.0.1", Port: -1, NoSigs: true})
	if err != nil {
		return err
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("not ready")
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		return err
	}
	defer conn.Close()
	ask := func(subject, data string, header ...string) string {
		m := nats.NewMsg(subject)
		m.Data = []byte(data)
		for i := 0; i < len(header); i += 2 {
			m.Header.Set(header[i], header[i+1])
		}
		answer, err := conn.RequestMsg(m, 5*time.Second)
		if err != nil {
			return err.Error()
		}
		if answer.Header.Get("Status") != "" {
			return answer.Header.Get("Status") + " " + answer.Header.Get("Description")
		}
		return string(answer.Data)
	}
	for _, name := range []string{"every", "last"} {
		keep := map[string]string{"every": "-1", "last": "1"}[name]
		ask("$JS.API.STREAM.CREATE."+name, fmt.Sprintf(`{"name":%q,"subjects":["%s.*"],"storage":"memory","max_msgs_per_subject":%s,"allow_direct":true,"allow_msg_counter":true}`, name, name, keep))
		coupon := name + ".TEN"
		fmt.Println(name, "first:", ask(coupon, "", "Nats-Incr", "+1", "Nats-Msg-Id", "order 1"))
		fmt.Println(name, "another order:", ask(coupon, "", "Nats-Incr", "+1", "Nats-Msg-Id", "order 2"))
		fmt.Println(name, "the first again:", ask(coupon, "", "Nats-Incr", "+1", "Nats-Msg-Id", "order 1"))
		fmt.Println(name, "the message of its sequence:", ask("$JS.API.DIRECT.GET."+name, `{"seq":1}`))
		fmt.Println(name, "value now:", ask("$JS.API.DIRECT.GET."+name+"."+coupon, ""))
		fmt.Println(name, "expecting the last sequence:", ask(coupon, "", "Nats-Incr", "+1", "Nats-Expected-Last-Subject-Sequence", "2"))
	}
	return nil
}
GO
export GOWORK=off GOFLAGS=-mod=mod
go mod tidy >/dev/null 2>&1
go build -o program .
./program "$dir/store" | tee seen
diff seen - <<'SEEN'
every first: {"stream":"every","seq":1,"val":"1"}
every another order: {"stream":"every","seq":2,"val":"2"}
every the first again: {"stream":"every","seq":1,"duplicate": true}
every the message of its sequence: {"val":"1"}
every value now: {"val":"2"}
every expecting the last sequence: {"error":{"code":400,"err_code":10171,"description":"message counter increment is invalid"},"stream":"every","seq":0}
last first: {"stream":"last","seq":1,"val":"1"}
last another order: {"stream":"last","seq":2,"val":"2"}
last the first again: {"stream":"last","seq":1,"duplicate": true}
last the message of its sequence: 404 Message Not Found
last value now: {"val":"2"}
last expecting the last sequence: {"error":{"code":400,"err_code":10171,"description":"message counter increment is invalid"},"stream":"last","seq":0}
SEEN
