// The coupon box of a checkout. It knows three things: what the customer typed, what
// the API said about it, and whether the cart's quote accepts it. It has no opinion
// of its own.
import { ApiError, get, post, segment, signInAddress } from "../api.js";
import { el, foreign, icon } from "../dom.js";
import { discount, money, number } from "../format.js";
import { refreshPoints } from "../shell.js";

// couponBox fills a host. changed is called whenever the code that the cart is to be
// priced with changes; it returns when the new quote is shown.
function couponBox(host, currency, changed) {
  let applied = null; // the API's answer to apply-coupon
  let pending = ""; // a code that is refused for now, shown with its reasons
  let ofQuote = false; // whether the reasons are those of a quote, and not of looking a code up

  const input = el("input", { class: "input input-code", id: "coupon-code", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", placeholder: "Enter a code" });
  const button = el("button", { class: "button", type: "submit", id: "apply-coupon" }, "Apply");
  const form = el("form", { class: "field", novalidate: true, onsubmit: submit },
    el("label", { for: "coupon-code" }, "Coupon"), el("div", { class: "with-button" }, input, button));
  const chip = el("div", { role: "status", hidden: true });
  const reasons = el("div", { id: "coupon-message", role: "alert" });
  host.replaceChildren(el("div", { class: "coupon-box" }, form, chip, reasons));

  async function submit(event) {
    event.preventDefault();
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true"); // one that is disabled would lose the focus
    try {
      await apply(input.value.trim());
    } finally {
      button.removeAttribute("aria-disabled");
      settle();
    }
  }

  // settle gives the focus to what comes next, unless the customer has gone on elsewhere:
  // the form that had the focus is hidden once a coupon is there.
  function settle() {
    const at = document.activeElement;
    if (at !== document.body && !form.contains(at) && at.checkVisibility()) return;
    (chip.hidden ? input : chip.querySelector("button")).focus();
  }

  async function apply(code) {
    const before = pending;
    clearMessage();
    try {
      applied = await get(`/payment/apply-coupon/${segment(code || " ")}`);
      pending = applied.code;
      await changed();
    } catch (error) {
      applied = null; // nor is a code applied that was found before and never priced
      pending = "";
      refuse([{ code: error.code, text: error.message, params: error.params }], code);
      showChip(null, []);
      if (before !== "") await changed(); // the cart was priced with that code, or was to be
    }
  }

  // refuse shows reasons with what the customer can do about them.
  function refuse(list, code) {
    ofQuote = false;
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", "coupon-message");
    reasons.replaceChildren(...list.map((reason) => el("p", { class: "note note-danger", "data-code": reason.code }, el("span", {}, reason.text), ...remedy(reason, code))));
  }

  function remedy({ code, params }, typed) {
    if (code === "user_required") return [el("a", { href: signInAddress() }, "Sign in")];
    if (code !== "points_not_redeemed") return [];
    const exchange = el("button", { class: "button", type: "button", id: "exchange-points", onclick: () => redeem(typed, exchange) },
      params?.pointsRequired ? `Exchange ${number(params.pointsRequired)} points` : "Exchange points");
    return [exchange];
  }

  async function redeem(code, exchange) {
    if (exchange.getAttribute("aria-disabled") === "true") return;
    exchange.setAttribute("aria-disabled", "true");
    try {
      await post(`/points/redeem/${segment(code)}`);
      await Promise.all([apply(code), refreshPoints()]);
    } catch (error) {
      const closed = error instanceof ApiError && error.code === "points_not_redeemed";
      refuse([{ code: closed ? "insufficient_points" : error.code, text: error.message, params: error.params }], code);
    }
    settle();
  }

  function clearMessage() {
    reasons.replaceChildren();
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }

  function forget() {
    applied = null;
    pending = "";
    input.value = "";
    showChip(null, []);
    clearMessage();
    input.focus();
    changed();
  }

  function showChip(terms, rejections) {
    form.hidden = terms !== null;
    chip.hidden = terms === null;
    if (terms === null) return;
    const words = el("div", {}, el("strong", { id: "coupon-name" }, foreign(terms.code)), el("small", {}, rejections.length > 0 ? "Not applied" : `${discount(terms)} off`));
    if (chip.firstElementChild?.isEqualNode(words)) return; // every quote would be announced, and take the focus from the button
    const focused = chip.contains(document.activeElement);
    chip.className = rejections.length > 0 ? "coupon-applied refused" : "coupon-applied";
    chip.replaceChildren(words,
      el("button", { class: "button button-icon", type: "button", id: "remove-coupon", "aria-label": `Remove coupon ${terms.code}`, onclick: forget }, icon("close")));
    if (focused) chip.querySelector("button").focus();
  }

  return {
    code: () => pending,
    // show tells what the quote of the cart says. One without a code says nothing about the
    // code that was looked up last: what was said about that stays until the customer tries
    // another.
    show({ rejections }) {
      if (pending !== "" || ofQuote) clearMessage();
      showChip(applied, rejections);
      if (rejections.length === 0) return;
      refuse(rejections.map((each) => ({ ...each, text: sentence(each, currency) })), pending);
      ofQuote = true;
    },
    // refused tells whether the box shows a refusal.
    refused: () => reasons.childElementCount > 0,
    // problem shows a refusal that came at the checkout itself.
    problem: (error) => refuse([{ code: error.code, text: error.message, params: error.params }], pending),
  };
}

// sentence is the API's message, with the amount that is missing if it told one.
function sentence({ code, message, params }, currency) {
  if (code === "minimum_purchase_not_met" && params?.missing) return `${message} ${money(params.missing, currency)} is missing.`;
  return message;
}

export { couponBox };
