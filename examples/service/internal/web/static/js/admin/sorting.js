// Orders coupons by a column. The API lists coupons newest first and knows no other
// order, so a sorted table is made of all that match.
import { get } from "../api.js";

const MOST = 1000; // coupons that are fetched to be sorted
const PAGE = 100; // the largest page of the API

const last = "\uffff";
const keys = {
  code: (c) => c.code,
  name: (c) => c.name.toLowerCase(),
  discount: (c) => [c.discountType, Number(c.discountValue)], // only an order, never an amount
  scope: (c) => c.appliesTo,
  usage: (c) => c.usedCount,
  points: (c) => c.pointsRequired ?? 0,
  expiry: (c) => c.expiresAt ?? last,
  status: (c) => (c.active ? 0 : 1),
};

function compare(a, b) {
  if (Array.isArray(a)) return compare(a[0], b[0]) || compare(a[1], b[1]);
  if (typeof a === "number") return a - b;
  return a < b ? -1 : Number(a > b);
}

function sorted(items, { sort, order }) {
  const key = keys[sort];
  const sign = order === "descending" ? -1 : 1;
  return [...items].sort((a, b) => sign * compare(key(a), key(b)));
}

// load returns {items, total, partial} for a query; partial tells that only the
// newest were sorted because there are too many.
async function load(query, signal) {
  const page = (number, size) => get(`/admin/coupon/all?${new URLSearchParams({ page: number, pageSize: size, search: query.search })}`, { signal });
  if (!query.sort) {
    const { items, total } = await page(query.page, query.pageSize);
    return { items, total, partial: false };
  }
  const all = [];
  let total = 0;
  for (let number = 1; all.length < MOST; number += 1) {
    const answer = await page(number, PAGE);
    all.push(...answer.items);
    total = answer.total;
    if (answer.items.length < PAGE) break;
  }
  const from = (query.page - 1) * query.pageSize;
  return { items: sorted(all, query).slice(from, from + query.pageSize), total: all.length < MOST ? all.length : Math.min(total, MOST), partial: total > MOST };
}

export { load };
