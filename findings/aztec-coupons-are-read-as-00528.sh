#!/usr/bin/env bash
# Random coupon codes as Aztec symbols, such as wallets show, and a reader that is not told which kind it looks for.
#
# Guess before the run: an Aztec symbol is read right or not at all. It corrects errors, and its finder is its own.
# Seen (bwip-js 4.11.4; @zxing/library 0.21.3 and 0.23.0):
#   - 0.23.0 knows Micro QR codes too and looks for them first. It finds one in the rings of some
#     Aztec symbols: of 1,200 coupons three are read as one.
#   - All three have the same text, 00528, without an error. Size and resolution of the image change nothing.
#   - 0.21.3 reads the three right. So does 0.23.0 with POSSIBLE_FORMATS set to Aztec.
# What follows: a new release that reads more kinds can misread those that worked. Name the kinds that are shown.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund bwip-js@4.11.4 old@npm:@zxing/library@0.21.3 new@npm:@zxing/library@0.23.0 pngjs@7.0.0 >/dev/null 2>&1
cat >read.js <<'JS'
const bwip = require("bwip-js");
const { PNG } = require("pngjs");

const old = require("old");
const latest = require("new");

function read(zxing, Reader, png, hints = []) {
  const { width, height, data } = PNG.sync.read(png);
  const gray = Uint8ClampedArray.from({ length: width * height }, (_, i) => data[4 * i]);
  const bitmap = new zxing.BinaryBitmap(new zxing.HybridBinarizer(new zxing.RGBLuminanceSource(gray, width, height)));
  try {
    const result = new zxing[Reader]().decode(bitmap, new Map(hints));
    return `${zxing.BarcodeFormat[result.getBarcodeFormat()]} ${result.getText()}`;
  } catch {
    return "nothing";
  }
}

let seed = 7;
function random(n) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % n;
}

(async () => {
  const draw = (code, scale = 3) => bwip.toBuffer({ bcid: "azteccode", text: code, scale, padding: 12, backgroundcolor: "FFFFFF" });
  const alphabets = ["ABCDEFGHJKLMNPQRSTUVWXYZ23456789", "abcdefghijkmnpqrstuvwxyz23456789"];
  const wrong = [];
  for (let i = 0; i < 1200; i++) {
    const alphabet = alphabets[i % 2];
    const code = Array.from({ length: 8 + i % 6 }, () => alphabet[random(alphabet.length)]).join("");
    if (read(latest, "MicroQRCodeReader", await draw(code)) !== "nothing") wrong.push(code);
  }
  console.log(`${wrong.length} of 1200 have a Micro QR code in them`);
  const { DecodeHintType, BarcodeFormat } = latest;
  for (const code of wrong) {
    const aztec = read(latest, "MultiFormatReader", await draw(code), [[DecodeHintType.POSSIBLE_FORMATS, [BarcodeFormat.AZTEC]]]);
    for (const scale of [3, 6]) {
      const png = await draw(code, scale);
      console.log(`${code}, scale ${scale}: 0.21.3 ${read(old, "MultiFormatReader", png)}, 0.23.0 ${read(latest, "MultiFormatReader", png)}, for Aztec only ${aztec}`);
    }
  }
})();
JS
node read.js 2>/dev/null | tee seen
diff seen - <<'SEEN'
3 of 1200 have a Micro QR code in them
nux88ztgx, scale 3: 0.21.3 AZTEC nux88ztgx, 0.23.0 MICRO_QR_CODE 00528, for Aztec only AZTEC nux88ztgx
nux88ztgx, scale 6: 0.21.3 AZTEC nux88ztgx, 0.23.0 MICRO_QR_CODE 00528, for Aztec only AZTEC nux88ztgx
mw372xhg5, scale 3: 0.21.3 AZTEC mw372xhg5, 0.23.0 MICRO_QR_CODE 00528, for Aztec only AZTEC mw372xhg5
mw372xhg5, scale 6: 0.21.3 AZTEC mw372xhg5, 0.23.0 MICRO_QR_CODE 00528, for Aztec only AZTEC mw372xhg5
MDB7MD7QVM, scale 3: 0.21.3 AZTEC MDB7MD7QVM, 0.23.0 MICRO_QR_CODE 00528, for Aztec only AZTEC MDB7MD7QVM
MDB7MD7QVM, scale 6: 0.21.3 AZTEC MDB7MD7QVM, 0.23.0 MICRO_QR_CODE 00528, for Aztec only AZTEC MDB7MD7QVM
SEEN
