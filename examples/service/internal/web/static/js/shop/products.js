// Devices and accessories: buy one at once by a payment link (specification 4.6), or
// collect several in the cart.
import { post } from "../api.js";
import { byId, el, icon } from "../dom.js";
import { isZero, money } from "../format.js";
import { retry, showState, start, toast } from "../shell.js";
import * as basket from "./basket.js";
import { cartCheckout, catalog, checkout } from "./checkout.js";

const user = await start();
await load();

async function load() {
  byId("state").hidden = true;
  try {
    const shop = await catalog();
    byId("goods").replaceChildren(section("Devices", "device", shop.devices, shop), section("Accessories", "accessory", shop.accessories, shop));
  } catch (error) {
    byId("goods").replaceChildren();
    showState(byId("state"), "The products could not be loaded", error.message, retry(load));
  }
  byId("goods").setAttribute("aria-busy", "false");
}

function section(title, kind, items, shop) {
  return el("section", { class: "shop-section", "aria-label": title }, el("h2", {}, title),
    el("div", { class: "goods" }, ...items.map((item) => card(kind, item, shop))));
}

function card(kind, item, shop) {
  return el("article", { class: "card good", "data-item": item.id },
    el("div", { class: "good-art" }, icon(item.id, kind)),
    el("h3", {}, item.name), el("p", {}, item.description),
    el("div", { class: "price" }, money(item.price, shop.currency)),
    el("div", { class: "good-actions" },
      el("button", { class: "button", type: "button", "data-action": "add", "aria-label": `Add to cart: ${item.name}`, onclick: () => add(kind, item) }, "Add to cart"),
      el("button", { class: "button button-primary", type: "button", "data-action": "buy", "aria-label": `Buy now: ${item.name}`, onclick: () => buy(kind, item, shop) }, "Buy now")));
}

function add(kind, item) {
  basket.add(kind, item.id);
  toast(`${item.name} is in the cart.`);
}

// productLink charges what the quote says: its amount is already discounted, and the
// API does not discount it again.
const productLink = ({ quote, couponCode }, key) => post("/payment/payment-link", { mode: "product", amount: quote.total, currency: quote.currency, couponCode }, { headers: { "Idempotency-Key": key } });

// buy sells one item by a product link. A link has an amount above 0; what costs
// nothing is a cart of its own.
function buy(kind, item, shop) {
  byId("checkout-title").textContent = `Buy ${item.name}`;
  const summary = checkout(byId("checkout"), {
    user,
    currency: shop.currency,
    shippingOptions: shop.shippingOptions,
    showLines: true,
    nameOf: () => item.name,
    lines: () => [{ kind, itemId: item.id, quantity: 1 }],
    pay: (state, key) => (isZero(state.quote.total) ? cartCheckout(state, key) : productLink(state, key)),
  });
  byId("checkout-dialog").showModal();
  summary.restore();
}
