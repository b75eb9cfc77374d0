#!/usr/bin/env bash
# Three pieces on one line with an order discount, all of them refunded by the line.
#
# Guess before the run: a whole line that is refunded at once gives what the line cost; only
# pieces that are refunded one by one may be a cent off.
# Seen (@vendure/core 3.7.3, its default money strategy, amounts in cents):
#   - A refund by lines is the rounded price of one piece times the pieces. So also the whole
#     line at once is off: of a line that cost 20.00, 20.01 is refunded; of one that cost
#     19.99, 19.98, and the last cent is never asked for.
#   - The line's own price is rounded once. Line and refund agree only where the discount
#     can be divided by the pieces.
# Refunds by lines are deprecated in favour of an amount that the caller computes. Whoever
# computes it from the prices of pieces has the same cents.
# What follows: a refund is the difference of two allocations of the quote, never a price of a
# piece times a number; and what is to be returned is held to what was paid.
# The installation takes about a minute.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @vendure/core@3.7.3 >/dev/null 2>&1
cat >refund.js <<'JS'
const { OrderLine, PaymentService } = require("@vendure/core");

async function show(discount) {
  const line = new OrderLine({
    id: 1, quantity: 3, orderPlacedQuantity: 3, listPrice: 1000, initialListPrice: 1000, listPriceIncludesTax: true, taxLines: [],
    adjustments: [{ type: "DISTRIBUTED_ORDER_PROMOTION", adjustmentSource: "PROMOTION:1", description: "", amount: -discount, data: {} }],
  });
  const connection = { getRepository: () => ({ find: async () => [line] }) };
  const refund = (quantity) => PaymentService.prototype.getRefundAmount.call(
    { connection }, {}, { lines: [{ orderLineId: 1, quantity }] });
  console.log(`discount ${discount}: paid ${line.proratedLinePriceWithTax}, refund of 3 ${(await refund(3)).total}, of 1 ${(await refund(1)).total}`);
}

(async () => { for (const discount of [999, 1000, 1001]) await show(discount); })();
JS
node refund.js | tee seen
diff seen - <<'SEEN'
discount 999: paid 2001, refund of 3 2001, of 1 667
discount 1000: paid 2000, refund of 3 2001, of 1 667
discount 1001: paid 1999, refund of 3 1998, of 1 666
SEEN
