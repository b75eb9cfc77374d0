#!/usr/bin/env bash
# 20 off each piece of chosen products: does the order of the lines matter?
#
# Guess before the run: no; each piece gets 20 off, or its whole price if it costs less.
# Seen (@evershop/evershop 2.2.1, its coupon type fixed_discount_to_specific_products):
#   - The amount is lowered to the price of a cheap piece, and stays so for all lines that follow.
#     A cable at 5 before a phone at 100 takes 5 off each. The phone first takes 20 and 5.
#   - A percentage has two readings: 12.5 is 12 for the whole order and 12.5 for chosen products.
# What follows: a cap belongs to one piece, and a property permutes the lines of every cart.
# The look-up of collections needs a database; an empty answer stands for a shop without any.
# The installation takes about two minutes.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @evershop/evershop@2.2.1 >/dev/null 2>&1
cat >cart.mjs <<'JS'
const dist = "./node_modules/@evershop/evershop/dist/";
const { pool } = await import(dist + "lib/postgres/connection.js");
pool.connect = async () => ({ query: async () => ({ rows: [] }), release() {} });
const { registerDefaultCalculators } = await import(dist + "modules/promotion/services/registerDefaultCalculators.js");
const calculators = Object.fromEntries(registerDefaultCalculators().map((f) => [f.name, f]));

const line = (name, price) => ({ name, product_id: 1, qty: 1, final_price: price, line_total: price });
const item = (l) => ({ getId: () => l.name, getData: (key) => l[key], setData: async (key, value) => { l[key] = value; } });
async function show(title, calculator, coupon, ...lines) {
  const cart = { getItems: () => lines.map(item), getData: () => lines.reduce((sum, l) => sum + l.line_total, 0) };
  await calculators[calculator](cart, coupon);
  console.log(title + ":", lines.map((l) => `${l.name} ${l.discount_amount}`).join(", "));
}

const products = { maxQty: "10", products: [] };
const twenty = { discount_type: "fixed_discount_to_specific_products", discount_amount: "20", target_products: products };
await show("20 off each, cable first", "discountToSpecificProductsCalculator", twenty, line("cable", 5), line("phone", 100));
await show("20 off each, phone first", "discountToSpecificProductsCalculator", twenty, line("phone", 100), line("cable", 5));
await show("12.5 % of chosen products", "discountToSpecificProductsCalculator",
  { discount_type: "percentage_discount_to_specific_products", discount_amount: "12.5", target_products: products }, line("phone", 100));
await show("12.5 % of the whole order", "percentageDiscountToEntireOrderCalculator",
  { discount_type: "percentage_discount_to_entire_order", discount_amount: "12.5" }, line("phone", 100));
process.exit(0);
JS
SUPPRESS_NO_CONFIG_WARNING=1 node cart.mjs | tee seen
diff seen - <<'SEEN'
20 off each, cable first: cable 5, phone 5
20 off each, phone first: phone 20, cable 5
12.5 % of chosen products: phone 12.5
12.5 % of the whole order: phone 12
SEEN
