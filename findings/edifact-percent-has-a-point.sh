#!/usr/bin/env bash
# An EDIFACT invoice with an allowance: 12,5 percent, which is 3,75. Its header names the comma as decimal mark, as in
# most of Europe.
#
# Guess before the run: the parser gives every number as it stands, or every number with a point.
# Seen (edifact 1.2.12 of npm, its Reader with the definitions that it brings along):
#   - Percentages and prices have a point, amounts and quantities keep the comma: PCD 12.5 beside MOA 3,75.
#   - Only what its table declares numeric is converted. There the amount is text ("an..35"); in the directories of
#     EDIFACT it is a number.
#   - parseFloat of the amount is 3: of a discount of 3,75 the cents are lost, and the percentage is right.
# What follows: what has a decimal mark is text until one's own code has converted it, with the mark of the header.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund edifact@1.2.12 >/dev/null 2>&1
cat >allowance.js <<'JS'
const { Reader } = require("edifact");

const segments = { percentage: "PCD+3:12,5", amount: "MOA+204:3,75", price: "PRI+AAA:26,25", quantity: "QTY+47:1,5" };
for (const [name, segment] of Object.entries(segments)) {
  const [{ elements: [[, value]] }] = new Reader().parse("UNA:+,? '" + segment + "'");
  console.log(`${name}: ${segment} is ${JSON.stringify(value)}, parseFloat ${parseFloat(value)}`);
}
JS
node allowance.js | tee seen
diff seen - <<'SEEN'
percentage: PCD+3:12,5 is "12.5", parseFloat 12.5
amount: MOA+204:3,75 is "3,75", parseFloat 3
price: PRI+AAA:26,25 is "26.25", parseFloat 26.25
quantity: QTY+47:1,5 is "1,5", parseFloat 1
SEEN
