#!/usr/bin/env bash
# An order with a discount as a line of its own, and one with a quarter of a kilo, as commands for the fiscal printers that
# shops in Venezuela have to use.
#
# Guess before the run: the line is printed with its negative price, or refused. The weight keeps its three decimals.
# Seen (@danielrebolledo/cafe-ipdh-lib 1.2.11, invoices for AEG R1 and DTP 80i):
#   - A negative price becomes 0. The fiscal invoice has 10.00, the payment 8.00, and no error.
#   - The surcharge of 3 percent for foreign currency is computed with the discount: it is that of 8.00.
#   - A quantity below 1 becomes 1. A quarter of a kilo at 8.00 is printed as 8.00; it cost 2.00.
#   - The type of an order has no field for a discount, and the builder writes no command for one.
# What follows: send a fiscal printer prices after the discount. Compare the total that it will print with the payments.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @danielrebolledo/cafe-ipdh-lib@1.2.11 >/dev/null 2>&1
cat >invoice.mjs <<'JS'
import { aegPrinter, dtpPrinter } from "@danielrebolledo/cafe-ipdh-lib";

const item = (name, price, quantity) => ({ id: name, name, sku: name, price, quantity, total: price * quantity, taxes: [{ id: "IVA_G" }] });
const orders = {
  "2.00 off a lamp": [item("Lamp", 10, 1), item("SAVE2", -2, 1)],
  "a quarter of a kilo": [item("Cheese", 8, 0.25)],
};
// The names that the two printers have for price and quantity.
const printers = { AEG: [aegPrinter, "pre", "cant", "monto"], DTP: [dtpPrinter, "lPrecio", "lCantidad", "lMonto"] };
for (const [title, items] of Object.entries(orders)) for (const [name, [printer, price, quantity, paid]] of Object.entries(printers)) {
  for (const paymentMethod of ["cash_nat", "cash_int"]) {
    const total = items.reduce((sum, line) => sum + line.total, 0);
    const order = { client: { id: "V00000000", name: "Customer", email: "post@shop.example" }, items, payments: [{ amount: total, paymentMethod }], total };
    const data = printer.buildInvoiceCommands(order, { paymentMethodId: paymentMethod, storeName: "Shop" }).map((command) => command.data);
    const lines = data.filter((line) => line[price] !== undefined && line[quantity] !== undefined);
    const payment = data.find((line) => line[paid] !== undefined)?.[paid];
    console.log(`${title}, ${name}, ${paymentMethod}: lines ${lines.map((line) => `${line[quantity]} x ${line[price]}`).join(", ")}; paid ${payment}`);
  }
}
JS
node invoice.mjs | tee seen
diff seen - <<'SEEN'
2.00 off a lamp, AEG, cash_nat: lines 1000 x 1000, 1000 x 0; paid 800
2.00 off a lamp, AEG, cash_int: lines 1000 x 1000, 1000 x 0, 1000 x 24; paid 800
2.00 off a lamp, DTP, cash_nat: lines 1000 x 1000, 1000 x 0; paid 800
2.00 off a lamp, DTP, cash_int: lines 1000 x 1000, 1000 x 0, 1000 x 24; paid 800
a quarter of a kilo, AEG, cash_nat: lines 1000 x 800; paid 200
a quarter of a kilo, AEG, cash_int: lines 1000 x 800, 1000 x 24; paid 200
a quarter of a kilo, DTP, cash_nat: lines 1000 x 800; paid 200
a quarter of a kilo, DTP, cash_int: lines 1000 x 800, 1000 x 24; paid 200
SEEN
