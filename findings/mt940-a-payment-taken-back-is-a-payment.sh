#!/usr/bin/env bash
# An account statement in MT940: a payment, the same payment taken back by the bank (RC), a refund, and the refund that came
# back (RD). Three parsers match it with orders.
#
# Guess before the run: RC subtracts and RD adds, in all three. Dates are right.
# Seen (npm: mt940-js 1.0.0, mt940js 1.3.5, @centrapay/swift-parser 1.0.1):
#   - mt940-js reads RC as a credit, and RD as a debit. No field says that the line is a reversal. The order looks paid twice,
#     and the sum of the lines is 40.00 where the balances differ by 0. The other two subtract.
#   - The date of the entry has no year. All three take the year of the value date: a payment with the value of
#     31 December 2026, entered on 2 January 2027, was entered on 2 January 2026.
#   - mt940-js keeps a reference of the bank of exactly 16 signs. It drops the reference of 8 signs, without an error.
# What follows: add the lines up and compare the sum with the two balances, before an order is marked as paid. Take the year of an
# entry from the closing balance.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund mt940-js@1.0.0 tslib@1.14.1 mt940js@1.3.5 @centrapay/swift-parser@1.0.1 >/dev/null 2>&1
cat >read.js <<'JS'
const a = require("mt940-js");
const b = require("mt940js");
const c = require("@centrapay/swift-parser");

const day = (date) => (date ? new Date(date).toISOString().slice(0, 10) : "none");
async function show(title, opening, lines, closing, line) {
  const text = [":20:START", ":25:12345678/0123456789", ":28C:1/1", `:60F:${opening}`, ...lines, `:62F:${closing}`, ""].join("\r\n");
  const [first] = await a.read(Buffer.from(`${text}-`));
  const statements = {
    "mt940-js": first.transactions.map((t) => ({ ...t, date: t.valueDate, amount: t.isCredit ? t.amount : -t.amount })),
    mt940js: new b.Parser().parse(`${text}-`)[0].transactions,
    "swift-parser": c.parse({ type: "mt940", data: text })[0].transactions,
  };
  console.log(title);
  for (const [name, transactions] of Object.entries(statements)) {
    const sum = transactions.reduce((total, t) => total + Number(t.amount), 0);
    console.log(`  ${name}: ${transactions.map(line).join(", ")}; sum ${sum}`);
  }
}

(async () => {
  await show("payment, taken back, refund, come back; the balance stays", "C260101EUR1000,00", [
    ":61:2601020102C25,00NTRFORDER-1",
    ":61:2601030103RC25,00NTRFORDER-1",
    ":61:2601040104D5,00NTRFORDER-2",
    ":61:2601050105RD5,00NTRFORDER-2",
  ], "C260105EUR1000,00", (t) => `${t.reference ?? t.customerReference} ${Number(t.amount)}`);
  await show("two payments at the turn of the year", "C261230EUR1000,00", [
    ":61:2612310102C25,00NTRFORDER-1//A1234567",
    ":61:2701021231C25,00NTRFORDER-2//A12345678901234B",
  ], "C270102EUR1050,00", (t) => `${day(t.date)} entered ${day(t.entryDate)} by ${t.bankReference || "nobody"}`);
})();
JS
node read.js | tee seen
diff seen - <<'SEEN'
payment, taken back, refund, come back; the balance stays
  mt940-js: ORDER-1 25, ORDER-1 25, ORDER-2 -5, ORDER-2 -5; sum 40
  mt940js: ORDER-1 25, ORDER-1 -25, ORDER-2 -5, ORDER-2 5; sum 0
  swift-parser: ORDER-1 25, ORDER-1 -25, ORDER-2 -5, ORDER-2 5; sum 0
two payments at the turn of the year
  mt940-js: 2026-12-31 entered 2026-01-02 by nobody, 2027-01-02 entered 2027-12-31 by A12345678901234B; sum 50
  mt940js: 2026-12-31 entered 2026-01-02 by A1234567, 2027-01-02 entered 2027-12-31 by A12345678901234B; sum 50
  swift-parser: 2026-12-31 entered 2026-01-02 by A1234567, 2027-01-02 entered 2027-12-31 by A12345678901234B; sum 50
SEEN
