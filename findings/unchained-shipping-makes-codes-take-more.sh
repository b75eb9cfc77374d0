#!/usr/bin/env bash
# Two codes of 50 % of the order: what is left, without and with shipping?
#
# Guess before the run: a quarter in both cases (the second code halves the rest), or nothing.
# Seen (@unchainedshop/plugins 4.8.27, its pricing adapter for discounts of the whole order):
#   - Goods at 100 without shipping: 25 are left to pay, a quarter.
#   - Goods at 100 and shipping at 100: 25 are left of 200, an eighth. The second code takes its half
#     of the goods from their full price again, because the part that is left of the order includes
#     shipping. Goods then cost nothing, and shipping costs a quarter.
# What follows: a second discount needs to know what is left of each line. What is left of the order
# is not enough, and a test has shipping in every cart with two discounts.
# The installation takes about half a minute.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund \
  @unchainedshop/plugins@4.8.27 @unchainedshop/core@4.8.27 @unchainedshop/utils@4.8.27 >/dev/null 2>&1
cat >order.mjs <<'JS'
const { OrderDiscount } = await import("./node_modules/@unchainedshop/plugins/lib/pricing/order-discount/adapter.js");
const { OrderPricingSheet } = await import("@unchainedshop/core");

const row = (category, amount) => [{ category, amount, isTaxable: false, isNetPrice: false, meta: {} }];
async function show(goods, shipping, codes) {
  const calculationSheet = OrderPricingSheet({ currencyCode: "EUR" });
  calculationSheet.addItems({ amount: goods, taxAmount: 0 });
  if (shipping) calculationSheet.addDelivery({ amount: shipping, taxAmount: 0 });
  const context = {
    order: { currencyCode: "EUR" }, orderPayment: null,
    orderDelivery: { calculation: shipping ? row("DELIVERY", shipping) : [] },
    orderPositions: [{ calculation: row("ITEM", goods), quantity: 1 }],
  };
  const discounts = Array.from({ length: codes }, (_, i) => ({ discountId: String(i), configuration: { rate: 0.5 } }));
  const rows = await OrderDiscount.actions({ context, calculationSheet, discounts }).calculate();
  const left = rows.reduce((sum, r) => sum + r.amount, goods + shipping);
  console.log(`goods ${goods}, shipping ${shipping}, ${codes} codes of 50 %: ${left} left to pay`);
}

await show(100, 0, 1);
await show(100, 100, 1);
await show(100, 0, 2);
await show(100, 100, 2);
process.exit(0);
JS
node order.mjs 2>/dev/null | tee seen
diff seen - <<'SEEN'
goods 100, shipping 0, 1 codes of 50 %: 50 left to pay
goods 100, shipping 100, 1 codes of 50 %: 100 left to pay
goods 100, shipping 0, 2 codes of 50 %: 25 left to pay
goods 100, shipping 100, 2 codes of 50 %: 25 left to pay
SEEN
