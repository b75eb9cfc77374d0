#!/usr/bin/env bash
# A discount as the platform writes it in the shop's language, and prices beside it, read back by six libraries.
#
# Guess before the run: an amount comes back as it was, or not at all.
# Seen (@dintero/money 1.1.12, parsecurrency 1.1.1, parse-price 1.1.8, parse-money 1.0.12, price-extractor 2.0.3 and
# @norbulcz/num-parse 0.1.0, on Node 20 with ICU 78.2; 30 languages of Europe):
#   - Ten languages write minus as U+2212. Two libraries read the discount there as a price: 1,234.50 off is 1,234.50 more, in
#     Norwegian, Swedish and Finnish. In Danish and German, which have an ASCII minus, it is right.
#   - One of the two is from Norway. It loses the sign of the text of its own toLocaleString. The other one loses it in
#     Swiss German as well, where the minus stands behind EUR.
#   - parse-price and parse-money know no sign. price-extractor finds nothing in a text with a minus.
#   - num-parse reads both kinds of minus, where it knows the currency's sign. With letters (EUR, kr) it finds nothing.
#   - parse-price reads 1,234 yen, as Japanese has it, as 1.234.
# What follows: never read an amount from a text that was made for people. A test of a reader has a negative amount in
# each language.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @dintero/money@1.1.12 parsecurrency@1.1.1 parse-price@1.1.8 parse-money@1.0.12 \
  price-extractor@2.0.3 @norbulcz/num-parse@0.1.0 >/dev/null 2>&1
cat >read.js <<'JS'
const { Money } = require("@dintero/money");
const parseCurrency = require("parsecurrency");
const parsePrice = require("parse-price");
const parseMoney = require("parse-money");
const { searchPriceAndCode } = require("price-extractor");
const { parseNumber } = require("@norbulcz/num-parse");

const languages = ("bg-BG cs-CZ da-DK de-AT de-CH de-DE el-GR en-GB es-ES et-EE eu-ES fi-FI fo-FO fr-FR ga-IE gsw-CH hr-HR hu-HU is-IS it-IT lt-LT lv-LV nb-NO nl-NL pl-PL pt-PT ro-RO sk-SK sl-SI sv-SE").split(" ");
const readers = {
  "@dintero/money": (text, language) => Number(Money.fromLocaleString(text, "EUR", language).toString()),
  parsecurrency: (text) => parseCurrency(text)?.value,
  "parse-price": parsePrice.default ?? parsePrice,
  "parse-money": (text) => (parseMoney.default ?? parseMoney)(text)?.amount,
  "price-extractor": (text) => searchPriceAndCode(text).price,
  "num-parse": parseNumber,
};
const write = (amount, language, currency) => new Intl.NumberFormat(language, { style: "currency", currency }).format(amount);

function tally(title, texts, amount, read) {
  const counts = {};
  for (const [language, text] of texts) {
    let seen;
    try { seen = read(text, language); } catch { seen = undefined; }
    const is = seen === amount ? "right" : seen === -amount ? "sign lost" : seen == null ? "nothing" : `${seen}`;
    counts[is] = (counts[is] ?? 0) + 1;
  }
  return `${title} ${Object.entries(counts).sort().map(([is, n]) => `${n} ${is}`).join(", ")}`;
}
for (const [name, read] of Object.entries(readers)) {
  const texts = languages.map((language) => [language, write(-1234.5, language, "EUR")]);
  const other = texts.filter(([, text]) => text.includes("\u2212"));
  const ascii = texts.filter(([, text]) => !text.includes("\u2212"));
  console.log(`${name}: ${tally("U+2212", other, -1234.5, read)}; ${tally("ASCII", ascii, -1234.5, read)}`);
}
for (const language of ["nb-NO", "sv-SE", "fi-FI", "da-DK", "de-DE"]) {
  const text = Money.of(-1234.5, "NOK").toLocaleString(language);
  console.log(`@dintero/money, ${language}: its own text of -1234.50 is ${Money.fromLocaleString(text, "NOK", language)}`);
}
console.log(`num-parse, 5.50 krona off: ${parseNumber(write(-5.5, "sv-SE", "SEK"))}`);
console.log(`parse-price, 1,234 yen: ${readers["parse-price"](write(1234, "ja-JP", "JPY"))}`);
JS
node read.js | tee seen
diff seen - <<'SEEN'
@dintero/money: U+2212 10 sign lost; ASCII 20 right
parsecurrency: U+2212 10 sign lost; ASCII 19 right, 1 sign lost
parse-price: U+2212 10 sign lost; ASCII 20 sign lost
parse-money: U+2212 10 sign lost; ASCII 20 sign lost
price-extractor: U+2212 10 nothing; ASCII 20 nothing
num-parse: U+2212 10 right; ASCII 4 nothing, 16 right
@dintero/money, nb-NO: its own text of -1234.50 is 1234.50
@dintero/money, sv-SE: its own text of -1234.50 is 1234.50
@dintero/money, fi-FI: its own text of -1234.50 is 1234.50
@dintero/money, da-DK: its own text of -1234.50 is -1234.50
@dintero/money, de-DE: its own text of -1234.50 is -1234.50
num-parse, 5.50 krona off: null
parse-price, 1,234 yen: 1.234
SEEN
