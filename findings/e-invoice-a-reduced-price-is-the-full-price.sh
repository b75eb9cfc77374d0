#!/usr/bin/env bash
# One invoice in the two syntaxes of the European e-invoice, UBL and CII. Its line has a price of 130.00, reduced by 5.00
# to 125.00, and an allowance of 25.00.
#
# Guess before the run: both have the price before the reduction, the reduction, and the net price of 125.00.
# Seen (@e-invoice-eu/core 2.3.4):
#   - UBL has all three. CII has 130.00 as the net price and does not have 125.00. XRechnung in CII has the same.
#   - Per piece, the invoice in CII asks for 5.00 more than the total of its line says.
#   - Without a reduction of the price the net price is right. Allowances of the line and of the document are, too.
#   - The invoice is written without an error or a warning.
# What follows: pass a coupon on as an allowance of the line or of the document, and keep prices of pieces net. Read an
# invoice again before it is sent: price times quantity, less the allowances, is the total of the line.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @e-invoice-eu/core@2.3.4 >/dev/null 2>&1
cat >invoice.js <<'JS'
const { InvoiceService } = require("@e-invoice-eu/core");

const amounts = (values) => Object.fromEntries(Object.entries(values).flatMap(([name, value]) =>
  [[`cbc:${name}`, value], [`cbc:${name}@currencyID`, "EUR"]]));
const tax = { "cbc:ID": "S", "cbc:Percent": "19", "cac:TaxScheme": { "cbc:ID": "VAT" } };
const registered = { "cbc:CompanyID": "DE123456789", "cac:TaxScheme": { "cbc:ID": "VAT" } };
const party = (name, registrations) => ({
  "cac:Party": {
    "cbc:EndpointID": "post@shop.example",
    "cbc:EndpointID@schemeID": "EM",
    "cac:PostalAddress": { "cbc:CityName": "Berlin", "cbc:PostalZone": "10115", "cac:Country": { "cbc:IdentificationCode": "DE" } },
    "cac:PartyTaxScheme": registrations,
    "cac:PartyLegalEntity": { "cbc:RegistrationName": name },
    "cac:Contact": { "cbc:Name": name, "cbc:Telephone": "030 1234", "cbc:ElectronicMail": "post@shop.example" },
  },
});
const invoice = (price) => ({
  "ubl:Invoice": {
    "cbc:ID": "1",
    "cbc:IssueDate": "2026-11-30",
    "cbc:DueDate": "2026-12-30",
    "cbc:InvoiceTypeCode": "380",
    "cbc:DocumentCurrencyCode": "EUR",
    "cbc:BuyerReference": "order 1",
    "cac:AccountingSupplierParty": party("Shop", [registered]),
    "cac:AccountingCustomerParty": party("Customer", registered),
    "cac:PaymentMeans": [{ "cbc:PaymentMeansCode": "30" }],
    "cac:TaxTotal": [{
      ...amounts({ TaxAmount: "19.00" }),
      "cac:TaxSubtotal": [{ ...amounts({ TaxableAmount: "100.00", TaxAmount: "19.00" }), "cac:TaxCategory": tax }],
    }],
    "cac:LegalMonetaryTotal": amounts({ LineExtensionAmount: "100.00", TaxExclusiveAmount: "100.00", TaxInclusiveAmount: "119.00", PayableAmount: "119.00" }),
    "cac:InvoiceLine": [{
      "cbc:ID": "1",
      "cbc:InvoicedQuantity": "1",
      "cbc:InvoicedQuantity@unitCode": "C62",
      ...amounts({ LineExtensionAmount: "100.00" }),
      "cac:AllowanceCharge": [{ "cbc:ChargeIndicator": "false", "cbc:AllowanceChargeReason": "SAVE20", ...amounts({ Amount: "25.00", BaseAmount: "125.00" }) }],
      "cac:Item": { "cbc:Name": "Lamp", "cac:ClassifiedTaxCategory": tax },
      "cac:Price": price,
    }],
  },
});
const net = amounts({ PriceAmount: "125.00" });
const reduced = { ...net, "cac:AllowanceCharge": { "cbc:ChargeIndicator": "false", ...amounts({ Amount: "5.00", BaseAmount: "130.00" }) } };
const elements = {
  "cbc:PriceAmount": "net price", "ram:NetPriceProductTradePrice": "net price", "ram:GrossPriceProductTradePrice": "price before",
};
const log = { log() {}, warn: (text) => console.log("warning", text), error: (text) => console.log("error", text) };

(async () => {
  for (const format of ["UBL", "CII", "XRECHNUNG-CII"]) for (const [name, price] of Object.entries({ reduced, net })) {
    const xml = await new InvoiceService(log).generate(invoice(price), { format, lang: "en", noWarnings: true });
    const seen = Object.entries(elements).flatMap(([element, meaning]) => {
      const found = new RegExp(`<${element}[ >][^0-9]*?(\\d+\\.\\d\\d)`).exec(xml);
      return found ? [`${meaning} ${found[1]}`] : [];
    });
    console.log(`${format}, price ${name}: ${seen.join(", ")}; 125.00 as a price: ${/<(cbc:PriceAmount|ram:ChargeAmount)[^>]*>125\.00/.test(xml)}; line ${/<(?:cbc:LineExtensionAmount|ram:LineTotalAmount)[^>]*>([\d.]+)/.exec(xml)[1]}`);
  }
})();
JS
node invoice.js | tee seen
diff seen - <<'SEEN'
UBL, price reduced: net price 125.00; 125.00 as a price: true; line 100.00
UBL, price net: net price 125.00; 125.00 as a price: true; line 100.00
CII, price reduced: net price 130.00; 125.00 as a price: false; line 100.00
CII, price net: net price 125.00; 125.00 as a price: true; line 100.00
XRECHNUNG-CII, price reduced: net price 130.00; 125.00 as a price: false; line 100.00
XRECHNUNG-CII, price net: net price 125.00; 125.00 as a price: true; line 100.00
SEEN
