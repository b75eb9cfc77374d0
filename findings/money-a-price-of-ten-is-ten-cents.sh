#!/usr/bin/env bash
# Prices as text, two decimals each, become money.
#
# Guess before the run: "10.00" is 1,000 cents, as the README of the library has it.
# Seen (@half0wl/money 1.0.2, Money.fromString):
#   - "10.00" is 10 cents, and "10.01" is 1,001 cents. Whoever has decimals that are not zero is multiplied by 100.
#   - The text is made a number first, and a number without a fraction counts as minor units. So the text "10.00" equals "10".
#   - Of the 10,000 prices from 0.01 to 100.00, all 100 without cents are wrong, each a hundredth. A cart of 20.00 and 0.99
#     costs 1.19.
#   - In yen, which have no decimals, both readings agree.
# What follows: whether a text is in major or minor units is a fact of the column, never of its digits. A test of a parser of
# amounts has a round amount among the others.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @half0wl/money@1.0.2 >/dev/null 2>&1
cat >read.js <<'JS'
const { Money } = require("@half0wl/money");

const cents = (text) => Money.fromString("USD", text).getAmount();
for (const text of ["9.99", "10.00", "10.01", "10"]) console.log(`${text} is ${cents(text)} cents`);
const all = Array.from({ length: 10_000 }, (_, i) => i + 1);
const wrong = all.filter((amount) => cents((amount / 100).toFixed(2)) !== amount);
console.log(`${wrong.length} of ${all.length} are wrong; all without cents: ${wrong.every((amount) => amount % 100 === 0)}, all a hundredth: ${
  wrong.every((amount) => cents((amount / 100).toFixed(2)) === amount / 100)}`);
console.log(`20.00 and 0.99 cost ${Money.fromString("USD", "20.00").add(Money.fromString("USD", "0.99")).toLocaleString()}`);
console.log(`500 yen are ${Money.fromString("JPY", "500").getAmount()}`);
JS
node read.js | tee seen
diff seen - <<'SEEN'
9.99 is 999 cents
10.00 is 10 cents
10.01 is 1001 cents
10 is 10 cents
100 of 10000 are wrong; all without cents: true, all a hundredth: true
20.00 and 0.99 cost $1.19
500 yen are 500
SEEN
