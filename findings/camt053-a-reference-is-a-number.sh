#!/usr/bin/env bash
# An account statement in camt.053: a payment for order 007100, the same payment taken back by the bank, one entry for two payments,
# and payments for the orders 2026.1 and 2026.10. What does a shop match with its orders?
#
# Guess before the run: references are texts, the reversal is marked, and each payment of the entry has its amount.
# Seen (iso20022.js 0.0.15):
#   - References that look like numbers are numbers. Order 007100 is 7100, and 2026.1 and 2026.10 are one order.
#   - "reversal" is never true. The parser has made a boolean of the text "true", and the boolean is compared with the text.
#     So a payment that the bank took back is a debit like any other.
#   - The two payments of one entry have a reference and no amount. The entry has their sum.
#   - Amounts are in cents, with a fraction: 19.99 is 1998.9999999999998, which is not equal to 1999.
# What follows: test a reader of statements with an order that begins with 0, with RvslInd, and with two payments in one entry. Compare
# references as texts, as the shop gave them out: with a letter in front.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund iso20022.js@0.0.15 >/dev/null 2>&1
cat >statement.mjs <<'JS'
import { CashManagementEndOfDayReport } from "iso20022.js";

const detail = (reference, amount) => `<TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs>
  <AmtDtls><TxAmt><Amt Ccy="EUR">${amount}</Amt></TxAmt></AmtDtls><RmtInf><Ustrd>${reference}</Ustrd></RmtInf></TxDtls>`;
const entry = (amount, direction, details, reversal = false) => `<Ntry>
  <Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd><RvslInd>${reversal}</RvslInd><Sts>BOOK</Sts>
  <BookgDt><Dt>2026-11-30</Dt></BookgDt><ValDt><Dt>2026-11-30</Dt></ValDt>
  <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>
  <NtryDtls>${details}</NtryDtls></Ntry>`;
const balance = (kind, amount) => `<Bal><Tp><CdOrPrtry><Cd>${kind}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt>
  <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-30</Dt></Dt></Bal>`;
const statement = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt>
  <GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-30T20:00:00Z</CreDtTm></GrpHdr>
  <Stmt><Id>S1</Id><CreDtTm>2026-11-30T20:00:00Z</CreDtTm>
    <Acct><Id><IBAN>DE02120300000000202051</IBAN></Id><Ccy>EUR</Ccy><Svcr><FinInstnId><BIC>BYLADEM1001</BIC></FinInstnId></Svcr></Acct>
    ${balance("OPBD", "100.00")}${balance("CLBD", "139.98")}
    ${entry("19.99", "CRDT", detail("007100", "19.99"))}
    ${entry("19.99", "DBIT", detail("007100", "19.99"), true)}
    ${entry("19.99", "CRDT", detail("007101", "15.00") + detail("ORDER 12", "4.99"))}
    ${entry("9.99", "CRDT", detail("2026.1", "9.99"))}
    ${entry("10.00", "CRDT", detail("2026.10", "10.00"))}
  </Stmt></BkToCstmrStmt></Document>`;

for (const { amount, creditDebitIndicator, reversal, transactions } of CashManagementEndOfDayReport.fromXML(statement).entries) {
  const payments = transactions.map((payment) => {
    const amounts = Object.keys(payment).filter((key) => /am(oun)?t/i.test(key));
    return `${JSON.stringify(payment.remittanceInformation)} (${amounts.length ? amounts : "no amount"})`;
  });
  console.log(`${amount} ${creditDebitIndicator}, reversal ${reversal}: ${payments.join(", ")}`);
}
JS
node statement.mjs | tee seen
diff seen - <<'SEEN'
1998.9999999999998 credit, reversal false: 7100 (no amount)
1998.9999999999998 debit, reversal false: 7100 (no amount)
1998.9999999999998 credit, reversal false: 7101 (no amount), "ORDER 12" (no amount)
999 credit, reversal false: 2026.1 (no amount)
1000 credit, reversal false: 2026.1 (no amount)
SEEN
