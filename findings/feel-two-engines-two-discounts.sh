#!/usr/bin/env bash
# Discount rules as FEEL, the expression language of the standard DMN, in the two engines for it on npm.
#
# Guess before the run: they may differ in functions that one of them lacks. What both compute is the same, with decimals, as the
# standard has it.
# Seen (@bpmn-io/feelin 6.1.1, js-feel 1.4.7, on Node 20):
#   - decimal(x, 2) rounds halves to even in feelin and up in js-feel, both in binary numbers. Of 6,000 discounts (5, 15 and 25 %
#     of 0.01 to 20.00) 311 differ. 41 are wrong by the first rule, and 336 by the second.
#   - 15 % of 1.50 is 0.22 in feelin, and the text "0.23" in js-feel. Yet js-feel makes 0.04 of 0.045.
#   - js-feel computes 0.1 + 0.2 and 19.99 * 100 with decimals, and feelin does not. So floor(19.99 * 100) is 1999, and 1998 in
#     feelin.
#   - An offer that ends at 18:00 in Berlin ends at 18:00 UTC in js-feel, which drops the zone.
#   - Of 31 January and 28 February, feelin says one month apart, and js-feel none. From 15 January 2026 to 14 February 2027,
#     feelin says P1Y0.967741935483871M.
#   - The sum of no lines is null in feelin, and 0 in js-feel.
#   - total - discount is the variable of that name in feelin, if there is one. In js-feel it is a subtraction.
# What follows: a rule has one engine, named beside it. Rules that move take tests of halves, ends of months and empty lists along.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @bpmn-io/feelin@6.1.1 js-feel@1.4.7 >/dev/null 2>&1
cat >rules.mjs <<'JS'
import { evaluate } from "@bpmn-io/feelin";
import { createRequire } from "node:module";
const { feel } = createRequire(import.meta.url)("js-feel")();

const feelin = (rule, facts = {}) => evaluate(rule, facts).value;
const jsFeel = (rule, facts = {}) => feel.parse(rule).build(facts);
// halves returns cents * percent / 100, rounded by one of the two rules.
const halves = (hundredths, even) => {
  const whole = Math.floor(hundredths / 100), rest = hundredths % 100;
  return whole + (rest > 50 || (rest === 50 && (!even || whole % 2 === 1)) ? 1 : 0);
};
let all = 0, differ = 0, even = 0, up = 0;
for (let cents = 1; cents <= 2000; cents++) for (const percent of [5, 15, 25]) {
  const rule = `decimal(${(cents / 100).toFixed(2)} * ${percent} / 100, 2)`;
  const a = Math.round(Number(feelin(rule)) * 100), b = Math.round(Number(await jsFeel(rule)) * 100);
  all++;
  if (a !== b) differ++;
  if (a !== halves(cents * percent, true)) even++;
  if (b !== halves(cents * percent, false)) up++;
}
console.log(`of ${all} discounts ${differ} differ; feelin, to even: ${even} wrong; js-feel, up: ${up} wrong`);
const rules = [
  "decimal(1.50 * 15 / 100, 2)", "decimal(0.18 * 25 / 100, 2)", "decimal(0.42 * 25 / 100, 2)",
  "0.1 + 0.2 = 0.3", "floor(19.99 * 100)", "sum([])",
  'date and time("2026-11-30T18:00:00@Europe/Berlin") = date and time("2026-11-30T17:00:00Z")',
  'date and time("2026-11-30T18:00:00@Europe/Berlin") = date and time("2026-11-30T18:00:00Z")',
  'years and months duration(date("2026-01-31"), date("2026-02-28"))',
  'years and months duration(date("2026-01-15"), date("2027-02-14"))',
];
const show = (value) => JSON.stringify(value);
for (const rule of rules) console.log(`${rule}: ${show(feelin(rule))} and ${show(await jsFeel(rule))}`);
const facts = { total: 100, discount: 10, "total - discount": 1 };
console.log(`total - discount, of ${show(facts)}: ${feelin("total - discount", facts)} and ${await jsFeel("total - discount", facts)}`);
JS
node rules.mjs | tee seen
diff seen - <<'SEEN'
of 6000 discounts 311 differ; feelin, to even: 41 wrong; js-feel, up: 336 wrong
decimal(1.50 * 15 / 100, 2): 0.22 and "0.23"
decimal(0.18 * 25 / 100, 2): 0.04 and "0.04"
decimal(0.42 * 25 / 100, 2): 0.1 and "0.10"
0.1 + 0.2 = 0.3: false and true
floor(19.99 * 100): 1998 and 1999
sum([]): null and 0
date and time("2026-11-30T18:00:00@Europe/Berlin") = date and time("2026-11-30T17:00:00Z"): true and false
date and time("2026-11-30T18:00:00@Europe/Berlin") = date and time("2026-11-30T18:00:00Z"): false and true
years and months duration(date("2026-01-31"), date("2026-02-28")): "P1M" and "P0D"
years and months duration(date("2026-01-15"), date("2027-02-14")): "P1Y0.967741935483871M" and "P1Y"
total - discount, of {"total":100,"discount":10,"total - discount":1}: 1 and 90
SEEN
