// The orders of the cart of whose end this browser does not know. The cart is emptied of
// what was paid, and of its coupons, wherever that is heard first: on the order's page or at the next look
// at the cart.
import { get } from "../api.js";
import * as basket from "./basket.js";
import * as codes from "./codes.js";

const KEY = "cart-orders";
const most = 20; // nobody has more at once; the oldest are forgotten

// known returns them as {id, customer}, the oldest first.
function known() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((order) => order?.id && order.customer) : [];
  } catch {
    return [];
  }
}

const save = (list) => localStorage.setItem(KEY, JSON.stringify(list.slice(-most)));
const others = (id) => known().filter((order) => order.id !== id);

const add = (id, customer) => save([...others(id), { id, customer }]);

// settle takes the lines of an order out of the cart, once, when it was paid or is about to
// be: a transfer that is on its way may arrive when nobody looks any more.
function settle(order) {
  if (order.state === "open" || order.state === "ending" || !known().some((each) => each.id === order.id)) return;
  save(others(order.id)); // before its lines, which another tab would take out again
  if (order.state === "cancelled") return;
  basket.take(order.quote.lines);
  codes.remove(...order.coupons.map(({ code }) => code)); // each order asks for its coupons anew
}

// catchUp asks what has become of a customer's orders. One that cannot be asked for now
// is asked for the next time.
async function catchUp(customer) {
  await Promise.all(known().filter((order) => order.customer === customer).map(async ({ id }) => {
    try {
      settle(await get(`/order/${encodeURIComponent(id)}`));
    } catch (error) {
      if (error.status === 404) save(others(id));
    }
  }));
}

export { add, catchUp, settle };
