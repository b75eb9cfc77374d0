// The cart: quantities here, prices from the API (specification 4.5).
import { session } from "../api.js";
import { byId, el, foreign } from "../dom.js";
import { retry, showState, start } from "../shell.js";
import * as basket from "./basket.js";
import * as codes from "./codes.js";
import { cartCheckout, catalog, checkout, lineDiscount, linePrice } from "./checkout.js";
import * as orders from "./orders.js";

const lists = { plan: "plans", device: "devices", accessory: "accessories" };
const user = await start();
const { guests, offers } = await session();
const customer = user?.id ?? (guests ? "guest" : "");
let summary;
let restored = false; // whether the codes that were entered before are in the cart
codes.add(codes.take());
let names = new Map();
await load();

async function load() {
  byId("state").hidden = true;
  try {
    const [shop] = await Promise.all([catalog(), customer && orders.catchUp(customer)]);
    names = new Map(Object.entries(lists).flatMap(([kind, list]) => shop[list].map((item) => [`${kind} ${item.id}`, item.name])));
    for (const line of basket.lines()) if (!names.has(`${line.kind} ${line.itemId}`)) basket.remove(line.kind, line.itemId); // no longer sold
    open(shop);
  } catch (error) {
    showState(byId("state"), "The cart could not be loaded", error.message, retry(load));
  }
  byId("loading")?.remove();
}

function open(shop) {
  summary = checkout(byId("checkout"), {
    user,
    currency: shop.currency,
    shippingOptions: shop.shippingOptions,
    lines: basket.lines,
    several: true,
    suggests: offers,
    guests,
    onQuote: showLines,
    pay: payCart,
  });
  addEventListener("basket", refresh); // in this tab or in another one
  refresh();
}

function refresh() {
  const empty = basket.count() === 0;
  const left = empty && byId("cart").contains(document.activeElement);
  byId("cart").hidden = empty;
  byId("state").hidden = !empty;
  const waiting = codes.list().flatMap((code, i) => [i > 0 && ", ", foreign(code)]);
  const text = ["Devices and accessories that you add appear here.", ...(waiting.length > 0 ? [" Kept until then: ", ...waiting, "."] : [])];
  if (empty) showState(byId("state"), "The cart is empty", text, el("a", { class: "button button-primary", href: "/accessories" }, "Look around"));
  if (left) byId("state").querySelector("a").focus(); // the line that had the focus is gone
  if (empty) return;
  if (restored) summary.requote();
  else summary.restore();
  restored = true;
}

// showLines shows the lines of a quote with buttons for their quantities. The focus stays
// on its button, or goes to the line that follows the one that was taken out.
function showLines(quote) {
  const focused = document.activeElement?.dataset?.focus;
  const place = [...byId("lines").children].findIndex((each) => each.contains(document.activeElement));
  const lines = quote.lines.filter((line) => line.kind !== "shipping");
  byId("lines").replaceChildren(...lines.map((line) => item(line, quote.currency)));
  if (!focused) return;
  const again = document.querySelector(`[data-focus="${CSS.escape(focused)}"]`);
  (again ?? byId("lines").children[Math.min(place, lines.length - 1)])?.focus();
}

function item(line, currency) {
  const name = names.get(`${line.kind} ${line.itemId}`) ?? line.itemId;
  const change = (how, ...by) => () => how(line.kind, line.itemId, ...by);
  const button = (label, text, by) => el("button", { type: "button", "aria-label": `${label} ${name}`, "data-focus": `${label} ${line.kind} ${line.itemId}`, onclick: change(basket.step, by) }, text);
  return el("li", { class: "line", tabindex: "-1", "data-focus": `Line: ${line.kind} ${line.itemId}`, "data-line": line.id, "data-item": line.itemId },
    el("span", { class: "line-name" }, name), linePrice(line, currency),
    el("span", { class: "line-meta" },
      el("span", { class: "stepper" }, button("One less:", "−", -1), el("output", { "aria-label": `Quantity of ${name}` }, String(line.quantity)), button("One more:", "+", 1)),
      el("button", { class: "link-button", type: "button", "aria-label": `Remove ${name}`, "data-focus": `Remove: ${line.kind} ${line.itemId}`, onclick: change(basket.remove) }, "Remove")),
    lineDiscount(line, currency));
}

async function payCart(state, key) {
  const answer = await cartCheckout(state, key);
  orders.add(answer.orderId, customer);
  return answer;
}
