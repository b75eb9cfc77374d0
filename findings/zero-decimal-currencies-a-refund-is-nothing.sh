#!/usr/bin/env bash
# Amounts become minor units for a payment provider, payments and refunds, and come back.
#
# Guess before the run: 19.99 is 1999 and -19.99 is -1999. An option that cuts instead of rounding differs by one unit at most.
# Seen (zero-decimal-currencies 1.6.0):
#   - Each refund below zero is 0, without an error, in dollars and in dinars. In yen it keeps its minus, and so it does on the way
#     back, from -1999 to -19.99.
#   - With noRound, zeros at the end are dropped before the point is: 10.00 is 10 cents, and 10.50 is 105 cents. Of the 10,000 prices
#     up to 100.00, 1,000 are wrong: each that ends in 0.
#   - The result is a text with zeros in front: 0.29 is "029", which a JSON number may not have.
#   - Dinars are rounded to two of their three decimals, as one provider wants it. It is so for every provider: 1.235 is 1240, and
#     comes back as 1.24.
# What follows: the sign of an amount is a test of its own, and so is a round amount. Compare each amount with the one that comes back.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund zero-decimal-currencies@1.6.0 >/dev/null 2>&1
cat >units.js <<'JS'
const { default: toUnits, fromSmallestUnit } = require("zero-decimal-currencies");

for (const [amount, currency] of [[19.99, "USD"], [-19.99, "USD"], [-1.5, "KWD"], [-500, "JPY"], [0.29, "USD"], [1.235, "KWD"]]) {
  const units = toUnits(amount, currency);
  console.log(`${amount} ${currency}: ${JSON.stringify(units)}, and back ${fromSmallestUnit(units, currency)}`);
}
console.log(`-1999 USD back: ${fromSmallestUnit(-1999, "USD")}`);
for (const amount of ["10.00", "10.50", "19.99"]) console.log(`${amount} USD, noRound: ${toUnits(amount, "USD", false, true)}`);
for (const [title, sign, noRound] of [["payments", 1, false], ["refunds", -1, false], ["payments, noRound", 1, true]]) {
  let wrong = 0;
  for (let cents = 1; cents <= 10000; cents++) {
    if (Number(toUnits((sign * cents / 100).toFixed(2), "USD", false, noRound)) !== sign * cents) wrong++;
  }
  console.log(`${title}: ${wrong} of 10,000 wrong`);
}
JS
node units.js | tee seen
diff seen - <<'SEEN'
19.99 USD: "1999", and back 19.99
-19.99 USD: "0", and back 0
-1.5 KWD: "0", and back 0
-500 JPY: "-500", and back -500
0.29 USD: "029", and back 0.29
1.235 KWD: "1240", and back 1.24
-1999 USD back: -19.99
10.00 USD, noRound: 10
10.50 USD, noRound: 105
19.99 USD, noRound: 1999
payments: 0 of 10,000 wrong
refunds: 10000 of 10,000 wrong
payments, noRound: 1000 of 10,000 wrong
SEEN
