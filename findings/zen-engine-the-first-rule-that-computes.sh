#!/usr/bin/env bash
# A table of rules decides a discount, the first rule that matches wins. What if its amount cannot be computed?
#
# Guess before the run: the evaluation fails, as the same expression does by itself.
# Seen (@gorules/zen-engine 0.54.0):
#   - The next rule wins, without an error. Where the rate of the first rule is missing, or the total is a text, the
#     customer has the discount of the rule below. With the policy "collect" the rule is left out.
#   - Without a rule below, the result is {}. Its amount is neither 0 nor null.
#   - A condition that cannot be computed is not matched. "< 100" does not match a missing total. "not in [5]" does.
#   - Numbers are decimals (0.1 + 0.2 is 0.3), but for a power with a fraction, which has eight digits:
#     floor(100 * 1.21 ^ 0.5) is 109.
# What follows: check facts before the rules, and never answer an order with the rule that happens to be left.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @gorules/zen-engine@0.54.0 >/dev/null 2>&1
cat >rules.mjs <<'JS'
import { ZenEngine, evaluateExpressionSync } from "@gorules/zen-engine";
const engine = new ZenEngine();
async function show(hitPolicy, rules, context) {
  const column = (name) => ({ id: name, name, field: name });
  const position = { x: 0, y: 0 };
  const content = {
    hitPolicy, inputs: [column("total")], outputs: [column("off")],
    rules: rules.map(([total, off], i) => ({ _id: `rule ${i}`, total, off })),
  };
  const decision = engine.createDecision({
    contentType: "application/vnd.gorules.decision",
    nodes: [
      { id: "in", name: "in", type: "inputNode", position, content: {} },
      { id: "table", name: "table", type: "decisionTableNode", position, content },
      { id: "out", name: "out", type: "outputNode", position, content: {} },
    ],
    edges: [["in", "table"], ["table", "out"]].map(([sourceId, targetId], i) => ({ id: `edge ${i}`, type: "edge", sourceId, targetId })),
  });
  const text = rules.map(([total, off]) => `${total || "any total"}: ${off}`).join("; ");
  console.log(`${hitPolicy} of (${text}) ${JSON.stringify(context)}: ${JSON.stringify((await decision.evaluate(context)).result)}`);
}
const rate = ["", "total * rate"], below = ["", "5"];
for (const hitPolicy of ["first", "collect"]) {
  for (const context of [{ total: 20, rate: 0.1 }, { total: 20 }, { total: "20", rate: 0.1 }]) await show(hitPolicy, [rate, below], context);
}
await show("first", [rate], { total: 20 });
for (const condition of ["< 100", "not in [5]"]) {
  for (const context of [{ total: 20 }, {}]) await show("first", [[condition, "7"], ["", "0"]], context);
}
for (const expression of ["total * rate", "0.1 + 0.2", "floor(100 * 1.21 ^ 0.5)", "2 ^ 0.5"]) {
  try {
    console.log(expression, "is", evaluateExpressionSync(expression, { total: 20 }));
  } catch {
    console.log(expression, "fails");
  }
}
JS
node rules.mjs | tee seen
diff seen - <<'SEEN'
first of (any total: total * rate; any total: 5) {"total":20,"rate":0.1}: {"off":2}
first of (any total: total * rate; any total: 5) {"total":20}: {"off":5}
first of (any total: total * rate; any total: 5) {"total":"20","rate":0.1}: {"off":5}
collect of (any total: total * rate; any total: 5) {"total":20,"rate":0.1}: [{"off":2},{"off":5}]
collect of (any total: total * rate; any total: 5) {"total":20}: [{"off":5}]
collect of (any total: total * rate; any total: 5) {"total":"20","rate":0.1}: [{"off":5}]
first of (any total: total * rate) {"total":20}: {}
first of (< 100: 7; any total: 0) {"total":20}: {"off":7}
first of (< 100: 7; any total: 0) {}: {"off":0}
first of (not in [5]: 7; any total: 0) {"total":20}: {"off":7}
first of (not in [5]: 7; any total: 0) {}: {"off":7}
total * rate fails
0.1 + 0.2 is 0.3
floor(100 * 1.21 ^ 0.5) is 109
2 ^ 0.5 is 1.4142135570048917
SEEN
