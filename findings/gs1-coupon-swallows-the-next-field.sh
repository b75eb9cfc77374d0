#!/usr/bin/env bash
# A GS1 coupon number (255) with a discount of 10 percent (3940) behind it. The number may have a serial of up to
# twelve digits, so a separator ends it. Two symbols, and readers that pass their text to one parser.
#
# Guess before the run: every reader gives the separator as the control character GS, and the parser finds two fields.
# Seen (bwip-js 4.11.4; jsqr 1.4.0, @zxing/library 0.23.0, zxing-wasm 3.1.4; gs1-barcode-parser-mod 1.2.1):
#   - jsqr gives the separator of a QR code as a percent sign, and a percent sign as two.
#   - @zxing/library drops the separator of GS1-128, unless it is told ASSUME_GS1. It keeps the one of a QR code.
#   - The parser accepts both. The discount has become part of the coupon's number, without an error: GS1 allows
#     only digits there, and 25 at most, and the parser checks neither.
#   - zxing-wasm writes the fields with brackets, and both are found.
# What follows: whoever looks a coupon up by its number refuses one that is not 13 to 25 digits. A number that
# swallowed digits alone still passes, so one knows one's reader.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund bwip-js@4.11.4 jsqr@1.4.0 @zxing/library@0.23.0 zxing-wasm@3.1.4 gs1-barcode-parser-mod@1.2.1 pngjs@7.0.0 >/dev/null 2>&1
cat >read.js <<'JS'
const { readFileSync } = require("node:fs");
const bwip = require("bwip-js");
const jsqr = require("jsqr");
const { PNG } = require("pngjs");
const zxing = require("@zxing/library");
const wasm = require("zxing-wasm/reader");
const { parseBarcode } = require("gs1-barcode-parser-mod");

wasm.prepareZXingModule({ overrides: { wasmBinary: readFileSync("node_modules/zxing-wasm/dist/reader/zxing_reader.wasm") } });

function library({ width, height, data }, Reader, hints) {
  const gray = Uint8ClampedArray.from({ length: width * height }, (_, i) => data[4 * i]);
  const bitmap = new zxing.BinaryBitmap(new zxing.HybridBinarizer(new zxing.RGBLuminanceSource(gray, width, height)));
  return new Reader(hints).decode(bitmap, hints).getText();
}

(async () => {
  const coupon = "(255)4012345678901(3940)0010";
  for (const [bcid, more, Reader] of [["gs1qrcode", {}, zxing.QRCodeReader], ["gs1-128", { height: 12 }, zxing.MultiFormatOneDReader]]) {
    const png = await bwip.toBuffer({ bcid, text: coupon, scale: 3, padding: 12, backgroundcolor: "FFFFFF", ...more });
    const image = PNG.sync.read(png);
    const texts = {
      "@zxing/library": library(image, Reader, new Map()),
      "@zxing/library, ASSUME_GS1": library(image, Reader, new Map([[zxing.DecodeHintType.ASSUME_GS1, true]])),
      "zxing-wasm": (await wasm.readBarcodes(new Uint8Array(png)))[0].text,
    };
    if (bcid === "gs1qrcode") texts.jsqr = jsqr(Uint8ClampedArray.from(image.data), image.width, image.height).data;
    for (const [name, text] of Object.entries(texts)) {
      const fields = parseBarcode(text).parsedCodeItems.map((item) => `${item.ai} = ${item.data}`).join(", ");
      console.log(`${bcid}, ${name}: ${JSON.stringify(text)}: ${fields}`);
    }
  }
})();
JS
node read.js | tee seen
diff seen - <<'SEEN'
gs1qrcode, @zxing/library: "2554012345678901\u001d39400010": 255 = 4012345678901, 3940 = 10
gs1qrcode, @zxing/library, ASSUME_GS1: "2554012345678901\u001d39400010": 255 = 4012345678901, 3940 = 10
gs1qrcode, zxing-wasm: "(255)4012345678901(3940)0010": 255 = 4012345678901, 3940 = 10
gs1qrcode, jsqr: "2554012345678901%39400010": 255 = 4012345678901%39400010
gs1-128, @zxing/library: "255401234567890139400010": 255 = 401234567890139400010
gs1-128, @zxing/library, ASSUME_GS1: "]C12554012345678901\u001d39400010": 255 = 4012345678901, 3940 = 10
gs1-128, zxing-wasm: "(255)4012345678901(3940)0010": 255 = 4012345678901, 3940 = 10
SEEN
