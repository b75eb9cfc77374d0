#!/usr/bin/env bash
# A coupon of half a per cent, on a cart of 100: how much is taken off?
#
# Guess before the run: 0.50; or 0, if percentages are whole numbers.
# Seen (@wtree/payload-ecommerce-coupon 3.79.4, its endpoint that validates a code):
#   - A value below 1 is a fraction. 0.5 takes 50 off, and 0.99 takes 99 off. From 1 on the value is
#     per cent: 1 takes 1 off. The discount falls from 99 to 1 where the value rises by a hundredth.
#   - The field has a step of 0.01. Only the description of the field in the panel tells.
# What follows: a percentage has one unit in every document. An import of such coupons has to decide row by row,
# and has to refuse a value between 0 and 1 that does not say its unit.
# The database is a function that returns the coupon.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund --legacy-peer-deps \
  @wtree/payload-ecommerce-coupon@3.79.4 payload@3.79.0 >/dev/null 2>&1
cat >coupons.mjs <<'JS'
import { payloadEcommerceCoupon } from "@wtree/payload-ecommerce-coupon";

const collections = ["carts", "orders", "users", "products", "variants"].map((slug) => ({ slug, fields: [] }));
const { endpoints } = await payloadEcommerceCoupon({})({ collections });
const { handler } = endpoints.find((e) => e.path === "/coupons/validate");

for (const value of [0.01, 0.5, 0.99, 1, 2]) {
  const coupon = { id: 1, code: "SALE", type: "percentage", value };
  const answer = await handler({
    payload: { find: async () => ({ docs: [coupon], totalDocs: 1 }) },
    method: "POST", headers: new Headers(), context: {}, data: { code: "SALE", cartValue: 100 },
  });
  console.log(`percentage ${value}: ${(await answer.json()).discount} off 100`);
}
JS
node coupons.mjs | tee seen
diff seen - <<'SEEN'
percentage 0.01: 1 off 100
percentage 0.5: 50 off 100
percentage 0.99: 99 off 100
percentage 1: 1 off 100
percentage 2: 2 off 100
SEEN
