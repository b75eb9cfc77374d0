#!/usr/bin/env bash
# A QR code for a payment by Pix in Brazil. Its message says which order and which coupon it is for.
#
# Guess before the run: a message that is too long is refused or cut.
# Seen (npm: pix-utils 2.8.2, qrcode-pix 5.0.0, faz-um-pix 2.0.2 and gpix 1.1.8 write; pix-utils and promptparse 1.6.0 read):
#   - Key and message share a field of 99 signs, and its length has two digits. With a random key, which has 36 signs, 37 are left.
#     From 38 on, all four write a length of three digits. The code ends where nobody expects it, and none of the two readers can
#     read it.
#   - No writer gives an error there. gpix refuses 51 signs and more. faz-um-pix cuts the message after 50 signs and writes the length
#     of the whole message, so that one reader gives up and the other reads.
#   - With an address of e-mail of 13 signs as the key, 60 are left. So a test with a short key, or a short message, is green.
# What follows: a message has the number of the order, and no more. Read each code again before it is shown.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund pix-utils@2.8.2 qrcode-pix@5.0.0 faz-um-pix@2.0.2 gpix@1.1.8 \
  promptparse@1.6.0 >/dev/null 2>&1
cat >codes.js <<'JS'
const { createStaticPix, parsePix } = require("pix-utils");
const { QrCodePix } = require("qrcode-pix");
const fazUmPix = require("faz-um-pix");
const { PIX } = require("gpix/dist");
const promptparse = require("promptparse");

const name = "Loja", city = "SAO PAULO";
const writers = {
  "pix-utils": (pixKey, infoAdicional) =>
    createStaticPix({ merchantName: name, merchantCity: city, pixKey, infoAdicional, transactionAmount: 45.9 }).toBRCode(),
  "qrcode-pix": (key, message) =>
    QrCodePix({ version: "01", key, name, city, transactionId: "PEDIDO12", message, value: 45.9 }).payload(),
  "faz-um-pix": (key, message) => fazUmPix.Pix(key, name, city, "45.90", message),
  gpix: (key, message) =>
    PIX.static().setReceiverName(name).setReceiverCity(city).setKey(key).setDescription(message).setAmount(45.9).getBRCode(),
};
const readers = {
  "pix-utils": (code) => parsePix(code).transactionAmount === 45.9,
  promptparse: (code) => promptparse.parse(code)?.getTagValue("54") === "45.90",
};
const keys = { "random key": "123e4567-e12b-12d1-a456-426655440000", address: "a@example.com" };
const message = "Pedido 12, cupom PRIMAVERA20, entrega gratis no mesmo dia em Sao Paulo";

async function readable(write, read, key, length) {
  let code;
  try {
    code = await write(key, message.slice(0, length));
  } catch {
    return "refused";
  }
  try {
    return read(code) ? "read" : "broken";
  } catch {
    return "broken";
  }
}
(async () => {
  for (const [title, key] of Object.entries(keys)) for (const [writer, write] of Object.entries(writers)) {
    for (const [reader, read] of Object.entries(readers)) {
      const parts = [];
      for (let length = 1; length <= message.length; length++) {
        const result = await readable(write, read, key, length);
        if (parts.at(-1)?.result !== result) parts.push({ result, from: length });
      }
      console.log(`${title}, ${writer} to ${reader}: ${parts.map(({ result, from }) => `${result} from ${from}`).join(", ")}`);
    }
  }
})();
JS
node codes.js | tee seen
diff seen - <<'SEEN'
random key, pix-utils to pix-utils: read from 1, broken from 38
random key, pix-utils to promptparse: read from 1, broken from 38
random key, qrcode-pix to pix-utils: read from 1, broken from 38
random key, qrcode-pix to promptparse: read from 1, broken from 38
random key, faz-um-pix to pix-utils: read from 1, broken from 38
random key, faz-um-pix to promptparse: read from 1, broken from 38
random key, gpix to pix-utils: read from 1, broken from 38, refused from 51
random key, gpix to promptparse: read from 1, broken from 38, refused from 51
address, pix-utils to pix-utils: read from 1, broken from 61
address, pix-utils to promptparse: read from 1, broken from 61
address, qrcode-pix to pix-utils: read from 1, broken from 61
address, qrcode-pix to promptparse: read from 1, broken from 61
address, faz-um-pix to pix-utils: read from 1, broken from 51
address, faz-um-pix to promptparse: read from 1
address, gpix to pix-utils: read from 1, refused from 51
address, gpix to promptparse: read from 1, refused from 51
SEEN
