#!/usr/bin/env bash
# What is due now, and what each month, of an order with a coupon: by the helpers that a learning platform has in its checkout.
#
# Guess before the run: a total that is passed in is what is due, also where it is 0. A coupon of 5 off takes 5 off an order.
# Seen (couponable 7.0.0):
#   - A total of 0 counts as absent. The order that a gift card paid in full has 30.00 to pay again, and reads "$30.00".
#   - 5 off three seats takes 15 off. Three of a bundle have 5 off.
#   - With a coupon "forever", a total that is passed in is the price of each later month too. A first month of 3.00 makes every
#     month 3.00.
#   - The surcharge of a variation is due once. The text promises the price without it: 15.00 now, "then $10.00".
# What follows: a library that takes a computed total tells 0 from an absent one. Test a free order, and an order of three pieces.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund couponable@7.0.0 >/dev/null 2>&1
cat >due.js <<'JS'
const { totalDescription, totalDueNow, totalRecurring } = require("couponable");

function show(title, order) {
  console.log(`${title}: now ${totalDueNow(order)}, monthly ${totalRecurring(order)}, "${totalDescription(order)}"`);
}
const off5 = (duration) => ({ amountOffInCents: 500, duration });
const seats = { quantity: 3, priceInCents: 1000, interval: "month" };
const bundle = { ...seats, purchasableType: "bundle" };
show("three seats, total 100", { ...seats, total: 100 });
show("three seats, total 0", { ...seats, total: 0 });
show("three seats, 5 off", { ...seats, coupon: off5("once") });
show("bundle of three, 5 off", { ...bundle, coupon: off5("once") });
show("bundle, 5 off forever", { ...bundle, quantity: 1, coupon: off5("forever") });
show("bundle, 5 off forever, first month prorated", { ...bundle, quantity: 1, coupon: off5("forever"), total: 300 });
show("bundle with a variation", { ...bundle, quantity: 1, variation: { priceInCents: 1000 }, coupon: off5("once") });
JS
node due.js | tee seen
diff seen - <<'SEEN'
three seats, total 100: now 100, monthly null, "$1.00"
three seats, total 0: now 3000, monthly null, "$30.00"
three seats, 5 off: now 1500, monthly null, "$15.00"
bundle of three, 5 off: now 2500, monthly 3000, "$25.00 for the first month, then $30.00 / month"
bundle, 5 off forever: now 500, monthly 500, "$5.00 / month"
bundle, 5 off forever, first month prorated: now 300, monthly 300, "$3.00 / month"
bundle with a variation: now 1500, monthly 1000, "$15.00 for the first month, then $10.00 / month"
SEEN
