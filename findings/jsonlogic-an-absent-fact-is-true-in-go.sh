#!/usr/bin/env bash
# Discount rules as JsonLogic, written for a panel in the browser and a service in Go. Facts that a customer does not have yet,
# such as a number of orders, are absent.
#
# Guess before the run: the three libraries differ in errors at most. An absent fact is null, and null is false.
# Seen (npm: json-logic-js 2.0.5, json-logic-engine 5.0.7; Go: diegoholiveira/jsonlogic/v3 v3.5.1):
#   - "vip and member" without the fact "member" is true in Go: an absent part of "and" is left out. In the other two it is
#     false, and all three agree where member is false, 0 or empty.
#   - "orders <= 0", for a first order, is true for a new customer in both of npm, and false in Go. "orders < 1" is true in all.
#   - The smaller of a discount of 20 and an absent cap is 0 in json-logic-js, and an error in the others.
#   - Lines from a minimum on, summed up: in the two of npm a filter sees the line alone, so the minimum is absent and no line is
#     left out: 25. Go looks outside as well: 20.
#   - json-logic-js compares the first two of "100 >= total >= 50", so 20 passes. With <= it compares three.
#   - The text "10,50" plus nothing is 10, an error, or 0.
# What follows: rules of one kind are decided by one library, or by one table of tests for all. The table has a row without
# each fact. Write defaults for facts before the rules are asked.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund json-logic-js@2.0.5 json-logic-engine@5.0.7 >/dev/null 2>&1
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/diegoholiveira/jsonlogic/v3 v3.5.1
MOD
cat >rules.json <<'JSON'
[
  ["vip and member, absent", { "if": [{ "and": [{ "var": "vip" }, { "var": "member" }] }, "20 off", "nothing"] }, { "vip": true }],
  ["vip and member, false", { "if": [{ "and": [{ "var": "vip" }, { "var": "member" }] }, "20 off", "nothing"] }, { "vip": true, "member": false }],
  ["vip and member, 0", { "if": [{ "and": [{ "var": "vip" }, { "var": "member" }] }, "20 off", "nothing"] }, { "vip": true, "member": 0 }],
  ["orders <= 0, absent", { "if": [{ "<=": [{ "var": "orders" }, 0] }, "20 off", "nothing"] }, {}],
  ["orders < 1, absent", { "if": [{ "<": [{ "var": "orders" }, 1] }, "20 off", "nothing"] }, {}],
  ["smaller of 20 and a cap, absent", { "min": [{ "var": "discount" }, { "var": "cap" }] }, { "discount": 20 }],
  ["lines from 10 on", { "reduce": [{ "filter": [{ "var": "lines" }, { ">=": [{ "var": "price" }, { "var": "least" }] }] },
    { "+": [{ "var": "current.price" }, { "var": "accumulator" }] }, 0] }, { "lines": [{ "price": 5 }, { "price": 20 }], "least": 10 }],
  ["100 >= 20 >= 50", { ">=": [100, { "var": "total" }, 50] }, { "total": 20 }],
  ["50 <= 20 <= 100", { "<=": [50, { "var": "total" }, 100] }, { "total": 20 }],
  ["the text 10,50", { "+": ["10,50"] }, {}]
]
JSON
cat >rules.js <<'JS'
const jsonLogic = require("json-logic-js");
const { LogicEngine } = require("json-logic-engine");
const { readFileSync } = require("node:fs");

const go = readFileSync("answers", "utf8").split("\n");
const answer = (decide) => {
  try { return JSON.stringify(decide()); } catch { return "an error"; }
};
for (const [i, [title, rule, facts]] of require("./rules.json").entries()) {
  console.log(`${title}: ${answer(() => jsonLogic.apply(rule, facts))}, ${answer(() => new LogicEngine().run(rule, facts))}, Go ${go[i]}`);
}
JS
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/diegoholiveira/jsonlogic/v3"
)

func main() {
	text, err := os.ReadFile("rules.json")
	if err != nil {
		panic(err)
	}
	var rules [][3]json.RawMessage
	if err := json.Unmarshal(text, &rules); err != nil {
		panic(err)
	}
	for _, rule := range rules {
		var out bytes.Buffer
		if jsonlogic.Apply(bytes.NewReader(rule[1]), bytes.NewReader(rule[2]), &out) != nil {
			fmt.Println("an error")
			continue
		}
		fmt.Println(string(bytes.TrimSpace(out.Bytes())))
	}
}
GO
GOWORK=off GOFLAGS=-mod=mod go run . >answers 2>/dev/null
node rules.js | tee seen
diff seen - <<'SEEN'
vip and member, absent: "nothing", "nothing", Go "20 off"
vip and member, false: "nothing", "nothing", Go "nothing"
vip and member, 0: "nothing", "nothing", Go "nothing"
orders <= 0, absent: "20 off", "20 off", Go "nothing"
orders < 1, absent: "20 off", "20 off", Go "20 off"
smaller of 20 and a cap, absent: 0, an error, Go an error
lines from 10 on: 25, 25, Go 20
100 >= 20 >= 50: true, false, Go false
50 <= 20 <= 100: false, false, Go false
the text 10,50: 10, an error, Go 0
SEEN
