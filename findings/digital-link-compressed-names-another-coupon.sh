#!/usr/bin/env bash
# A GS1 Digital Link of a coupon, compressed for a small QR code, and expanded again by the library that compressed it.
#
# Guess before the run: the expanded link is the link before. Compression loses nothing.
# Seen (digital-link.js 1.4.3):
#   - Values of digits become numbers. A coupon (255) whose serial is 001234 comes back with the serial 1234, which is another
#     coupon. The serial 000000 comes back as 0. So do serials and batches of products.
#   - Two coupons, 001234 and 1234, have two compressed links. Both expand to the same coupon.
#   - A North American coupon (8110) of 24 digits comes back as 1.0614141654321315e+23.
#   - A validity of digits (17) and a batch with a letter come back unchanged. isValid() is true for each expanded link.
# What follows: expand a link again before it is printed, and compare. Serials of coupons start with a digit above 0, or have a
# letter where the key allows letters.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund digital-link.js@1.4.3 >/dev/null 2>&1
cat >links.js <<'JS'
const { DigitalLink, Utils } = require("digital-link.js");

const shop = "https://id.example.com";
for (const path of [
  "/255/9506000134352001234",
  "/255/95060001343521234",
  "/255/9506000134352000000",
  "/255/9506000134352801234",
  "/01/09506000134352/21/0042",
  "/01/09506000134352/10/0042A?17=260228",
  "/01/09506000134352?8110=106141416543213150110120",
]) {
  const small = DigitalLink(shop + path).toCompressedWebUriString();
  const back = Utils.decompressWebUri(small);
  const valid = DigitalLink(shop + path).isValid() && DigitalLink(back).isValid();
  console.log(`${path} is ${small.slice(shop.length)}, expanded ${back === shop + path ? "the same" : back.slice(shop.length)}, ${valid ? "both valid" : "not valid"}`);
}
let changed = 0;
for (let serial = 0; serial < 10000; serial++) {
  const link = `${shop}/255/9506000134352${String(serial).padStart(4, "0")}`;
  if (Utils.decompressWebUri(DigitalLink(link).toCompressedWebUriString()) !== link) changed++;
}
console.log(`of 10000 serials of four digits ${changed} are changed`);
JS
node links.js | tee seen
diff seen - <<'SEEN'
/255/9506000134352001234 is /JVilScLg0GAE0g, expanded /255/95060001343521234, both valid
/255/95060001343521234 is /JVilScLg0EE0g, expanded the same, both valid
/255/9506000134352000000 is /JVilScLg0GAAAA, expanded /255/95060001343520, both valid
/255/9506000134352801234 is /JVilScLg0Gw50g, expanded the same, both valid
/01/09506000134352/21/0042 is /DBFKk4XBoAgBU, expanded /01/09506000134352/21/42, both valid
/01/09506000134352/10/0042A?17=260228 is /CxFKk4XBoIoAhULn8Qg, expanded the same, both valid
/01/09506000134352?8110=106141416543213150110120 is /ARFKk4XBoQIgDAs8-Ac4XOcAAAA, expanded /01/09506000134352?8110=1.0614141654321315e%2B23, both valid
of 10000 serials of four digits 1000 are changed
SEEN
