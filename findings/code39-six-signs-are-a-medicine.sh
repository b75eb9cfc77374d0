#!/usr/bin/env bash
# Coupon codes of digits and letters without vowels, as generators make them to avoid words, as Code 39.
#
# Guess before the run: Code 39 is read as it was printed, where no code has one of the signs % + / $.
# Seen (etiket 0.11.0 draws; zxing-wasm 3.1.4 and @zxing/library 0.23.0 read):
#   - Codes of six signs may be Italian medicine numbers (Code 32), which are nine digits in base 32, written with the same
#     alphabet without vowels. zxing-wasm reads NPX2RF as A694061805.
#   - The last of the nine digits is a check digit. So of 1,000 random codes of six signs 87, one in eleven, are read as another
#     text. It is so with its default options, and where Code 39 is the only format.
#   - Codes of five or seven signs are right, and so is each code with a vowel.
#   - The format "Code39Std" reads each code as it was printed. @zxing/library does, too.
# What follows: a reader is told the exact kind that is printed. Where it cannot be told, no code has six signs.
# The run takes half a minute.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund etiket@0.11.0 zxing-wasm@3.1.4 @zxing/library@0.23.0 >/dev/null 2>&1
cat >read.mjs <<'JS'
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { encodeCode39 } from "etiket";
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";
const zxing = createRequire(import.meta.url)("@zxing/library");

prepareZXingModule({ overrides: { wasmBinary: readFileSync("node_modules/zxing-wasm/dist/reader/zxing_reader.wasm") } });

// draw gives the bars three pixels a unit, with a margin, as an image of gray values.
function draw(code) {
  const row = [...Array(60).fill(255), ...encodeCode39(code).flatMap((width, i) => Array(3 * width).fill(i % 2 ? 255 : 0)), ...Array(60).fill(255)];
  return { width: row.length, height: 60, gray: Uint8ClampedArray.from({ length: 60 * row.length }, (_, i) => row[i % row.length]) };
}
async function wasm({ width, height, gray }, formats) {
  const data = new Uint8ClampedArray(4 * gray.length).fill(255);
  gray.forEach((value, i) => data.fill(value, 4 * i, 4 * i + 3));
  return (await readBarcodes({ width, height, data, colorSpace: "srgb" }, { formats }))[0]?.text;
}
function library({ width, height, gray }) {
  const source = new zxing.RGBLuminanceSource(gray, width, height);
  return new zxing.Code39Reader().decode(new zxing.BinaryBitmap(new zxing.HybridBinarizer(source))).getText();
}

let seed = 7;
function random(n) {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 65536) % n;
}
const consonants = "0123456789BCDFGHJKLMNPQRSTUVWXYZ";
const codes = (n, length, first = "") => Array.from({ length: n }, () =>
  first + Array.from({ length: length - first.length }, () => consonants[random(consonants.length)]).join(""));
const wrong = async (list, read) => {
  let count = 0;
  for (const code of list) if (await read(draw(code)) !== code) count++;
  return count;
};
console.log(`NPX2RF is ${await wasm(draw("NPX2RF"), ["Code39"])}, ${await wasm(draw("NPX2RF"), [])} and, as Code39Std, ${await wasm(draw("NPX2RF"), ["Code39Std"])}`);
const six = codes(1000, 6);
console.log(`six signs: ${await wrong(six, (image) => wasm(image, ["Code39"]))} of 1000 wrong, without a format ${await wrong(six, (image) => wasm(image, []))}, as Code39Std ${
  await wrong(six, (image) => wasm(image, ["Code39Std"]))}, @zxing/library ${await wrong(six, library)}`);
for (const [title, list] of Object.entries({ "five signs": codes(300, 5), "seven signs": codes(300, 7), "six with a vowel": codes(300, 6, "A") })) {
  console.log(`${title}: ${await wrong(list, (image) => wasm(image, ["Code39"]))} of 300 wrong`);
}
JS
node read.mjs | tee seen
diff seen - <<'SEEN'
NPX2RF is A694061805, A694061805 and, as Code39Std, NPX2RF
six signs: 87 of 1000 wrong, without a format 87, as Code39Std 0, @zxing/library 0
five signs: 0 of 300 wrong
seven signs: 0 of 300 wrong
six with a vowel: 0 of 300 wrong
SEEN
