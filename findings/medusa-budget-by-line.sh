#!/usr/bin/env bash
# A campaign with a spend budget, asked what a cart gets.
#
# Guess before the run: the discount of the cart as a whole is held to the budget; and what
# is spread over lines has the currency's decimals.
# Seen (@medusajs/promotion 2.11.3, the computation of actions for line items):
#   - The budget is compared with the discount of each line by itself. Half off three lines of
#     10 is 15; with 8 left in the budget all three lines are discounted. The same three
#     pieces on one line are refused. So a budget ends by how a cart is cut into lines.
#   - 10 off three equal lines is 3.3333333333333333333 on each: nothing is rounded here, and
#     the cents are decided wherever the amounts are shown or charged.
# What follows: claim a budget with the sum of the quote, once, and spread whole cents.
# The installation takes about a minute.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @medusajs/utils@2.11.3 @medusajs/promotion@2.11.3 >/dev/null 2>&1
cat >cart.js <<'JS'
const { getComputedActionsForItems } = require("@medusajs/promotion/dist/utils/compute-actions/line-items");

const line = (id, quantity) => ({ id, quantity, subtotal: 10 * quantity, original_total: 10 * quantity });
const promotion = (type, value, campaign) => ({
  id: "promotion", code: "CODE", campaign,
  application_method: { type, value, target_type: "items", allocation: "across", target_rules: [] },
});
const show = (name, p, lines) => console.log(name + ":",
  getComputedActionsForItems(p, lines, new Map()).map((a) => a.amount === undefined ? a.action : String(a.amount)).join(" "));

const budget = { budget: { type: "spend", limit: 8, used: 0 } };
show("three lines", promotion("percentage", 50, budget), [line("a", 1), line("b", 1), line("c", 1)]);
show("one line of three", promotion("percentage", 50, budget), [line("a", 3)]);
show("10 off three lines", promotion("fixed", 10), [line("a", 1), line("b", 1), line("c", 1)]);
JS
node cart.js | tee seen
diff seen - <<'SEEN'
three lines: 5 5 5
one line of three: campaignBudgetExceeded
10 off three lines: 3.3333333333333333333 3.3333333333333333333 3.3333333333333333333
SEEN
