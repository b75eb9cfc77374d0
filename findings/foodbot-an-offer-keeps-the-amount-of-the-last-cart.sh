#!/usr/bin/env bash
# 10 % off with a cap of 5, of the carts of three customers, one after the other, with the offer as it was loaded once.
#
# Guess before the run: the offer decides each cart by itself. A cart of 20 has 2 off, before and after a cart of 100.
# Seen (foodbot-cart-calculations 1.2.9, offerCalculation, which its calculateTax calls with the offer of the request):
#   - The cart that reaches the cap turns the offer into 5 off, in the caller's object. The same cart of 20 then has 5 off.
#   - With "discount_roundoff" any cart does so. After a cart of 104, which has 10 off, a cart of 20 has 10 off, which is half.
#   - With an offer loaded anew for each cart, 20 has 2 off. So a test with one cart for each offer does not see it.
#   - Rounded, 10 % of 4 is nothing: 0.40 is rounded to a whole unit of the currency.
#   - 10 off three lines of 10 is 3.34, 3.33 and 3.33.
# What follows: a calculation leaves its arguments alone. A property decides a cart twice, with another cart in between.
# The lines that the library prints for its authors are left out.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund foodbot-cart-calculations@1.2.9 >/dev/null 2>&1
cat >carts.js <<'JS'
const { offerCalculation } = require("foodbot-cart-calculations/functions/promotionCalculation");

const offer = (facts) => ({
  offer_id: 1, offer_discount_type: "discount", oo_offer_type: "percentage", oo_offer_value: 10, oo_min_amount: 0,
  offer_products: { offer_discount_products: [1], package_items: [] }, ...facts,
});
async function decide(prices, given) {
  const lines = prices.map((price) => ({ item_id: 1, item_price: price, quantity: 1, isPackage: 0, category_id: 1, item_modifiers: [] }));
  const cart = await offerCalculation({ item_details: lines }, given);
  return `${prices.join(" + ")} has ${Number(cart.discount)} off (${cart.item_details.map((line) => line.promotion_discount).join(", ")})`;
}

(async () => {
  const capped = offer({ max_discount_amount: 5 }), rounded = offer({ discount_roundoff: 1 });
  for (const price of [20, 100, 20]) console.log(`cap of 5: ${await decide([price], capped)}; the offer is ${capped.oo_offer_value} ${capped.oo_offer_type}`);
  for (const price of [104, 20]) console.log(`rounded: ${await decide([price], rounded)}; the offer is ${rounded.oo_offer_value} ${rounded.oo_offer_type}`);
  for (const price of [20, 4]) console.log(`rounded, loaded anew: ${await decide([price], offer({ discount_roundoff: 1 }))}`);
  console.log(`10 off: ${await decide([10, 10, 10], offer({ oo_offer_type: "absolute" }))}`);
})();
JS
node carts.js | grep -v '^total' | tee seen
diff seen - <<'SEEN'
cap of 5: 20 has 2 off (2.00); the offer is 10 percentage
cap of 5: 100 has 5 off (5.00); the offer is 5 absolute
cap of 5: 20 has 5 off (5.00); the offer is 5 absolute
rounded: 104 has 10 off (10.00); the offer is 10 absolute
rounded: 20 has 10 off (10.00); the offer is 10 absolute
rounded, loaded anew: 20 has 2 off (2.00)
rounded, loaded anew: 4 has 0 off (0.00)
10 off: 10 + 10 + 10 has 10 off (3.34, 3.33, 3.33)
SEEN
