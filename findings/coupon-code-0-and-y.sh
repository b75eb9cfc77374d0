#!/usr/bin/env bash
# A check symbol in each part of a code: which typing mistakes does it refuse?
#
# Guess before the run: every wrong symbol and every swap of neighbors, or a share of about 1 in 32.
# Seen (coupon-code 0.4.5, which follows Perl's Algorithm::CouponCode; all 32,768 parts of three symbols):
#   - The check is computed modulo 31, and the alphabet has 32 symbols. The first symbol and the last one,
#     0 and Y, count alike. Either may stand for the other in each place of the three: 6,144 of 4,063,232
#     wrong symbols pass, and all are this pair.
#   - Of 95,233 swaps of neighbors 128 pass, which are swaps of 0 and Y. A swap with the check symbol never passes.
#   - Y is never a check symbol.
# What follows: a check over an alphabet of n symbols needs arithmetic of n elements. A prime below n loses the
# pairs that it folds. Try every mistake of a short part; it takes seconds.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund coupon-code@0.4.5 >/dev/null 2>&1
cat >mistakes.js <<'JS'
const { validate } = require("coupon-code");
const alphabet = "0123456789ABCDEFGHJKLMNPQRTUVWXY";
const valid = (part) => validate(part, { parts: 1 }) !== "";

const parts = [];
for (const a of alphabet) for (const b of alphabet) for (const c of alphabet) {
  parts.push(a + b + c + [...alphabet].find((check) => valid(a + b + c + check)));
}
const wrong = { tried: 0, passed: 0, pairs: new Set() };
const swapped = { tried: 0, passed: 0, pairs: new Set() };
function tryIt(count, part, from, to) {
  count.tried++;
  if (valid(part)) { count.passed++; count.pairs.add([from, to].sort().join(" and ")); }
}
for (const part of parts) {
  for (let i = 0; i < 4; i++) for (const symbol of alphabet) {
    if (symbol !== part[i]) tryIt(wrong, part.slice(0, i) + symbol + part.slice(i + 1), part[i], symbol);
  }
  for (let i = 0; i < 3; i++) {
    if (part[i] !== part[i + 1]) tryIt(swapped, part.slice(0, i) + part[i + 1] + part[i] + part.slice(i + 2), part[i], part[i + 1]);
  }
}
const show = (name, c) => console.log(`${name}: ${c.passed} of ${c.tried} pass: ${[...c.pairs].join(", ")}`);
show("one wrong symbol", wrong);
show("a swap of neighbors", swapped);
console.log("never a check symbol:", [...alphabet].filter((s) => !parts.some((part) => part[3] === s)).join(" "));
JS
node mistakes.js | tee seen
diff seen - <<'SEEN'
one wrong symbol: 6144 of 4063232 pass: 0 and Y
a swap of neighbors: 128 of 95233 pass: 0 and Y
never a check symbol: Y
SEEN
