#!/usr/bin/env bash
# A customer has loyalty points from several orders, one entry for each order, and pays three orders with 100 points each.
#
# Guess before the run: the entry that pays loses its points, so the second payment is refused. An order that is voided gives its
# points back.
# Seen (@cloudcommerce/app-loyalty-points 2.63.2, which shops on e-com.plus use):
#   - It counts the entries that pay, and writes the rest to the entry of that count. Where the first entry of the customer is
#     empty, expired or of another program, that one is changed. The entry that paid keeps its points, and pays again and again.
#   - The first entry is empty as soon as a customer has spent it. So it is right for the first entry alone.
#   - Points of another program are lost: the first entry, of another club, had 100 and has 0.
#   - Where the entry that expires first is not the first in the list, 300 points are gone for 100.
#   - Four entries that pay together are written as a list, which is right.
#   - Voided, points go back to the first entry with the name of the program. If that is entry 0, none do: 0 counts as not found.
# What follows: a use of points names its entry by a key, never by a position in a list that was sorted or filtered. A test spends
# from the second entry.
# The platform's API and the database are objects of this script.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
library=node_modules/@cloudcommerce/app-loyalty-points
mkdir -p "$library" node_modules/@ecomplus/utils node_modules/@cloudcommerce/{api,firebase} node_modules/firebase-admin
npm pack --silent @cloudcommerce/app-loyalty-points@2.63.2 @ecomplus/utils@1.5.0-rc.6 >/dev/null
tar xzf cloudcommerce-app-loyalty-points-2.63.2.tgz --strip-components 1 -C "$library"
tar xzf ecomplus-utils-1.5.0-rc.6.tgz --strip-components 1 -C node_modules/@ecomplus/utils
cat >node_modules/@cloudcommerce/api/package.json <<'JSON'
{ "type": "module", "exports": "./api.js" }
JSON
cat >node_modules/@cloudcommerce/firebase/package.json <<'JSON'
{ "type": "module", "exports": { "./lib/config": "./config.js" } }
JSON
cat >node_modules/firebase-admin/package.json <<'JSON'
{ "type": "module", "exports": { "./firestore": "./firestore.js" } }
JSON
echo 'export default globalThis.api;' >node_modules/@cloudcommerce/api/api.js
echo 'export const logger = { info() {}, warn() {}, error: console.log };' >node_modules/@cloudcommerce/firebase/config.js
echo 'export const getFirestore = () => globalThis.firestore; export const Timestamp = {};' >node_modules/firebase-admin/firestore.js
cat >points.mjs <<'JS'
let entries;
const documents = new Map();
const document = (name) => ({
  get: async () => ({ exists: documents.has(name), get: (field) => documents.get(name)[field] }),
  set: async (value) => { documents.set(name, structuredClone(value)); },
  delete: async () => { documents.delete(name); },
});
globalThis.firestore = { doc: document, collection: (name) => ({ doc: (id) => document(`${name}/${id}`) }) };
globalThis.api = {
  async get(path) {
    if (path.startsWith("orders/")) return { data: {} };
    const list = structuredClone(entries);
    return { data: path.endsWith("/loyalty_points_entries") ? list : { loyalty_points_entries: list } };
  },
  async patch(path, body) {
    const [, index] = /entries\/(\d+)$/.exec(path) ?? [];
    if (index === undefined) entries = structuredClone(body.loyalty_points_entries);
    else Object.assign(entries[index], body);
  },
};
const library = "./node_modules/@cloudcommerce/app-loyalty-points/lib";
const { default: createTransaction } = await import(`${library}/loyalty-create-transaction.js`);
const { default: handleEvent } = await import(`${library}/util/handle-loyalty-points-event.js`);

const rules = [{ name: "Club", program_id: "club", ratio: 0.1 }, { name: "Other", program_id: "other", ratio: 0.1 }];
async function pay(order) {
  const { transaction } = await createTransaction({
    application: { data: { programs_rules: structuredClone(rules) }, hidden_data: {} },
    params: {
      amount: { total: 10 }, payment_method: { code: "loyalty_points" }, loyalty_points_applied: { club: 100 },
      buyer: { customer_id: "ann" }, order_id: order,
    },
  });
  if (transaction.status.current !== "authorized") return "refused";
  // The library answers first, and writes each entry 0.4 seconds after the one before.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  return "paid";
}
const show = () => entries.map(({ name, active_points: points }) => `${name} ${points}`).join(", ");
const entry = (points, more) => ({ name: "Club", program_id: "club", active_points: points, ...more });
const expires = (year) => ({ valid_thru: `${year}-01-01T00:00:00.000Z` });
const customers = {
  "one entry": [entry(100)],
  "the first is empty": [entry(0), entry(100)],
  "the first is expired": [entry(100, expires(2020)), entry(100)],
  "the first is of another program": [entry(100, { name: "Other", program_id: "other" }), entry(100)],
  "the second expires first": [entry(300, expires(2099)), entry(100, expires(2098))],
  "an empty one before four": [entry(0), entry(25), entry(25), entry(25), entry(25)],
};
for (const [title, list] of Object.entries(customers)) {
  entries = list;
  const before = show(), results = [];
  for (const order of ["first", "second", "third"]) results.push(await pay(order));
  const after = show();
  await handleEvent({ _id: "first", amount: {}, buyers: [{ _id: "ann" }], financial_status: { current: "voided" } }, rules);
  console.log(`${title}: ${before}; ${results.join(", ")}; ${after}; the first is voided: ${show()}`);
}
JS
node points.mjs | tee seen
diff seen - <<'SEEN'
one entry: Club 100; paid, refused, refused; Club 0; the first is voided: Club 0
the first is empty: Club 0, Club 100; paid, paid, paid; Club 0, Club 100; the first is voided: Club 0, Club 100
the first is expired: Club 100, Club 100; paid, paid, paid; Club 0, Club 100; the first is voided: Club 0, Club 100
the first is of another program: Other 100, Club 100; paid, paid, paid; Other 0, Club 100; the first is voided: Other 0, Club 200
the second expires first: Club 300, Club 100; paid, paid, paid; Club 0, Club 100; the first is voided: Club 0, Club 100
an empty one before four: Club 0, Club 25, Club 25, Club 25, Club 25; paid, refused, refused; Club 0, Club 0, Club 0, Club 0, Club 0; the first is voided: Club 0, Club 0, Club 0, Club 0, Club 0
SEEN
