#!/usr/bin/env bash
# Buy a pen, get one piece of anything free: which piece?
#
# Guess before the run: the cheapest piece or the dearest piece, whatever the quantities are.
# Seen (@medusajs/promotion 2.21.2, the computation of actions for a buy-get promotion):
#   - Lines are tried by their subtotal, not by the price of a piece. With four pens at 2 the
#     free piece is the book at 10; with five or six pens it is a pen. The fifth pen makes
#     the cart 10 dearer, although a pen costs 2.
#   - Six pens on two lines of three free the book again. What a customer pays depends on how
#     a cart is cut into lines.
# What follows: order single pieces by their own price, with ties in cart order, and test that
# a piece more never costs more than its price where the type of discount allows that.
# The installation takes about a minute.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @medusajs/utils@2.21.2 @medusajs/promotion@2.21.2 >/dev/null 2>&1
cat >cart.js <<'JS'
const { getComputedActionsForBuyGet } = require("@medusajs/promotion/dist/utils/compute-actions/buy-get");

const line = (product, price, quantity) => ({ id: product, quantity, subtotal: price * quantity, original_total: price * quantity, product: { id: product } });
const promotion = {
  id: "promotion", code: "CODE",
  application_method: {
    type: "percentage", value: 100, target_type: "items", allocation: "each", target_rules: [],
    buy_rules_min_quantity: 1, apply_to_quantity: 1, max_quantity: 1,
    buy_rules: [{ attribute: "items.product.id", operator: "in", values: [{ value: "pen" }] }],
  },
};
const show = (name, ...pens) => console.log(name + ": free is",
  getComputedActionsForBuyGet(promotion, [...pens, line("book", 10, 1)], new Map(), new Map(), new Map())
    .map((a) => "a " + a.item_id + " at " + String(a.amount)).join(" "));

for (const n of [2, 4, 5, 6]) show(n + " pens and a book", line("pen", 2, n));
show("3 pens, 3 pens and a book", line("pen", 2, 3), line("pen", 2, 3));
JS
node cart.js | tee seen
diff seen - <<'SEEN'
2 pens and a book: free is a book at 10
4 pens and a book: free is a book at 10
5 pens and a book: free is a pen at 2
6 pens and a book: free is a pen at 2
3 pens, 3 pens and a book: free is a book at 10
SEEN
