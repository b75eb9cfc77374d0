#!/usr/bin/env bash
# Random coupon codes as Code 128, read by a reader that is not told which kind of bars it looks for.
#
# Guess before the run: a reader never takes one for a product number. EAN and UPC have guards at three places and a
# check digit, so fewer than 1 in 100,000.
# Seen (bwip-js 4.11.4; @zxing/library 0.23.0 and zxing-wasm 3.1.4, which share no code):
#   - Of 5,000 codes of eight digits, @zxing/library reads 12 as an EAN-8. With letters they are rarer: 1 of 8,000 codes of
#     eight capitals and digits, 6 of 8,000 codes of thirteen small letters and digits.
#   - A piece of the bars, in the middle of the symbol, is a whole EAN-8, UPC-A or EAN-13, check digit and all.
#   - zxing-wasm reads most of them right. It agrees about two codes: it lists the product first, and then the coupon.
# What follows: a reader at the till names the one kind of symbol that its coupons have. Whoever prints many codes reads
# each symbol before.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund bwip-js@4.11.4 @zxing/library@0.23.0 zxing-wasm@3.1.4 >/dev/null 2>&1
cat >read.js <<'JS'
const { readFileSync } = require("node:fs");
const bwip = require("bwip-js");
const { BarcodeFormat, BitArray, MultiFormatOneDReader } = require("@zxing/library");
const wasm = require("zxing-wasm/reader");

wasm.prepareZXingModule({ overrides: { wasmBinary: readFileSync("node_modules/zxing-wasm/dist/reader/zxing_reader.wasm") } });

let seed = 1;
function random(n) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % n;
}

function row(code) {
  const widths = bwip.raw({ bcid: "code128", text: code })[0].sbs;
  const line = new BitArray(2 * widths.reduce((a, b) => a + b, 0) + 40);
  let x = 20;
  widths.forEach((width, i) => { for (let k = 0; k < 2 * width; k++, x++) if (i % 2 === 0) line.set(x); });
  return line;
}

const any = new MultiFormatOneDReader(new Map());
function read(code) {
  const result = any.decodeRow(0, row(code), new Map());
  return [BarcodeFormat[result.getBarcodeFormat()], result.getText()];
}

(async () => {
  const wrong = [];
  for (let i = 0; i < 5000; i++) {
    const code = Array.from({ length: 8 }, () => random(10)).join("");
    const [, text] = read(code);
    if (text !== code) wrong.push(code);
  }
  console.log(`eight digits: ${wrong.length} of 5000 are read as something else`);
  for (const code of [...wrong.slice(0, 2), "S892PA8S", "kdxymtq3aa7rq", "x6k52ad6gwggn", "8mwjqk4wgnvrf"]) {
    const png = await bwip.toBuffer({ bcid: "code128", text: code, scale: 3, height: 12, padding: 12, backgroundcolor: "FFFFFF" });
    const all = (await wasm.readBarcodes(new Uint8Array(png))).map((result) => `${result.format} ${result.text}`);
    console.log(`${code}: ${read(code).join(" ")}; zxing-wasm: ${all.join(", ")}`);
  }
})();
JS
node read.js | tee seen
diff seen - <<'SEEN'
eight digits: 12 of 5000 are read as something else
99080215: EAN_8 18424041; zxing-wasm: Code128 99080215
70912615: EAN_8 15784001; zxing-wasm: Code128 70912615
S892PA8S: UPC_A 430292791902; zxing-wasm: Code128 S892PA8S
kdxymtq3aa7rq: EAN_13 9483877970477; zxing-wasm: Code128 kdxymtq3aa7rq
x6k52ad6gwggn: EAN_13 9471488077517; zxing-wasm: EAN13 9471488077517, Code128 x6k52ad6gwggn
8mwjqk4wgnvrf: UPC_A 447604474507; zxing-wasm: EAN13 0447604474507, Code128 8mwjqk4wgnvrf
SEEN
