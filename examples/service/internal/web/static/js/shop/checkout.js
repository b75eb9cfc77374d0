// The summary of a checkout, the same in all three flows: coupon, shipping, totals
// and the button that leads to the payment page. All amounts are the API's.
import { ApiError, get, post, signInAddress } from "../api.js";
import { el } from "../dom.js";
import * as fields from "../fields.js";
import { isZero, money } from "../format.js";
import { retry } from "../shell.js";
import { couponBox } from "./coupon_box.js";
import { offersBox } from "./offers.js";

// Rejections that belong to the coupon; all others are about the checkout.
const aboutCoupon = new Set(["code_required", "coupon_not_found", "coupon_inactive", "coupon_not_started", "coupon_expired", "processor_out_of_sync",
  "usage_limit_reached", "user_usage_limit_reached", "minimum_purchase_not_met", "user_not_allowed", "points_not_redeemed", "no_eligible_items", "no_discount", "currency_mismatch", "not_combinable", "outside_schedule",
  "period_limit_reached", "budget_exhausted", "minimum_quantity_not_met", "customer_tags_not_met", "not_first_order", "channel_not_allowed", "country_not_allowed", "maximum_purchase_exceeded", "maximum_quantity_exceeded", "required_items_missing", "excluded_items_contained"]);

let catalogAnswer;

// catalog returns what the shop sells; asked for until there is an answer.
async function catalog() {
  catalogAnswer ??= await get("/catalog");
  return catalogAnswer;
}

