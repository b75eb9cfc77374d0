#!/usr/bin/env bash
# The price and the discount of one voucher, by the helpers that Voucherify's Node client has for shops.
#
# Guess before the run: price and discount add up to the base price, and a cart that is free costs 0.
# Seen (voucherify 5.2.0, utils.calculatePrice and utils.calculateDiscount):
#   - Every piece of a line is free: of 8,000 lines 580 cost NaN, such as three at 0.29. The discount is right.
#     The base less the product is a very small number above 0. Rounding appends "e+2" to its text, which has
#     an exponent already.
#   - The same NaN for 0.30 off a cart that was summed up as 0.1 + 0.2, and for a gift card of 0.30.
#   - A percentage rounds price and discount, each for itself, up at half a cent: 50% of 0.05 is 0.03 off and
#     0.03 to pay. Of 25,000 pairs 4,827 add up to one cent too much, and ten to one cent too little.
# What follows: compute the discount, and the price as the rest, in whole minor units.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund voucherify@5.2.0 >/dev/null 2>&1
cat >sums.js <<'JS'
const { calculatePrice, calculateDiscount } = require("voucherify/utils");

function both(base, voucher, unit) {
  return `price ${calculatePrice(base, voucher, unit)}, discount ${calculateDiscount(base, voucher, unit)}`;
}
const units = (n) => ({ discount: { type: "UNIT", unit_off: n } });
const percent = (p) => ({ discount: { type: "PERCENT", percent_off: p } });

let lines = 0, free = 0;
for (let cents = 1; cents <= 2000; cents++) for (let n = 2; n <= 5; n++) {
  lines++;
  if (Number.isNaN(calculatePrice(cents * n / 100, units(n), cents / 100))) free++;
}
console.log(`all pieces free: ${free} of ${lines} lines cost NaN`);
let pairs = 0, more = 0, less = 0;
for (let cents = 1; cents <= 5000; cents++) for (const p of [10, 12.5, 15, 25, 50]) {
  pairs++;
  const base = cents / 100;
  const cent = Math.round((calculatePrice(base, percent(p)) + calculateDiscount(base, percent(p))) * 100) - cents;
  if (cent === 1) more++;
  if (cent === -1) less++;
}
console.log(`percentages: of ${pairs} pairs ${more} are one cent more than the base, ${less} one cent less`);
console.log("3 of 3 free at 0.29:", both(0.87, units(3), 0.29));
console.log("3 of 3 free at 0.28:", both(0.84, units(3), 0.28));
console.log("0.30 off 0.1 + 0.2:", both(0.1 + 0.2, { discount: { type: "AMOUNT", amount_off: 30 } }));
console.log("gift card of 0.30:", both(0.1 + 0.2, { gift: { balance: 30 } }));
console.log("50% of 0.05:", both(0.05, percent(50)));
JS
node sums.js | tee seen
diff seen - <<'SEEN'
all pieces free: 580 of 8000 lines cost NaN
percentages: of 25000 pairs 4827 are one cent more than the base, 10 one cent less
3 of 3 free at 0.29: price NaN, discount 0.87
3 of 3 free at 0.28: price 0, discount 0.84
0.30 off 0.1 + 0.2: price NaN, discount 0.3
gift card of 0.30: price NaN, discount 0.3
50% of 0.05: price 0.03, discount 0.03
SEEN
