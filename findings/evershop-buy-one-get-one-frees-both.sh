#!/usr/bin/env bash
# Buy one, get one: how many pieces of two are free?
#
# Guess before the run: one of two, one of three, two of four.
# Seen (@evershop/evershop 2.2.1, the calculator of its coupon type buy_x_get_y):
#   - Free pieces are the whole line divided by the bought quantity, times the free quantity.
#     With "buy 1, get 1" every piece is free, from two pieces on. One piece costs its price,
#     so that the second piece makes the cart cheaper.
#   - "Buy 2, get 1" frees two of four pieces, which is half and not a third.
#   - "Buy 1, get 2" takes 60 off three pieces at 10, which is twice their price.
# What follows: a period is bought plus free pieces together, and a property holds each discount
# within the line. State the period in words beside the type, because the field is read both ways.
# The installation takes about two minutes.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @evershop/evershop@2.2.1 >/dev/null 2>&1
cat >cart.mjs <<'JS'
const { registerDefaultCalculators } = await import(
  "./node_modules/@evershop/evershop/dist/modules/promotion/services/registerDefaultCalculators.js");
const buyXGetY = registerDefaultCalculators().find((f) => f.name === "buyXGetYCalculator");

async function show(buy, get, quantity) {
  const line = { product_sku: "pen", qty: quantity, final_price: 10, final_price_incl_tax: 10 };
  const item = { getId: () => "1", getData: (key) => line[key], setData: async (key, value) => { line[key] = value; } };
  const config = [{ sku: "pen", buy_qty: String(buy), get_qty: String(get), max_y: "", discount: "100" }];
  await buyXGetY({ getItems: () => [item] }, { discount_type: "buy_x_get_y", buyx_gety: config });
  console.log(`buy ${buy} get ${get}, ${quantity} pieces at 10: ${line.discount_amount} off`);
}

for (const quantity of [1, 2, 3, 4]) await show(1, 1, quantity);
await show(2, 1, 4);
await show(1, 2, 3);
process.exit(0);
JS
SUPPRESS_NO_CONFIG_WARNING=1 node cart.mjs | tee seen
diff seen - <<'SEEN'
buy 1 get 1, 1 pieces at 10: 0 off
buy 1 get 1, 2 pieces at 10: 20 off
buy 1 get 1, 3 pieces at 10: 30 off
buy 1 get 1, 4 pieces at 10: 40 off
buy 2 get 1, 4 pieces at 10: 20 off
buy 1 get 2, 3 pieces at 10: 60 off
SEEN
