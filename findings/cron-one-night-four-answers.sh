#!/usr/bin/env bash
# A job once a day, in nights in which clocks change: when does it run?
#
# Guess before the run: where the time does not exist, robfig/cron leaves the day out and the others run at the next
# time that exists. Where it comes twice, all run once, the first time.
# Seen (Go: robfig/cron v3.0.1; npm: croner 11.0.1, cron-parser 5.10.6, cron 4.4.0):
#   - Where midnight does not exist (Cairo in spring), robfig runs "at midnight" not at all. The others run at 01:00.
#   - Where it comes twice (Havana in autumn), robfig runs twice. cron-parser takes the second midnight there, and the
#     first 02:30 in Berlin.
#   - Where clocks go on by half an hour and leave 02:15 out (Lord Howe Island), cron runs twice: at 01:45, before they
#     change, and at 02:45. croner runs at 02:30, cron-parser and robfig not at all.
#   - At Berlin's 02:30 in autumn, the usual test, only robfig runs twice.
# What follows: the start and the end of a coupon are instants that are computed once. A job may run late, twice or
# never on such a day, and has to be harmless then.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund croner@11.0.1 cron-parser@5.10.6 cron@4.4.0 luxon@3.7.2 >/dev/null 2>&1
cat >cases <<'CASES'
0 0 * * *|Africa/Cairo|2027-04-29T12:00:00Z|2027-04-30T12:00:00Z
0 0 * * *|America/Havana|2027-11-06T12:00:00Z|2027-11-07T12:00:00Z
30 2 * * *|Europe/Berlin|2027-10-30T12:00:00Z|2027-10-31T12:00:00Z
15 2 * * *|Australia/Lord_Howe|2027-10-02T10:00:00Z|2027-10-03T10:00:00Z
CASES
cat >night.mjs <<'JS'
import { readFileSync } from "node:fs";
import { Cron } from "croner";
import { CronTime } from "cron";
import cronParser from "cron-parser";
import { DateTime } from "luxon";
const next = {
  croner: (expression, zone, t) => new Cron(expression, { timezone: zone, paused: true }).nextRun(t),
  "cron-parser": (expression, zone, t) => cronParser.CronExpressionParser.parse(expression, { tz: zone, currentDate: t }).next().toDate(),
  cron: (expression, zone, t) => new CronTime(expression, zone).getNextDateFrom(DateTime.fromJSDate(t).setZone(zone), zone).toJSDate(),
};
for (const line of readFileSync("cases", "utf8").trim().split("\n")) {
  const [expression, zone, from, until] = line.split("|");
  for (const [name, after] of Object.entries(next)) {
    const runs = [];
    for (let t = after(expression, zone, new Date(from)); t < new Date(until); t = after(expression, zone, t)) {
      runs.push(DateTime.fromJSDate(t).setZone(zone).toFormat("HH:mmZZZ"));
    }
    console.log(zone, expression, name + ":", runs.join(" ") || "never");
  }
}
JS
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/robfig/cron/v3 v3.0.1
MOD
cat >main.go <<'GO'
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f := strings.Split(lines.Text(), "|")
		zone, err := time.LoadLocation(f[1])
		check(err)
		from, err := time.ParseInLocation(time.RFC3339, f[2], time.UTC)
		check(err)
		until, err := time.Parse(time.RFC3339, f[3])
		check(err)
		schedule, err := cron.ParseStandard(f[0])
		check(err)
		runs := ""
		for t := schedule.Next(from.In(zone)); t.Before(until); t = schedule.Next(t) {
			runs += t.Format(" 15:04-0700")
		}
		if runs == "" {
			runs = " never"
		}
		fmt.Printf("%s %s robfig:%s\n", f[1], f[0], runs)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
{
  GOWORK=off GOFLAGS=-mod=mod go run . <cases 2>/dev/null
  node night.mjs
} | tee seen
diff seen - <<'SEEN'
Africa/Cairo 0 0 * * * robfig: never
America/Havana 0 0 * * * robfig: 00:00-0400 00:00-0500
Europe/Berlin 30 2 * * * robfig: 02:30+0200 02:30+0100
Australia/Lord_Howe 15 2 * * * robfig: never
Africa/Cairo 0 0 * * * croner: 01:00+0300
Africa/Cairo 0 0 * * * cron-parser: 01:00+0300
Africa/Cairo 0 0 * * * cron: 01:00+0300
America/Havana 0 0 * * * croner: 00:00-0400
America/Havana 0 0 * * * cron-parser: 00:00-0500
America/Havana 0 0 * * * cron: 00:00-0400
Europe/Berlin 30 2 * * * croner: 02:30+0200
Europe/Berlin 30 2 * * * cron-parser: 02:30+0200
Europe/Berlin 30 2 * * * cron: 02:30+0200
Australia/Lord_Howe 15 2 * * * croner: 02:30+1100
Australia/Lord_Howe 15 2 * * * cron-parser: never
Australia/Lord_Howe 15 2 * * * cron: 01:45+1030 02:45+1100
SEEN
