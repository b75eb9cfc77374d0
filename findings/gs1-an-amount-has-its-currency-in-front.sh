#!/usr/bin/env bash
# A payment slip and a price by weight as GS1 symbols: the amount has its currency with it (391n and 393n). Three parsers.
#
# Guess before the run: every parser gives an amount and a currency, or one text with both as it stands in the symbol.
# Seen (npm: bwip-js 4.11.4 writes; bark-js 1.2.1, gs1-barcode-parser-mod 1.2.1 and gs1js 0.0.2 read):
#   - bark-js gives 12.34 euros the value 97812.34: the number of the currency, 978, stands in front of the amount, and the
#     point is set. In Swiss francs it is 75612.34. The right amount has a field of its own, for these identifiers alone.
#   - Without a currency (390n and 392n) value is the amount, and the field "amount" is absent.
#   - gs1-barcode-parser-mod gives 12.34 and 978. gs1js takes 39 for the identifier, and the rest for the value.
#   - An expiry with the day 00, the last day of the month, is 2026-02-00 in bark-js, and a date in the other parser.
# What follows: compare an amount from a symbol with the order that it pays. Test a parser with one symbol of each identifier.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund bwip-js@4.11.4 @zxing/library@0.23.0 bark-js@1.2.1 gs1-barcode-parser-mod@1.2.1 gs1js@0.0.2 >/dev/null 2>&1
cat >read.js <<'JS'
const bwip = require("bwip-js");
const { BitArray, Code128Reader, DecodeHintType } = require("@zxing/library");
const bark = require("bark-js");
const mod = require("gs1-barcode-parser-mod");
const { GS1Reader } = require("gs1js");

function scan(text) {
  const widths = bwip.raw({ bcid: "gs1-128", text })[0].sbs;
  const line = new BitArray(2 * widths.reduce((a, b) => a + b, 0) + 40);
  let x = 20;
  widths.forEach((width, i) => { for (let k = 0; k < 2 * width; k++, x++) if (i % 2 === 0) line.set(x); });
  return new Code128Reader().decodeRow(0, line, new Map([[DecodeHintType.ASSUME_GS1, true]])).getText().replace(/^\]C1/, "");
}

const local = (date) => [date.getFullYear(), date.getMonth() + 1, date.getDate()].join("-");
for (const text of [
  "(8020)INV42(3902)1234(415)9506000134352",
  "(8020)INV42(3912)9781234(415)9506000134352",
  "(8020)INV42(3912)7561234(415)9506000134352",
  "(01)99506000134355(3922)795(3103)000250",
  "(01)99506000134355(3932)978795(3103)000250",
  "(01)09506000134352(17)260200",
]) {
  const scanned = scan(text);
  const wanted = (ai) => /^(39|17)/.test(ai);
  const [a] = bark(scanned).elements.filter((e) => wanted(e.ai));
  const [b] = mod.parseBarcode(scanned).parsedCodeItems.filter((e) => wanted(e.ai));
  const [c] = new GS1Reader(scanned).getApplicationIdentifiers().filter((e) => wanted(e.identifier));
  console.log(`${text}: bark-js ${a.value}, amount ${a.amount}; -mod ${b.data instanceof Date ? local(b.data) : b.data} ${b.unit}; gs1js ${c ? `(${c.identifier})${c.value}` : "none"}`);
}
JS
node read.js | tee seen
diff seen - <<'SEEN'
(8020)INV42(3902)1234(415)9506000134352: bark-js 12.34, amount undefined; -mod 12.34 ; gs1js (39)021234
(8020)INV42(3912)9781234(415)9506000134352: bark-js 97812.34, amount 12.34; -mod 12.34 978; gs1js (39)129781234
(8020)INV42(3912)7561234(415)9506000134352: bark-js 75612.34, amount 12.34; -mod 12.34 756; gs1js (39)127561234
(01)99506000134355(3922)795(3103)000250: bark-js 7.95, amount undefined; -mod 7.95 ; gs1js (39)22795
(01)99506000134355(3932)978795(3103)000250: bark-js 9787.95, amount 7.95; -mod 7.95 978; gs1js (39)32978795
(01)09506000134352(17)260200: bark-js 2026-02-00, amount undefined; -mod 2026-2-28 ; gs1js (17)260200
SEEN
