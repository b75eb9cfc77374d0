#!/usr/bin/env bash
# A coupon code with % + / or $, which Code 39 has among its 43 symbols, printed and read again.
#
# Guess before the run: whoever reads it gets the code back that was printed, and is written below the bars.
# Seen (bwip-js 4.11.4, read by zxing-wasm 3.1.4 with its default options and by @zxing/library 0.23.0):
#   - zxing-wasm takes one of these symbols with the letter behind it for a pair of "full ASCII", wherever all of
#     them in a code have a letter of such a pair. 10%OFF is read as 10_FF, A/B-10 as A"-10, and B+G as Bg.
#   - Where one sign is followed by a digit, the code stays: BUY1+1, or A/B%5.
#   - Letters written in lower case for full ASCII come back right, and as +S+A+V+E10 from @zxing/library.
#   - The bars do not say which kind they are. The format "Code39Std" reads the code as it was printed.
# What follows: Code 128, or codes of letters, digits and dashes. A reader is told the formats that are printed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund bwip-js@4.11.4 zxing-wasm@3.1.4 @zxing/library@0.23.0 pngjs@7.0.0 >/dev/null 2>&1
cat >read.js <<'JS'
const { readFileSync } = require("node:fs");
const bwip = require("bwip-js");
const { PNG } = require("pngjs");
const zxing = require("@zxing/library");
const wasm = require("zxing-wasm/reader");

wasm.prepareZXingModule({ overrides: { wasmBinary: readFileSync("node_modules/zxing-wasm/dist/reader/zxing_reader.wasm") } });

function readLibrary(png) {
  const { width, height, data } = PNG.sync.read(png);
  const gray = Uint8ClampedArray.from({ length: width * height }, (_, i) => data[4 * i]);
  const bitmap = new zxing.BinaryBitmap(new zxing.HybridBinarizer(new zxing.RGBLuminanceSource(gray, width, height)));
  return new zxing.MultiFormatOneDReader(new Map()).decode(bitmap).getText();
}

(async () => {
  for (const [bcid, code] of [["code39", "10%OFF"], ["code39", "A/B-10"], ["code39", "B+G"], ["code39", "BUY1+1"], ["code39", "A/B%5"], ["code39ext", "save10"]]) {
    const png = await bwip.toBuffer({ bcid, text: code, scale: 3, height: 12, padding: 12, backgroundcolor: "FFFFFF" });
    const [byDefault] = await wasm.readBarcodes(new Uint8Array(png));
    const [standard] = await wasm.readBarcodes(new Uint8Array(png), { formats: ["Code39Std"] });
    console.log(`${bcid} ${code}: zxing-wasm ${byDefault.text}, with Code39Std ${standard.text}, @zxing/library ${readLibrary(png)}`);
  }
})();
JS
node read.js | tee seen
diff seen - <<'SEEN'
code39 10%OFF: zxing-wasm 10_FF, with Code39Std 10%OFF, @zxing/library 10%OFF
code39 A/B-10: zxing-wasm A"-10, with Code39Std A/B-10, @zxing/library A/B-10
code39 B+G: zxing-wasm Bg, with Code39Std B+G, @zxing/library B+G
code39 BUY1+1: zxing-wasm BUY1+1, with Code39Std BUY1+1, @zxing/library BUY1+1
code39 A/B%5: zxing-wasm A/B%5, with Code39Std A/B%5, @zxing/library A/B%5
code39ext save10: zxing-wasm save10, with Code39Std +S+A+V+E10, @zxing/library +S+A+V+E10
SEEN
