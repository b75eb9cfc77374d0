// An order: it asks again until the payment processor has told what became of the
// payment.
import { get, post, session, signInAddress } from "../api.js";
import { byId, el, icon } from "../dom.js";
import { called, day, isZero, money } from "../format.js";
import { pause, refreshPoints, showState, start, toast } from "../shell.js";
import { lineItems } from "./checkout.js";
import * as orders from "./orders.js";

const id = location.pathname.split("/").at(-1); // escaped, as the API takes it: decoding fails where the address is no text
const pace = [150, 250, 500, 1000, 1000, 2000, 3000, 5000]; // milliseconds between questions; the last one repeats

const states = {
  open: ["clock", "", "Waiting for the payment", "This page shows the result as soon as the payment processor has reported it."],
  awaiting_payment: ["clock", "", "The payment is on its way", "Your bank transfer was started. The order is complete when it arrives."],
  paid: ["check", "is-good", "Paid", "Thank you. Your payment has arrived."],
  partly_refunded: ["check", "is-good", "Partly refunded", "A part of your payment was refunded."],
  refunded: ["check", "is-good", "Refunded", "Your payment was refunded."],
  ending: ["clock", "", "Being cancelled", "The order is cancelled as soon as its payment page is closed for good. Please do not pay any more."],
  cancelled: ["close", "is-bad", "Not paid", "The payment was not made and nothing was charged."],
};

const unfinished = ["open", "awaiting_payment", "ending"]; // the payment processor has yet to answer

// repayments say how far the money of a refund went.
const repayments = {
  elsewhere: "The shop returns it to you.",
  due: "It is on its way to you.",
  pending: "It is on its way to you.",
  succeeded: "It was returned to you.",
  failed: "It could not be returned yet. The shop takes care of it.",
};

const user = await start();
let shown = "";
if (user || (await session()).guests) await follow(0);
else turnAway();

function turnAway() {
  hide("Sign in to see this order", "Orders are shown to those who placed them.", el("a", { class: "button button-primary", href: signInAddress() }, "Sign in"));
}

// hide says why the order is not shown to somebody, or to nobody, any more.
function hide(...reason) {
  byId("order").hidden = true;
  showState(byId("state"), ...reason);
}

async function follow(round) {
  let order = null;
  try {
    order = await get(`/order/${id}`);
    show(order);
  } catch (error) {
    if (error.status === 401) return turnAway();
    if (error.status === 404) return hide("There is no such order", "It may belong to another account.");
    if (!shown) showState(byId("state"), "The order could not be loaded", error.message);
  }
  if (order && !unfinished.includes(order.state)) return undefined;
  pause(pace, round).then(() => follow(round + 1));
  return undefined;
}

function show(order) {
  if (order.state === shown) return;
  shown = order.state;
  byId("state").hidden = true;
  byId("order").hidden = false;
  showOrderState(order);
  const { quote } = order;
  const name = (line) => order.names?.find((each) => each.id === line.id)?.name ?? line.itemId;
  byId("lines").replaceChildren(...lineItems(quote, name));
  const amount = (value) => money(value, quote.currency);
  const entry = (label, text, className = "") => [el("dt", { class: className }, label), el("dd", { class: className, "data-total": label.toLowerCase() }, text)];
  byId("totals").replaceChildren(
    ...entry("Subtotal", amount(quote.subtotal)),
    ...(isZero(quote.discount) ? [] : entry("Discount", `−${amount(quote.discount)}`, "discount")),
    ...(order.coupon ? entry("Coupon", order.coupons.map(called).join(", "), "discount") : []),
    ...(isZero(quote.shipping) ? [] : entry("Shipping", amount(quote.shipping))),
    ...entry("Total", amount(quote.total), "total"),
    ...(isZero(order.refunded) ? [] : entry("Refunded", amount(order.refunded))));
  showRefunds(order, name, amount);
  orders.settle(order);
  if (order.state === "paid" && user) refreshPoints();
  // The points of a cancelled order come back after its place, and may take a moment.
  if (order.state === "cancelled" && user) [0, 1000, 5000].forEach((wait) => setTimeout(refreshPoints, wait));
}

function showRefunds({ quote, refunds }, name, amount) {
  byId("refunds").hidden = refunds.length === 0;
  byId("refund-list").replaceChildren(...refunds.map(({ at, amount: returned, state, lines }) => {
    const items = lines.map(({ line, quantity }) => `${quantity} × ${name(quote.lines[line])}`).join(", ");
    return el("li", {}, el("strong", {}, amount(returned)), ` on ${day(at)}${items ? `: ${items}` : ""}. ${repayments[state] ?? ""}`);
  }));
}

function showOrderState(order) {
  const [sign, kind, title, text] = states[order.state] ?? ["clock", "", order.state, ""];
  const freed = order.state === "cancelled" && order.coupon ? " Your coupon and points are free again." : "";
  const host = byId("order-state");
  host.dataset.state = order.state;
  host.replaceChildren(el("span", { class: `order-mark ${kind}` }, icon(sign)),
    el("div", {}, el("h2", {}, title), el("p", { class: "muted" }, text + freed),
      order.state === "open" && order.paymentUrl && el("p", {}, el("a", { href: order.paymentUrl, id: "resume" }, "Go back to the payment page")),
      order.state === "open" && cancelButton(order)));
}

// cancelButton ends an order for good. An order that turns out to be paid is shown by the
// next question.
function cancelButton(order) {
  const button = el("button", { class: "button", type: "button", id: "cancel" }, "Cancel the order");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      show(await post("/payment/cancel", { orderId: order.id }));
    } catch (error) {
      button.disabled = false;
      if (error.status === 401) return turnAway();
      toast(error.message, "danger");
    }
    return undefined;
  });
  return button;
}
