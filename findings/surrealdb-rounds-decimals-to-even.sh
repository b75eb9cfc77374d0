#!/usr/bin/env bash
# Half a cent, rounded by one function of a database, as a float and as a decimal.
#
# Guess before the run: both round alike, away from zero or to even.
# Seen (SurrealDB in the process: @surrealdb/node 3.0.3, with the client surrealdb 2.0.8):
#   - math::round(2.5) is 3 for a float, and 2 for the decimal 2.5. 0.5 is 1 or 0. The two numbers are equal by "=".
#   - math::fixed, which rounds to a number of decimals, makes 0.12 of 0.125 in both.
#   - So where a column of cents becomes decimal, every second half is rounded to another cent than before.
#   - A rate is an integer division where it is written first: 15 / 100 * 20dec is 0, and 15 * 20dec / 100 is 3.
# What follows: compute money outside of the database, and state the rounding. Compare a query's rounding with it at 0.5 and 1.5.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @surrealdb/node@3.0.3 surrealdb@2.0.8 >/dev/null 2>&1
cat >round.mjs <<'JS'
import { createNodeEngines } from "@surrealdb/node";
import { Surreal, createRemoteEngines } from "surrealdb";
const db = new Surreal({ engines: { ...createRemoteEngines(), ...createNodeEngines() } });
await db.connect("mem://");
await db.query("DEFINE NAMESPACE test; USE NS test; DEFINE DATABASE test");
await db.use({ namespace: "test", database: "test" });
for (const expression of [
  "2.5f = 2.5dec", "math::round(0.5f)", "math::round(0.5dec)", "math::round(1.5f)", "math::round(1.5dec)", "math::round(2.5f)",
  "math::round(2.5dec)", "math::round(-2.5f)", "math::round(-2.5dec)", "math::fixed(0.125f, 2)", "math::fixed(0.125dec, 2)",
  "15 / 100 * 20dec", "15 * 20dec / 100",
]) {
  const [value] = await db.query(`RETURN ${expression}`);
  console.log(expression, "is", String(value));
}
await db.close();
process.exit(0);
JS
node round.mjs | tee seen
diff seen - <<'SEEN'
2.5f = 2.5dec is true
math::round(0.5f) is 1
math::round(0.5dec) is 0
math::round(1.5f) is 2
math::round(1.5dec) is 2
math::round(2.5f) is 3
math::round(2.5dec) is 2
math::round(-2.5f) is -3
math::round(-2.5dec) is -2
math::fixed(0.125f, 2) is 0.12
math::fixed(0.125dec, 2) is 0.12
15 / 100 * 20dec is 0
15 * 20dec / 100 is 3
SEEN
