#!/usr/bin/env bash
# A payment is split over three lines, and its refund, the same amount below zero, over the same lines. What is left of each line?
#
# Guess before the run: nothing. The refund is the mirror image, line by line.
# Seen (npm: dinero.js 2.0.2, currency.js 2.0.4, @dintero/money 1.1.12, ts-money 0.4.8, js-money 0.6.3, @easymoney/money
# 1.0.2):
#   - In the first three it is. In the other three, 1.00 is 34, 33 and 33 cents, and -1.00 is -33, -33 and -34. The last line gets back
#     a cent more than it cost. The first one keeps a cent.
#   - It is so for 667 of 1,000 payments over three equal lines: each that cannot be divided by three. The sums are right.
#   - Why: in a refund, shares are rounded away from zero first. Then the first lines have the cents back that are too many.
#   - js-money rounds half a cent up, also below zero: half of 0.05 is 0.03, and half of -0.05 is -0.02. ts-money and dinero.js
#     ask for a way of rounding; halfUp of dinero.js makes 0.01 and 0.00 of half a cent.
# What follows: allocate the positive amount and turn the sign of each share. A property compares split(-x) with -split(x).
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund dinero.js@2.0.2 currency.js@2.0.4 @dintero/money@1.1.12 ts-money@0.4.8 \
  js-money@0.6.3 @easymoney/money@1.0.2 >/dev/null 2>&1
cat >refund.mjs <<'JS'
import { createRequire } from "node:module";
import { allocate, dinero, halfUp, toSnapshot, transformScale } from "dinero.js";
const require = createRequire(import.meta.url);
const currency = require("currency.js");
const { Money: Dintero } = require("@dintero/money");
const { Money: TsMoney } = require("ts-money");
const JsMoney = require("js-money");
const { createMoney } = require("@easymoney/money");

const EUR = { code: "EUR", base: 10, exponent: 2 };
const lines = [1, 1, 1];
const libraries = {
  "dinero.js": (cents) => allocate(dinero({ amount: cents, currency: EUR }), lines).map((share) => toSnapshot(share).amount),
  "currency.js": (cents) => currency(cents, { fromCents: true }).distribute(3).map((share) => share.intValue),
  "@dintero/money": (cents) => Dintero.fromFractionlessAmount(cents, "EUR").distributeBy(lines).map((share) => share.toFractionlessAmount()),
  "ts-money": (cents) => new TsMoney(cents, "EUR").allocate(lines).map((share) => share.amount),
  "js-money": (cents) => new JsMoney(cents, JsMoney.EUR).allocate(lines).map((share) => share.amount),
  "@easymoney/money": (cents) => createMoney({ amount: cents, currency: "EUR" }).allocate(lines).map((share) => Number(share.getAmount())),
};
for (const [name, split] of Object.entries(libraries)) {
  let differs = 0, sums = 0;
  for (let cents = 1; cents <= 1000; cents++) {
    const paid = split(cents), back = split(-cents);
    if (paid.some((share, i) => share + back[i] !== 0)) differs++;
    if (back.reduce((sum, share) => sum + share, 0) !== -cents) sums++;
  }
  console.log(`${name}: ${split(100)} and ${split(-100)}; differ ${differs} of 1000, wrong sums ${sums}`);
}
const half = (cents) => new JsMoney(cents, JsMoney.EUR).multiply(0.5).amount;
console.log(`js-money, half of 5 and -5: ${half(5)}, ${half(-5)}`);
const whole = (tenths) => toSnapshot(transformScale(dinero({ amount: tenths, currency: EUR, scale: 3 }), 2, halfUp)).amount + 0;
console.log(`dinero.js, halfUp of 0.005 and -0.005: ${whole(5)}, ${whole(-5)}`);
JS
node refund.mjs | tee seen
diff seen - <<'SEEN'
dinero.js: 34,33,33 and -34,-33,-33; differ 0 of 1000, wrong sums 0
currency.js: 34,33,33 and -34,-33,-33; differ 0 of 1000, wrong sums 0
@dintero/money: 34,33,33 and -34,-33,-33; differ 0 of 1000, wrong sums 0
ts-money: 34,33,33 and -33,-33,-34; differ 667 of 1000, wrong sums 0
js-money: 34,33,33 and -33,-33,-34; differ 667 of 1000, wrong sums 0
@easymoney/money: 34,33,33 and -33,-33,-34; differ 667 of 1000, wrong sums 0
js-money, half of 5 and -5: 3, -2
dinero.js, halfUp of 0.005 and -0.005: 1, 0
SEEN
