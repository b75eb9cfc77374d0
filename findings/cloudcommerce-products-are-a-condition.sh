#!/usr/bin/env bash
# 10 % off chosen products, and 10 % off a chosen category: of what?
#
# Guess before the run: of the chosen products, in both cases.
# Seen (@cloudcommerce/app-discounts 2.63.2, which answers what a cart gets in shops on e-com.plus):
#   - Chosen products are a condition. With a pen at 10 and a desk at 990, 10 % "for the pen" is 100, of the whole order.
#   - A chosen category is a scope. 10 % for the pen's category is 1. 50 off the pen is 50, and 50 off its category 10.
#   - The description of the discount, which has each product's share, says 100.00 for the pen.
#   - The category's percentage leaves as a fixed amount: the cart is told "1 off", and no percentage.
#   - A kit counts by its order too, unless it asks for a quantity of the same product.
# What follows: what a list of products restricts, the order or the discount, is two fields. An import has to know which.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @cloudcommerce/app-discounts@2.63.2 >/dev/null 2>&1
cat >cart.mjs <<'JS'
const { default: applyDiscount } = await import("./node_modules/@cloudcommerce/app-discounts/lib-mjs/apply-discount.mjs");

const items = [
  { product_id: "pen", sku: "pen", name: "pen", quantity: 1, price: 10, categories: [{ _id: "paper" }] },
  { product_id: "desk", sku: "desk", name: "desk", quantity: 1, price: 990, categories: [{ _id: "rooms" }] },
];
async function show(title, data) {
  const { discount_rule: rule, available_extra_discount: offered } = await applyDiscount({
    params: { items, amount: { subtotal: 1000, total: 1000, freight: 0, discount: 0 }, discount_coupon: "TEN" },
    application: { data: { describe_discounted_items: true, ...data }, hidden_data: {} },
  });
  const text = (rule.description ?? "").split("\n").filter((line) => line.includes(": ")).join(", ").trim();
  console.log(`${title}: ${rule.extra_discount.value}, offered as ${offered?.type ?? "nothing"} ${offered?.value ?? ""} (${text})`);
}
for (const discount of [{ type: "percentage", value: 10 }, { type: "fixed", value: 50 }]) {
  for (const scope of [{}, { product_ids: ["pen"] }, { category_ids: ["paper"] }]) {
    const rule = { discount_coupon: "TEN", ...scope, discount: { ...discount } };
    await show(`${discount.type} ${discount.value} ${JSON.stringify(scope)}`, { discount_rules: [rule] });
  }
}
const kit = { label: "kit", product_ids: ["pen"], min_quantity: 1, discount: { type: "percentage", value: 10 } };
await show("kit", { product_kit_discounts: [{ ...kit }] });
await show("kit of the same product", { product_kit_discounts: [{ ...kit, same_product_quantity: true }] });
JS
node cart.mjs | tee seen
diff seen - <<'SEEN'
percentage 10 {}: 100, offered as percentage 10 ()
percentage 10 {"product_ids":["pen"]}: 100, offered as percentage 10 (pen: 100.00)
percentage 10 {"category_ids":["paper"]}: 1, offered as fixed 1 (pen: 1.00)
fixed 50 {}: 50, offered as fixed 50 ()
fixed 50 {"product_ids":["pen"]}: 50, offered as fixed 50 (pen: 50.00)
fixed 50 {"category_ids":["paper"]}: 10, offered as fixed 10 (pen: 10.00)
kit: 100, offered as nothing  (pen: 100.00)
kit of the same product: 1, offered as nothing  (pen: 1.00)
SEEN
