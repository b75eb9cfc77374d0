#!/usr/bin/env bash
# A happy hour each day until a last day, as a calendar rule. RFC 5545 wants UNTIL in UTC where the start names a time zone.
#
# Guess before the run: four engines agree. UNTIL is an instant, and so is an excluded date in UTC.
# Seen (npm: rrule 2.8.1, @markwhen/rrule 2.8.2, rrule-temporal 2.2.8; Go: teambition/rrule-go v1.8.2; TZ=UTC):
#   - rrule and its fork compare UNTIL with the clock on the wall. Berlin's happy hour at 18:00, until 16:00 UTC of 30 March, which
#     is 18:00 there, ends on the 29th. The last day has none.
#   - In New York one is too many: a deal at 01:00, until the end of 29 March there, comes on the 30th too.
#   - A day that is excluded in UTC stays in. Excluded with TZID it is out. So a holiday depends on how a calendar writes it.
#   - An additional date in UTC is two hours off: 16:00 UTC becomes 16:00 in Berlin.
#   - rrule-temporal and rrule-go have all of these right.
# What follows: keep the start and the end of an offer as instants, and compare with them after the rule has been expanded.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund rrule@2.8.1 @markwhen/rrule@2.8.2 rrule-temporal@2.2.8 >/dev/null 2>&1
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/teambition/rrule-go v1.8.2
MOD
cat >main.go <<'GO'
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	_ "time/tzdata"

	"github.com/teambition/rrule-go"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		set, err := rrule.StrToRRuleSet(strings.ReplaceAll(lines.Text(), " ", "\n"))
		if err != nil {
			panic(err)
		}
		all := set.All()
		fmt.Println(len(all), "times, the last", all[len(all)-1].UTC().Format("01-02 15:04"))
	}
}
GO
cat >expand.mjs <<'JS'
import { readFileSync } from "node:fs";
import rrule from "rrule";
import fork from "@markwhen/rrule";
import { RRuleTemporal } from "rrule-temporal";

const utc = (times) => {
  const last = new Date(Number(times.at(-1).epochMilliseconds ?? times.at(-1)));
  return `${times.length} times, the last ${last.toISOString().slice(5, 16).replace("T", " ")}`;
};
const go = readFileSync("go.txt", "utf8").trim().split("\n");
readFileSync("rules.txt", "utf8").trim().split("\n").forEach((line, i) => {
  const text = line.replaceAll(" ", "\n");
  const a = utc(rrule.rrulestr(text).all());
  const b = utc(fork.rrulestr(text).all());
  const c = utc(new RRuleTemporal({ rruleString: text }).all());
  console.log(line);
  console.log(`  rrule: ${a}${a === b ? ", and its fork" : ""}; rrule-temporal: ${c}${c === go[i] ? ", and Go" : `; Go: ${go[i]}`}`);
});
JS
cat >rules.txt <<'RULES'
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;UNTIL=20260330T160000Z
DTSTART;TZID=America/New_York:20260325T010000 RRULE:FREQ=DAILY;UNTIL=20260330T035959Z
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;COUNT=7 EXDATE:20260330T160000Z
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;COUNT=7 EXDATE;TZID=Europe/Berlin:20260330T180000
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;COUNT=2 RDATE:20260401T160000Z
RULES
GOWORK=off GOFLAGS=-mod=mod go run . <rules.txt >go.txt 2>/dev/null
TZ=UTC node expand.mjs | tee seen
diff seen - <<'SEEN'
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;UNTIL=20260330T160000Z
  rrule: 5 times, the last 03-29 16:00, and its fork; rrule-temporal: 6 times, the last 03-30 16:00, and Go
DTSTART;TZID=America/New_York:20260325T010000 RRULE:FREQ=DAILY;UNTIL=20260330T035959Z
  rrule: 6 times, the last 03-30 05:00, and its fork; rrule-temporal: 5 times, the last 03-29 05:00, and Go
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;COUNT=7 EXDATE:20260330T160000Z
  rrule: 7 times, the last 03-31 16:00, and its fork; rrule-temporal: 6 times, the last 03-31 16:00, and Go
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;COUNT=7 EXDATE;TZID=Europe/Berlin:20260330T180000
  rrule: 6 times, the last 03-31 16:00, and its fork; rrule-temporal: 6 times, the last 03-31 16:00, and Go
DTSTART;TZID=Europe/Berlin:20260325T180000 RRULE:FREQ=DAILY;COUNT=2 RDATE:20260401T160000Z
  rrule: 3 times, the last 04-01 14:00, and its fork; rrule-temporal: 3 times, the last 04-01 16:00, and Go
SEEN
