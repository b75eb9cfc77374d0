#!/usr/bin/env bash
# A cart with a shirt at 40, and one with a name on it, which costs 15 more. And a shirt that is put in again after its price has
# changed.
#
# Guess before the run: two lines in either order, 95 together. A changed price counts for both pieces, or for the new piece.
# Seen (@ecomplus/shopping-cart 2.6.0, which shops on e-com.plus have in the browser):
#   - With the plain shirt first, there is one line of two plain shirts for 80. The name is gone, and so are 15. In the other order
#     it is 95. Only the line in the cart is asked whether it has a customization, and not the new one.
#   - In the same way the gift wrap of a second piece is gone.
#   - Put in again at 30, the line says a price of 30 and costs 40 a piece. Put in again at 50, it costs 40.
#   - A shirt that a customization makes free costs 40: a final price of 0 counts as absent.
# What follows: lines are merged where everything that a customer has chosen is the same, and prices are computed again after each
# change. A property puts the same pieces in, in each order.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @ecomplus/shopping-cart@2.6.0 >/dev/null 2>&1
cat >cart.js <<'JS'
const { Constructor: Cart } = require("@ecomplus/shopping-cart");

const shirt = (price, ...customizations) => ({
  product_id: "5f1f1f1f1f1f1f1f1f1f1f1f", sku: "shirt", name: "shirt", quantity: 1, price,
  ...customizations.length && { customizations: customizations.map((add, i) => ({ _id: `5e1e1e1e1e1e1e1e1e1e1e1${i}`, ...add })) },
});
const name = { label: "name", option: { text: "Ann" }, add_to_price: { type: "fixed", addition: 15 } };
const wrap = { label: "gift wrap", option: { text: "blue" } };
const gift = { label: "gift", add_to_price: { type: "percentage", addition: -100 } };
const plain = shirt(40), named = shirt(40, name), wrapped = shirt(40, wrap);
const carts = {
  "plain, named": [plain, named], "named, plain": [named, plain], "named, named": [named, named],
  "plain, wrapped": [plain, wrapped], "wrapped, plain": [wrapped, plain],
  "40, then 30": [plain, shirt(30)], "40, then 50": [plain, shirt(50)],
  gift: [shirt(40, gift)],
};
for (const [title, items] of Object.entries(carts)) {
  const cart = new Cart(1, null, null);
  for (const item of items) cart.addItem(structuredClone(item), false);
  const lines = cart.data.items.map(({ quantity, price, customizations = [] }) =>
    `${quantity} at ${price}${customizations.map(({ label }) => ` with ${label}`).join("")}`);
  console.log(`${title}: ${cart.data.subtotal} (${lines.join(", ")})`);
}
JS
node cart.js | tee seen
diff seen - <<'SEEN'
plain, named: 80 (2 at 40)
named, plain: 95 (1 at 40 with name, 1 at 40)
named, named: 110 (1 at 40 with name, 1 at 40 with name)
plain, wrapped: 80 (2 at 40)
wrapped, plain: 80 (1 at 40 with gift wrap, 1 at 40)
40, then 30: 80 (2 at 30)
40, then 50: 80 (2 at 50)
gift: 40 (1 at 40 with gift)
SEEN
