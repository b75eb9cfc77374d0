#!/usr/bin/env bash
# A refund of 5.00 is sent, the provider books it, and its answer is lost. What do the clients of payment providers do by themselves?
#
# Guess before the run: a client that repeats a refund sends a key with it, the same one each time. Without a key it fails at once.
# Seen (npm: dodopayments 2.52.0, orb-billing 6.11.0, modern-treasury 3.3.0, square 46.0.0, @polar-sh/sdk 0.49.0, xendit-node 7.0.0,
# @paddle/paddle-node-sdk 3.10.0; each with its default options):
#   - dodopayments repeats POST /refunds without a key. Two refunds are booked, and the call succeeds with one of them. Where
#     two answers are lost, three are booked. An answer with the status 502 counts as lost.
#   - orb-billing and modern-treasury come from the same generator, and repeat as often. They make a key for each call.
#   - square repeats after 502 with the caller's key, and not after a lost connection. The other three never repeat.
# What follows: set the number of repetitions of a client to 0 for whatever moves money, unless a key was seen in what it sends.
# Repeat such calls oneself, with a key that is stored before the first call.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund dodopayments@2.52.0 orb-billing@6.11.0 modern-treasury@3.3.0 \
  square@46.0.0 @polar-sh/sdk@0.49.0 xendit-node@7.0.0 @paddle/paddle-node-sdk@3.10.0 >/dev/null 2>&1
cat >refund.js <<'JS'
const http = require("http");
const Dodo = require("dodopayments").default, Orb = require("orb-billing").default;
const ModernTreasury = require("modern-treasury").default;
const { SquareClient } = require("square"), { Polar } = require("@polar-sh/sdk"), { Xendit } = require("xendit-node");
const { Paddle } = require("@paddle/paddle-node-sdk");

let booked = [], losses = [];
const provider = http.createServer((request, response) => {
  let body = "";
  request.on("data", (part) => { body += part; }).on("end", () => {
    booked.push(request.headers["idempotency-key"] || JSON.parse(body).idempotency_key || "no key");
    const loss = losses.shift();
    if (loss === "connection") return request.socket.destroy();
    response.writeHead(loss || 200, { "content-type": "application/json" }).end(JSON.stringify({ id: `refund ${booked.length}` }));
  });
});

provider.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${provider.address().port}`;
  const money = { amount: 500n, currency: "USD" };
  const clients = {
    dodopayments: () => new Dodo({ bearerToken: "x", baseURL: url }).refunds.create({ payment_id: "payment" }),
    "orb-billing": () => new Orb({ apiKey: "x", baseURL: url })
      .customers.credits.ledger.createEntry("customer", { entry_type: "increment", amount: 5 }),
    "modern-treasury": () => new ModernTreasury({ apiKey: "x", organizationID: "shop", baseURL: url })
      .paymentOrders.create({ amount: 500, direction: "credit", originating_account_id: "account", type: "ach" }),
    square: () => new SquareClient({ token: "x", environment: url })
      .refunds.refundPayment({ idempotencyKey: "the caller's", paymentId: "payment", amountMoney: money }),
    polar: () => new Polar({ accessToken: "x", serverURL: url })
      .refunds.create({ orderId: "6d1f3c7e-6a55-4f1c-9a2e-2f4d1c6a7b11", reason: "customer_request", amount: 500 }),
    xendit: () => new Xendit({ secretKey: "xnd_development_x", xenditURL: url })
      .Refund.createRefund({ data: { invoiceId: "invoice", reason: "REQUESTED_BY_CUSTOMER", amount: 5 } }),
    paddle: () => new Paddle("x", { environment: url })
      .adjustments.create({ action: "refund", transactionId: "payment", reason: "returned", type: "full" }),
  };
  for (const [name, refund] of Object.entries(clients)) for (const lost of [["connection"], [502], ["connection", 502]]) {
    booked = [];
    losses = [...lost];
    const result = await refund().then(() => "succeeds", () => "fails");
    const keys = [...new Set(booked)].map((key) => key.startsWith("stainless") ? "one key of its own" : key);
    console.log(`${name}, lost ${lost.join(" and ")}: booked ${booked.length}, ${keys.join(", ")}; the call ${result}`);
  }
  provider.close();
  provider.closeAllConnections();
});
JS
node refund.js 2>/dev/null | tee seen
diff seen - <<'SEEN'
dodopayments, lost connection: booked 2, no key; the call succeeds
dodopayments, lost 502: booked 2, no key; the call succeeds
dodopayments, lost connection and 502: booked 3, no key; the call succeeds
orb-billing, lost connection: booked 2, one key of its own; the call succeeds
orb-billing, lost 502: booked 2, one key of its own; the call succeeds
orb-billing, lost connection and 502: booked 3, one key of its own; the call succeeds
modern-treasury, lost connection: booked 2, one key of its own; the call succeeds
modern-treasury, lost 502: booked 2, one key of its own; the call succeeds
modern-treasury, lost connection and 502: booked 3, one key of its own; the call succeeds
square, lost connection: booked 1, the caller's; the call fails
square, lost 502: booked 2, the caller's; the call succeeds
square, lost connection and 502: booked 1, the caller's; the call fails
polar, lost connection: booked 1, no key; the call fails
polar, lost 502: booked 1, no key; the call fails
polar, lost connection and 502: booked 1, no key; the call fails
xendit, lost connection: booked 1, no key; the call fails
xendit, lost 502: booked 1, no key; the call fails
xendit, lost connection and 502: booked 1, no key; the call fails
paddle, lost connection: booked 1, no key; the call fails
paddle, lost 502: booked 1, no key; the call fails
paddle, lost connection and 502: booked 1, no key; the call fails
SEEN
