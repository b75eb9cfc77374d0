// Subscriptions: choose a plan and pay it by a payment link (specification 4.6).
import { post } from "../api.js";
import { byId, el } from "../dom.js";
import { interval, money } from "../format.js";
import { retry, showState, start } from "../shell.js";
import { catalog, checkout } from "./checkout.js";

const user = await start();
await load();

async function load() {
  byId("state").hidden = true;
  try {
    const shop = await catalog();
    byId("plans").replaceChildren(...shop.plans.map((plan) => card(plan, shop)));
  } catch (error) {
    byId("plans").replaceChildren();
    showState(byId("state"), "The plans could not be loaded", error.message, retry(load));
  }
  byId("plans").setAttribute("aria-busy", "false");
}

function card(plan, shop) {
  return el("article", { class: "card plan", "data-item": plan.id },
    el("h2", {}, plan.name), el("p", {}, plan.description),
    el("div", { class: "price" }, money(plan.price, shop.currency), el("small", {}, interval(plan.interval))),
    el("button", { class: "button button-primary", type: "button", "aria-label": `Choose ${plan.name}`, onclick: () => choose(plan, shop) }, "Choose"));
}

function choose(plan, shop) {
  byId("checkout-title").textContent = plan.name;
  const summary = checkout(byId("checkout"), {
    user,
    currency: shop.currency,
    shippingOptions: [],
    showLines: true,
    nameOf: () => plan.name,
    lines: () => [{ kind: "plan", itemId: plan.id, quantity: 1 }],
    pay: ({ lines, couponCode }, key) => post("/payment/payment-link", { mode: "subscription", lines, couponCode }, { headers: { "Idempotency-Key": key } }),
  });
  byId("checkout-dialog").showModal();
  summary.restore();
}
