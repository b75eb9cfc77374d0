#!/usr/bin/env bash
# A file of codes is parsed with dates: which codes stay codes?
#
# Guess before the run: all of them, or all but those that look like dates, such as 12-10.
# Seen (csv-parse 6.1.0 with cast_date, on the Date of Node 20):
#   - A word, a dash and a number from 1 to 12 is a month of 2001: SPRING-10 is 1 October 2001. SPRING10 stays a code.
#   - From 13 to 31 it stays a code. From 32 on it is a year: SPRING-32 is 2032, SPRING-50 is 1950, SPRING-100 is the year 100.
#   - A word that begins with three letters of a month takes that month, with a dash or without: MARKET-20 is 20 March
#     2001, JUNIOR20 is 20 June, DECO-31 is 31 December. MARKET-32 is 1 March 2032.
#   - A generated code with a dash can be a date: JFXK-1234 is the year 1234.
# What follows: never ask a parser to recognize dates in a column of codes, and never take what Date reads for a date.
# Name the columns that have dates, and check their form first.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund csv-parse@6.1.0 >/dev/null 2>&1
cat >codes.js <<'JS'
const { parse } = require("csv-parse/sync");

function read(code) {
  const [[value]] = parse(code, { cast: true, cast_date: true });
  return value instanceof Date ? value.toISOString().slice(0, 10) : "a code";
}
for (const word of ["SPRING-", "SPRING", "WELCOME-", "MARKET-", "JUNIOR"]) {
  const runs = [];
  for (let n = 1; n <= 100; n++) {
    const kind = read(word + n) === "a code" ? "code" : "date";
    if (runs.at(-1)?.kind === kind) runs.at(-1).to = n;
    else runs.push({ kind, from: n, to: n });
  }
  console.log(`${word}n: ${runs.map((r) => `${r.from} to ${r.to} ${r.kind}`).join(", ")}`);
}
for (const code of ["SPRING-10", "SPRING10", "SPRING-20", "SPRING-32", "SPRING-50", "SPRING-100", "MARKET-20", "JUNIOR20", "DECO-31", "MARKET-32", "JFXK-1234"]) {
  console.log(code, read(code));
}
JS
TZ=UTC node codes.js | tee seen
diff seen - <<'SEEN'
SPRING-n: 1 to 12 date, 13 to 31 code, 32 to 100 date
SPRINGn: 1 to 100 code
WELCOME-n: 1 to 12 date, 13 to 31 code, 32 to 100 date
MARKET-n: 1 to 100 date
JUNIORn: 1 to 100 date
SPRING-10 2001-10-01
SPRING10 a code
SPRING-20 a code
SPRING-32 2032-01-01
SPRING-50 1950-01-01
SPRING-100 0100-01-01
MARKET-20 2001-03-20
JUNIOR20 2001-06-20
DECO-31 2001-12-31
MARKET-32 2032-03-01
JFXK-1234 1234-01-01
SEEN
