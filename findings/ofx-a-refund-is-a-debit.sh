#!/usr/bin/env bash
# A bank's statement in OFX: a purchase by card, its refund, a payment of a customer, and a direct debit that came back. Which of
# them are money that came in?
#
# Guess before the run: those without a minus. In OFX the sign of the amount decides, and not the kind of the transaction.
# Seen (npm: ofx-data-extractor 1.5.0; ofxdump of libofx 0.10.9, from Debian 12, reads the same file):
#   - ofx-data-extractor looks for a minus first, and asks for the kind where there is none. Each POS, PAYMENT and DIRECTDEBIT is a
#     debit. Of 135.50 that came in, its summary has 30.00 as credit. Of 20.00 that went out, it makes 125.50.
#   - Each normalized transaction has the direction "debit" and an amount above zero, side by side. It is valid, without a warning.
#   - 23:30 on the last day of November, with the offset [-5:EST], becomes 23:30 UTC. It is 04:30 of the first of December.
#   - libofx keeps the signs and the instant.
# What follows: add up the amounts as they stand, and compare the sum with the balances. Never ask the kind which way money went.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir debs root
(cd debs && apt-get download -qq ofx=1:0.10.9-1 libofx7=1:0.10.9-1 libosp5 libxml++2.6-2v5 libglibmm-2.4-1v5 libsigc++-2.0-0v5 \
  libcurl4 2>/dev/null)
for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund ofx-data-extractor@1.5.0 >/dev/null 2>&1
cat >statement.ofx <<'OFX'
OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX>
<SIGNONMSGSRSV1>
<SONRS>
<STATUS>
<CODE>0
<SEVERITY>INFO
</STATUS>
<DTSERVER>20261201120000
<LANGUAGE>ENG
</SONRS>
</SIGNONMSGSRSV1>
<BANKMSGSRSV1>
<STMTTRNRS>
<TRNUID>1
<STATUS>
<CODE>0
<SEVERITY>INFO
</STATUS>
<STMTRS>
<CURDEF>USD
<BANKACCTFROM>
<BANKID>123456789
<ACCTID>12345
<ACCTTYPE>CHECKING
</BANKACCTFROM>
<BANKTRANLIST>
<DTSTART>20261101
<DTEND>20261201
<STMTTRN>
<TRNTYPE>POS
<DTPOSTED>20261102120000[-5:EST]
<TRNAMT>-20.00
<FITID>T1
<NAME>PAPER
</STMTTRN>
<STMTTRN>
<TRNTYPE>POS
<DTPOSTED>20261130233000[-5:EST]
<TRNAMT>20.00
<FITID>T2
<NAME>PAPER REFUND
</STMTTRN>
<STMTTRN>
<TRNTYPE>PAYMENT
<DTPOSTED>20261105120000[-5:EST]
<TRNAMT>35.50
<FITID>T3
<NAME>ORDER 12
</STMTTRN>
<STMTTRN>
<TRNTYPE>DIRECTDEBIT
<DTPOSTED>20261106120000[-5:EST]
<TRNAMT>50.00
<FITID>T4
<NAME>RETURNED
</STMTTRN>
<STMTTRN>
<TRNTYPE>CREDIT
<DTPOSTED>20261107120000[-5:EST]
<TRNAMT>30.00
<FITID>T5
<NAME>ORDER 13
</STMTTRN>
</BANKTRANLIST>
<LEDGERBAL>
<BALAMT>115.50
<DTASOF>20261201
</LEDGERBAL>
</STMTRS>
</STMTTRNRS>
</BANKMSGSRSV1>
</OFX>
OFX
cat >statement.js <<'JS'
const { Ofx } = require("ofx-data-extractor");
const statement = new Ofx(require("fs").readFileSync("statement.ofx", "utf8"));

const { credit, debit } = statement.getTransactionsSummary();
const { isValid, warnings, errors } = statement.validate();
console.log(`summary: credit ${credit}, debit ${debit}; valid ${isValid}, ${warnings.length + errors.length} warnings`);
for (const { raw, direction, amount } of statement.toNormalized().transactions) console.log(`${raw.TRNTYPE} ${direction} ${amount}`);
const [, refund] = statement.config({ formatDate: "yyyy-MM-dd hh:mm" }).getBankTransferList();
console.log(`posted: ${refund.DTPOSTED}`);
JS
{
  node statement.js
  LD_LIBRARY_PATH=$dir/root/usr/lib/$(uname -m)-linux-gnu root/usr/bin/ofxdump statement.ofx 2>/dev/null |
    grep -oE "Total money amount: [-0-9.]+|Date posted: .* 2026 UTC" | sed 's/^/libofx: /'
} | tee seen
diff seen - <<'SEEN'
summary: credit 30, debit 125.5; valid true, 0 warnings
POS debit -20
POS debit 20
PAYMENT debit 35.5
DIRECTDEBIT debit 50
CREDIT credit 30
posted: 2026-11-30 23:30
libofx: Date posted: Mon Nov  2 17:00:00 2026 UTC
libofx: Total money amount: -20.00
libofx: Date posted: Tue Dec  1 04:30:00 2026 UTC
libofx: Total money amount: 20.00
libofx: Date posted: Thu Nov  5 17:00:00 2026 UTC
libofx: Total money amount: 35.50
libofx: Date posted: Fri Nov  6 17:00:00 2026 UTC
libofx: Total money amount: 50.00
libofx: Date posted: Sat Nov  7 17:00:00 2026 UTC
libofx: Total money amount: 30.00
SEEN
