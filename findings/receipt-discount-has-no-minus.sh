#!/usr/bin/env bash
# The line of a discount on a receipt: the amount as the platform writes it in the shop's language, sent to two
# encoders for receipt printers that choose the code page by themselves.
#
# Guess before the run: an unusual currency sign may be missing. The rest of the amount is printed.
# Seen (@point-of-sale/receipt-printer-encoder 4.0.1 and receiptline 4.0.4, on Node 20 with ICU 78.2; 30 languages of Europe):
#   - Ten languages write minus as U+2212, which no code page of the printers has. Both encoders print "?": a
#     discount of 35 kronor is ?35,00 kr, and nothing says that it is taken off.
#   - Letters of currencies are found in other code pages: Kč and zł are printed.
#   - French separates thousands by U+202F. 1234.50 off is -1?234,50.
# What follows: write the sign and the spaces of a receipt oneself, in ASCII. Look for "?" in what is sent to a printer.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @point-of-sale/receipt-printer-encoder@4.0.1 receiptline@4.0.4 >/dev/null 2>&1
cat >discount.mjs <<'JS'
import Encoder from "@point-of-sale/receipt-printer-encoder";
import receiptline from "receiptline";

const languages = {
  EUR: "ca de es et eu fi fr ga gl hr it lt lv mt nl pt sk sl", SEK: "sv", NOK: "nb nn", DKK: "da fo",
  PLN: "pl", CZK: "cs", HUF: "hu", RON: "ro", CHF: "rm", GBP: "cy", ISK: "is",
};
// The bytes of the text, without commands and code pages: question marks count.
const encoders = {
  encoder: (text) => Buffer.from(new Encoder().codepage("auto").text(text).encode()).toString("latin1"),
  receiptline: (text) => receiptline.transform(`|${text}|`, { cpl: 32, command: "escpos", encoding: "multilingual" }),
};
const lost = {};
for (const [currency, list] of Object.entries(languages)) for (const language of list.split(" ")) {
  const [small, large] = [-35, -1234.5].map((n) => new Intl.NumberFormat(language, { style: "currency", currency }).format(n));
  for (const [name, encode] of Object.entries(encoders)) {
    const marks = (text) => encode(text).split("?").length - encode("").split("?").length;
    const what = marks(small) ? "no minus" : marks(large) ? "no separator of thousands" : "all printed";
    ((lost[name] ??= {})[what] ??= []).push(language);
  }
}
for (const [name, found] of Object.entries(lost)) for (const what of Object.keys(found).sort()) {
  console.log(`${name}, ${what}: ${found[what].length}: ${found[what].sort().join(" ")}`);
}
const kronor = new Intl.NumberFormat("sv", { style: "currency", currency: "SEK" }).format(-35);
console.log("Swedish:", JSON.stringify(kronor), "printed", encoders.encoder(kronor).match(/[?0-9]+,\d+/)[0]);
JS
node discount.mjs | tee seen
diff seen - <<'SEEN'
encoder, all printed: 18: ca cs cy da de es ga gl hu is it lv mt nl pl pt ro sk
encoder, no minus: 10: et eu fi fo hr lt nb nn sl sv
encoder, no separator of thousands: 2: fr rm
receiptline, all printed: 18: ca cs cy da de es ga gl hu is it lv mt nl pl pt ro sk
receiptline, no minus: 10: et eu fi fo hr lt nb nn sl sv
receiptline, no separator of thousands: 2: fr rm
Swedish: "−35,00 kr" printed ?35,00
SEEN
