#!/usr/bin/env bash
# Receipts for a shop in Saudi Arabia as the tax authority wants them (UBL, 15 % VAT), without and with a coupon.
#
# Guess before the run: the tax is rounded to the nearest halala. Price times quantity, less the coupon, is the total of the line.
# Seen (zatca-xml-js 0.1.9):
#   - Amounts are cut, not rounded. Of 2,000 prices up to 20.00, the tax of 1,018 is a halala short.
#   - Sums are binary numbers before they are cut. Three at 0.15 cost 0.44, and a hundred at 4.35 cost 434.99. So are 142 of 1,500
#     lines of 2, 3 and 10 pieces.
#   - Shelf prices include the tax. Of the 100 whole prices up to 100.00, passed on as price / 1.15, four are still whole. 10.00
#     becomes 9.99.
#   - 30 off three at 100 is written as an allowance of the price, beside a price of 100. In UBL an allowance of the price explains
#     the price, which is net already. So a reader computes 300 for a line whose total is 270.
#   - The import adds a method to all numbers of the process.
# What follows: compute in halalas, and compare the payable amount of each receipt with what was paid. Where a line has a coupon,
# compute its total again from price and quantity.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund zatca-xml-js@0.1.9 >/dev/null 2>&1
cat >receipts.js <<'JS'
const before = typeof (1).toFixedNoRounding;
const { ZATCASimplifiedTaxInvoice } = require("zatca-xml-js");

const shop = {
  uuid: "1", custom_id: "till", model: "till", CRN_number: "1010101010", VAT_name: "Shop", VAT_number: "310000000000003",
  branch_name: "Shop", branch_industry: "Lamps", location: {
    city: "Riyadh", city_subdivision: "Olaya", street: "Olaya", plot_identification: "1", building: "1", postal_zone: "12211",
  },
};
function receipt(quantity, price, discounts = []) {
  const props = {
    egs_info: shop, invoice_counter_number: 1, invoice_serial_number: "1", issue_date: "2026-11-30", issue_time: "14:40:40",
    previous_invoice_hash: "0",
    line_items: [{ id: "1", name: "Lamp", quantity, tax_exclusive_price: price, VAT_percent: 0.15, discounts }],
  };
  const xml = new ZATCASimplifiedTaxInvoice({ props }).getXML().toString({ no_header: true });
  const amount = (element, text) => new RegExp(`<cbc:${element}[^>]*>([^<]*)`).exec(text)[1];
  const [line] = /<cac:InvoiceLine>[^]*/.exec(xml), [parts] = /<cac:Price>[^]*/.exec(line);
  return {
    tax: amount("TaxAmount", xml), payable: amount("PayableAmount", xml), line: amount("LineExtensionAmount", line),
    price: amount("PriceAmount", parts), allowance: discounts.length ? amount("Amount", parts) : "none",
  };
}
const cents = (amount) => Math.round(amount * 100);
const count = (list, condition) => list.filter(condition).length;
const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);

const difference = (price) => cents(receipt(1, price / 100).tax) - Math.floor((price * 15 + 50) / 100);
for (const [name, halalas] of [["short", -1], ["right", 0]]) {
  console.log(`tax ${name}`, count(upTo(2000), (price) => difference(price) === halalas));
}
console.log("three at 0.15:", receipt(3, 0.15).line, "a hundred at 4.35:", receipt(100, 4.35).line);
const lines = upTo(500).flatMap((price) => [2, 3, 10].map((quantity) => [quantity, price]));
console.log("lines short", count(lines, ([quantity, price]) => cents(receipt(quantity, price / 100).line) < quantity * price));
const whole = (price) => cents(receipt(1, price / 1.15).payable) === price * 100;
console.log("shelf prices still whole", count(upTo(100), whole), "10.00 is", receipt(1, 10 / 1.15).payable);
console.log("coupon", JSON.stringify(receipt(3, 100, [{ amount: 30, reason: "SAVE30" }])));
console.log("numbers", before, typeof (1).toFixedNoRounding);
JS
node receipts.js | tee seen
diff seen - <<'SEEN'
tax short 1018
tax right 982
three at 0.15: 0.44 a hundred at 4.35: 434.99
lines short 142
shelf prices still whole 4 10.00 is 9.99
coupon {"tax":"40.50","payable":"310.5","line":"270.00","price":"100","allowance":"30.00"}
numbers undefined function
SEEN
