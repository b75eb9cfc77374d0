#!/usr/bin/env bash
# A library for the prices on a page is added to a shop that computes with another one. Then 25 % off a price of 100.
#
# Guess before the run: each library rounds its own numbers. A price with a discount is the same in each text.
# Seen (@financial-times/n-pricing 7.1.0 and @dintero/money 1.0.11, which share big.js 6.2.2 in one installation):
#   - n-pricing wants to round up, and sets that for big.js as a whole. From its import on, everyone's numbers are rounded away
#     from zero: 90 % of 19.99 was 17.99 in @dintero/money, and is 18.00. So is new Big("2.341").toFixed(2), which is 2.35.
#   - Of the 10,000 prices up to 100.00, 90 % are 40.00 more, summed up. A tenth of a refund of 0.01 was nothing, and is 0.01.
#   - It depends on which modules a process has loaded. A test of the shop's own module, which does not load n-pricing, is green.
#   - With @dintero/money 1.1.12, which has big.js 7, nothing changes: an installation has both versions then.
#   - A price with 25 % off is £75.00 by getAmount, and £100.00 by getAmountFormatted.
#   - Compared with 100, a price of 75 is 33 % off, and a price of 50 is 100 %: the percentage is of the new price.
# What follows: pass the way of rounding with each call. A test that compares a sum before and after an import finds such a library.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/prices.js" <<'JS'
const { Money } = require("@dintero/money");
const Big = require("big.js");

function show(title) {
  const share = (amount, factor) => Money.of(amount, "EUR").multiply(factor).toString();
  let cents = 0;
  for (let price = 1; price <= 10000; price++) cents += Math.round(Number(share((price / 100).toFixed(2), "0.9")) * 100);
  console.log(`${title}: 19.99 * 0.9 = ${share("19.99", "0.9")}, -0.01 * 0.1 = ${share("-0.01", "0.1")}, `
    + `2.341 = ${new Big("2.341").toFixed(2)}, all prices * 0.9 = ${cents / 100}`);
}
show("before");
const { Price } = require("@financial-times/n-pricing");
show("after");
if (process.argv[2] === "more") {
  const price = (value) => new Price({ value, currency: "GBP", symbol: "£" });
  const reduced = price("100.00").discount(-0.25);
  console.log(`25 % off: ${reduced.getAmount()}, formatted ${reduced.getAmountFormatted()}`);
  for (const value of ["75.00", "50.00"]) console.log(`${value} instead of 100: ${JSON.stringify(price(value).compare("100.00"))}`);
}
JS
for version in 1.0.11 1.1.12; do
  mkdir "$dir/$version"
  cd "$dir/$version"
  npm init -y >/dev/null
  big=6.2.2
  [[ $version == 1.0.11 ]] || big=7.0.1
  npm install --silent --ignore-scripts --no-audit --no-fund "@dintero/money@$version" "big.js@$big" \
    @financial-times/n-pricing@7.1.0 >/dev/null 2>&1
  cp ../prices.js .
done
cd "$dir"
{
  (cd 1.0.11 && node prices.js more)
  echo "@dintero/money 1.1.12"
  (cd 1.1.12 && node prices.js)
} | tee seen
diff seen - <<'SEEN'
before: 19.99 * 0.9 = 17.99, -0.01 * 0.1 = 0.00, 2.341 = 2.34, all prices * 0.9 = 450050
after: 19.99 * 0.9 = 18.00, -0.01 * 0.1 = -0.01, 2.341 = 2.35, all prices * 0.9 = 450090
25 % off: £75.00, formatted £100.00
75.00 instead of 100: {"value":"£25.00","percentage":"33%"}
50.00 instead of 100: {"value":"£50.00","percentage":"100%"}
@dintero/money 1.1.12
before: 19.99 * 0.9 = 17.99, -0.01 * 0.1 = 0.00, 2.341 = 2.34, all prices * 0.9 = 450050
after: 19.99 * 0.9 = 17.99, -0.01 * 0.1 = 0.00, 2.341 = 2.34, all prices * 0.9 = 450050
SEEN
