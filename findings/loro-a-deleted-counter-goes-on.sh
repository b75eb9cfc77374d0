#!/usr/bin/env bash
# Uses of a coupon, counted by two tills that work without a network and share a document later. After the campaign the counter is
# deleted, and the code is given out again next year.
#
# Guess before the run: a counter that both tills create is two counters, and one of them wins, unless it is created by the new
# ensureMergeableCounter. A deleted counter starts again at 0.
# Seen (loro-crdt 1.17.1):
#   - The first part is so. With setContainer and getOrCreateContainer, 3 and 4 uses are 4. With ensureMergeableCounter they are 7.
#   - A counter of ensureMergeableCounter is hidden by delete, and by clear. Next year's first use is the sixth, where five were
#     deleted. toJSON has no counter in between, so no export shows that one is there.
#   - So it is for all its kinds: a list of customers has last year's customers, and a text its text.
#   - It stays in a snapshot, and in a shallow snapshot, which leaves the history out.
#   - A use that another till counts while the counter is deleted is hidden too, and is there again with the others.
#   - After setContainer and getOrCreateContainer, a deleted counter starts again at 0.
# What follows: the key of a counter has the campaign in it, and is never used again. To set it back, decrement it by its value.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund loro-crdt@1.17.1 >/dev/null 2>&1
cat >counter.js <<'JS'
const { LoroDoc, LoroCounter } = require("loro-crdt");

function till(id) {
  const document = new LoroDoc();
  document.setPeerId(id);
  return document;
}
function share(a, b) {
  for (const document of [a, b]) document.commit();
  const changes = a.export({ mode: "update" });
  a.import(b.export({ mode: "update" }));
  b.import(changes);
}
const uses = (document) => document.getMap("uses");
const text = (document) => JSON.stringify(document.toJSON());
const ways = {
  setContainer: (document) => uses(document).setContainer("TEN", new LoroCounter()),
  getOrCreateContainer: (document) => uses(document).getOrCreateContainer("TEN", new LoroCounter()),
  ensureMergeableCounter: (document) => uses(document).ensureMergeableCounter("TEN"),
};
for (const [name, counter] of Object.entries(ways)) {
  const a = till(1), b = till(2);
  counter(a).increment(3);
  counter(b).increment(4);
  share(a, b);
  console.log(`${name}, 3 uses and 4: ${text(a)}, ${text(b)}`);

  const document = till(1);
  counter(document).increment(5);
  uses(document).delete("TEN");
  document.commit();
  const hidden = text(document);
  counter(document).increment(1);
  console.log(`${name}, 5 uses, deleted, one more: ${hidden}, ${text(document)}`);
}

const mergeable = ways.ensureMergeableCounter;
const cleared = till(1);
mergeable(cleared).increment(5);
uses(cleared).ensureMergeableList("customers").push("ann");
uses(cleared).ensureMergeableText("note").insert(0, "last year");
uses(cleared).clear();
cleared.commit();
for (const mode of ["snapshot", "shallow-snapshot"]) {
  const copy = till(2);
  copy.import(cleared.export(mode === "snapshot" ? { mode } : { mode, frontiers: cleared.frontiers() }));
  const before = text(copy);
  mergeable(copy);
  for (const [kind, key] of [["List", "customers"], ["Text", "note"]]) uses(copy)[`ensureMergeable${kind}`](key);
  const { TEN, customers, note } = copy.toJSON().uses;
  console.log(`cleared, ${mode}: ${before}, ${TEN}, ${customers}, ${note}`);
}

const a = till(1), b = till(2);
mergeable(a).increment(5);
share(a, b);
uses(a).delete("TEN");
mergeable(b).increment(2);
share(a, b);
const hidden = [text(a), text(b)];
mergeable(b);
share(a, b);
console.log(`deleted beside 2 uses: ${hidden.join(", ")}; again: ${text(a)}, ${text(b)}`);
JS
node counter.js | tee seen
diff seen - <<'SEEN'
setContainer, 3 uses and 4: {"uses":{"TEN":4}}, {"uses":{"TEN":4}}
setContainer, 5 uses, deleted, one more: {"uses":{}}, {"uses":{"TEN":1}}
getOrCreateContainer, 3 uses and 4: {"uses":{"TEN":4}}, {"uses":{"TEN":4}}
getOrCreateContainer, 5 uses, deleted, one more: {"uses":{}}, {"uses":{"TEN":1}}
ensureMergeableCounter, 3 uses and 4: {"uses":{"TEN":7}}, {"uses":{"TEN":7}}
ensureMergeableCounter, 5 uses, deleted, one more: {"uses":{}}, {"uses":{"TEN":6}}
cleared, snapshot: {"uses":{}}, 5, ann, last year
cleared, shallow-snapshot: {"uses":{}}, 5, ann, last year
deleted beside 2 uses: {"uses":{}}, {"uses":{}}; again: {"uses":{"TEN":7}}, {"uses":{"TEN":7}}
SEEN