// newKey returns an Idempotency-Key. crypto.randomUUID is not there over plain HTTP.
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// checkout fills a host with the summary. Options:
//   currency          of the shop
//   shippingOptions   to choose from; empty for what is not shipped
//   user              who is signed in, null for nobody
//   lines()           what is bought
//   onQuote(quote)    is told of every new quote
//   pay(state, key)   asks the API for the payment and returns {url}; state is
//                     {lines, shippingOptionId, couponCode or codes, quote}
//   showLines         whether the lines are listed in the summary
//   guests            whether somebody who is not signed in can pay with an e-mail address
//   several           whether the cart can have several coupons
//   suggests          whether the shop suggests coupons
function checkout(host, options) {
  let shipping = options.shippingOptions[0]?.id;
  let quote = null;
  let automatic = []; // coupons without a code that apply
  let asked = 0;
  let attempt = { key: "", body: "" };
  let paying = false;

  const couponHost = el("div");
  const offersHost = el("ul", { class: "offers", id: "offers", role: "list", "aria-label": "Coupons for this cart", hidden: true });
  const linesHost = el("ul", { class: "lines summary-lines", role: "list", hidden: !options.showLines });
  const totals = el("dl", { class: "totals", "aria-live": "polite" });
  const message = el("div", { role: "alert" });
  const payButton = el("button", { class: "button button-primary button-wide", type: "button", id: "pay-now", onclick: pay, disabled: true }, "Continue to payment");
  const signIn = el("a", { class: "button button-primary button-wide", href: signInAddress() }, "Sign in to pay");
  const guest = options.guests && !options.user;
  const email = el("input", { class: "input", id: "guest-email", type: "email", autocomplete: "email", onchange: () => email.checkValidity() && requote({ keep: true }) });
  const address = el("div", { class: "field", "data-field": "email" }, el("label", { for: "guest-email" }, "E-mail address"), email);
  if (guest) signIn.className = "sign-in-instead";
  if (guest) signIn.textContent = "Sign in instead";
  host.replaceChildren(couponHost, offersHost, ...shippingChoice(), linesHost, totals, ...(guest ? [address] : []), message, ...(options.user || guest ? [payButton] : []), ...(options.user ? [] : [signIn]));
  const box = couponBox(couponHost, options, requote);
  const offers = offersBox(offersHost, options.currency, box.use);

  function shippingChoice() {
    if (options.shippingOptions.length === 0) return [];
    return [el("fieldset", { class: "choices" }, el("legend", { class: "label" }, "Shipping"),
      ...options.shippingOptions.map((option, index) => el("label", { class: "choice" },
        el("input", { type: "radio", name: "shipping", value: option.id, checked: index === 0, onchange: () => { shipping = option.id; requote(); } }),
        el("span", {}, option.name), el("span", { class: "amount" }, isZero(option.price) ? "Free" : money(option.price, options.currency)))))];
  }

  // request returns what is bought. The address of a guest is a part of it when it is one, and
  // always of a payment.
  function request(payment = false) {
    const body = { lines: options.lines() };
    if (shipping) body.shippingOptionId = shipping;
    const codes = box.codes();
    if (options.several && codes.length > 0) Object.assign(body, { codes, conflicts: "keep_best" });
    else if (codes.length > 0) [body.couponCode] = codes;
    if (guest && (payment || (email.value.trim() !== "" && email.checkValidity()))) body.email = email.value.trim();
    return body;
  }

  // requote prices what is bought. Only the newest answer is shown. With keep, the customer can
  // go on to the payment meanwhile: who leaves a field by a click on the button has clicked it.
  async function requote({ keep = false } = {}) {
    const ask = (asked += 1);
    totals.classList.add("busy");
    if (!keep) payButton.disabled = true;
    try {
      const answer = await post("/payment/quote", request());
      if (ask !== asked) return;
      if (box.revises(answer)) {
        await requote({ keep });
        return;
      }
      quote = answer.quote;
      automatic = answer.automatic ?? [];
      box.show(answer);
      showQuote();
      if (options.suggests) offers.show(request());
      message.replaceChildren();
      payButton.disabled = paying || answer.rejections.length > 0;
    } catch (error) {
      if (ask !== asked) return;
      quote = null;
      totals.replaceChildren();
      showProblem(error, requote);
    } finally {
      if (ask === asked) totals.classList.remove("busy");
    }
  }

  function showQuote() {
    const amount = (value) => money(value, quote.currency);
    const entry = (name, text, className = "") => [el("dt", { class: className }, name), el("dd", { class: className, "data-total": name.toLowerCase() }, text)];
    totals.replaceChildren(
      ...entry("Subtotal", amount(quote.subtotal)),
      ...(isZero(quote.discount) ? [] : entry("Discount", `−${amount(quote.discount)}`, "discount")),
      ...automatic.flatMap(({ terms, discount }) => entry(terms.name, `−${amount(discount)}`, "automatic")),
      ...(options.shippingOptions.length > 0 ? entry("Shipping", amount(quote.shipping)) : []),
      ...entry("Total", amount(quote.total), "total"));
    if (options.showLines) linesHost.replaceChildren(...lineItems(quote, options.nameOf));
    options.onQuote?.(quote);
  }

  // showProblem says what is the matter, and offers to repeat what may work next time.
  function showProblem(error, again) {
    message.replaceChildren(el("p", { class: "note note-danger", "data-code": error.code }, el("span", {}, error.message),
      error.status === 401 && el("a", { href: signInAddress() }, "Sign in"), again && error.lost && retry(again)));
  }

  // wanted tells whether this checkout is still shown: whoever has closed its dialog, or
  // opened it for something else since, does not want to pay any more.
  const wanted = () => payButton.isConnected && host.closest("dialog")?.open !== false;

  // pay repeats the same key for the same request, so that a second try after a lost
  // answer cannot buy twice. Whoever has changed something meanwhile is shown another total
  // than that payment has, and stays here.
  async function pay() {
    if (payButton.disabled || quote === null) return;
    paying = true;
    payButton.disabled = true;
    payButton.textContent = "One moment";
    message.replaceChildren();
    if (guest) fields.showError(host, "email", "");
    const state = { ...request(true), quote };
    const body = JSON.stringify(state);
    if (attempt.body !== body) attempt = { key: newKey(), body };
    try {
      const { url } = await options.pay(state, attempt.key);
      if (!wanted()) return;
      if (JSON.stringify({ ...request(true), quote }) === body) {
        location.assign(url);
        return;
      }
      stay();
      await requote();
    } catch (error) {
      stay();
      if (error instanceof ApiError && !error.lost) attempt = { key: "", body: "" };
      await refused(error);
    }
    if (document.activeElement === document.body) payButton.focus(); // which it has lost while it was disabled
  }

  function stay() {
    paying = false;
    payButton.textContent = "Continue to payment";
  }

  // refused shows why, beside what is to be paid now.
  async function refused(error) {
    const wrong = guest && error.errors?.find(({ field }) => field === "email");
    if (wrong) {
      fields.showFaults(host, { email: `${wrong.message[0].toUpperCase()}${wrong.message.slice(1)}.` });
      payButton.disabled = false;
    } else if (error.code === "cart_totals_invalid") {
      await requote(); // the customer sees the new totals before paying
      showProblem(error);
    } else if (aboutCoupon.has(error.code)) {
      await requote();
      if (!box.refused()) box.problem(error);
    } else {
      showProblem(error);
      payButton.disabled = false;
    }
  }

  return { requote, restore: box.restore };
}

// cartCheckout asks for the payment of lines at the totals that were shown.
function cartCheckout({ quote, ...body }, key) {
  const { subtotal, discount, shipping, total } = quote;
  return post("/payment/cart-checkout", { ...body, expected: { subtotal, discount, shipping, total } }, { headers: { "Idempotency-Key": key } });
}

// lineItems shows the lines of a quote with each line's discount; shipping is among
// the totals.
function lineItems(quote, nameOf) {
  return quote.lines.filter((line) => line.kind !== "shipping").map((line) => el("li", { class: "line", "data-line": line.id },
    el("span", { class: "line-name" }, nameOf(line), line.quantity > 1 && ` × ${line.quantity}`),
    linePrice(line, quote.currency), lineDiscount(line, quote.currency)));
}

function linePrice(line, currency) {
  const reduced = !isZero(line.discount);
  return el("span", { class: "line-price" }, reduced && el("s", {}, el("span", { class: "visually-hidden" }, "instead of "), money(line.subtotal, currency)), money(line.total, currency));
}

function lineDiscount(line, currency) {
  if (isZero(line.discount)) return null;
  return el("span", { class: "line-discount" }, `Coupon −${money(line.discount, currency)}`);
}

export { cartCheckout, catalog, checkout, lineDiscount, lineItems, linePrice };
