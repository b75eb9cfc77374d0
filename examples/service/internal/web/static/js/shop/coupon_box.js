// The coupon box of a checkout. It knows three things: what the customer typed, what
// the API said about it, and whether the cart's quote accepts it. It has no opinion
// of its own.
import { ApiError, get, post, segment, signInAddress } from "../api.js";
import { el, foreign, icon } from "../dom.js";
import { isZero, money, number, offer, until, when } from "../format.js";
import { refreshPoints } from "../shell.js";
import * as kept from "./codes.js";

// couponBox fills a host. changed is called whenever the codes that the cart is to be
// priced with change; it returns when the new quote is shown. With several, the cart can
// have more than one code.
function couponBox(host, { currency, several = false }, changed) {
  let chosen = []; // the API's answers to apply-coupon, in the order in which the codes were entered
  let adding = false; // whether the customer enters a further code
  let last = []; // what the newest quote explained of each code
  let ofQuote = false; // whether the reasons are those of a quote, and not of looking a code up
  let excluded = null; // the code that was taken back last, with its reason
  let tried = ""; // the code that was entered elsewhere, and is tried here

  const input = el("input", { class: "input input-code", id: "coupon-code", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", placeholder: "Enter a code" });
  const button = el("button", { class: "button", type: "submit", id: "apply-coupon" }, "Apply");
  const form = el("form", { class: "field", novalidate: true, onsubmit: submit },
    el("label", { for: "coupon-code" }, "Coupon"), el("div", { class: "with-button" }, input, button));
  const chips = el("ul", { class: "coupons", role: "list", "aria-label": "Coupons" });
  const status = el("div", { role: "status", "aria-atomic": "false", hidden: true }, chips);
  const reasons = el("div", { id: "coupon-message", role: "alert" });
  const another = el("button", { class: "link-button", type: "button", id: "add-coupon", hidden: true, onclick: add }, "Add another coupon");
  host.replaceChildren(el("div", { class: "coupon-box" }, ...(several ? [status, another, form, reasons] : [form, status, reasons])));

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
    goOn();
  }

  const goOn = () => (form.hidden ? [...chips.querySelectorAll("button")].at(-1) : input).focus();

  // replaces tells whether a code that is entered takes the place of all others: there is one
  // code, or the form asks for the first one.
  const replaces = () => !several || !adding;

  async function apply(code) {
    const before = chosen.length;
    clearMessage();
    try {
      const found = await get(`/payment/apply-coupon/${segment(code || " ")}`);
      if (replaces()) chosen = [];
      choose(found);
      adding = false;
      if (several || kept.list().length === 0) kept.add(found.code);
      await changed();
    } catch (error) {
      if (replaces()) chosen = []; // nor is a code applied that was found before and never priced
      refuse([refusal(error)], code);
      showChips();
      if (before > chosen.length) await changed(); // the cart was priced with that code, or was to be
    }
  }

  function choose(found) {
    if (chosen.some((each) => each.couponId === found.couponId)) return;
    chosen = [...chosen, found];
  }

  const refusal = (error) => ({ code: error.code, text: sentence(error, currency), params: error.params });

  // restore takes the codes that were entered on another page, or that a link has brought. A cart has
  // all of them; a checkout of one thing tries the first one, and says nothing if it is refused.
  async function restore() {
    const refused = [];
    for (const code of several ? kept.list() : kept.list().slice(0, 1)) {
      try {
        const found = await get(`/payment/apply-coupon/${segment(code)}`);
        if (!several && chosen.length > 0) return; // entered meanwhile
        if (several && found.code !== code) kept.remove(code);
        if (several) kept.add(found.code);
        choose(found);
        tried = several ? "" : found.code;
      } catch (error) {
        if (several && !error.lost && error.status !== 429 && error.status !== 401) kept.remove(code);
        if (several) refused.push([refusal(error), code]);
      }
    }
    await changed();
    for (const [reason, code] of refused.slice(-1)) refuse([{ ...reason, text: `${code}: ${reason.text}` }], code);
  }

  // revises takes a code back that a quote refuses because others are better, or that was tried in
  // vain. It reports whether there is one: the cart is then priced again.
  function revises({ quote, coupons = [], automatic = [] }) {
    const refused = (code) => coupons.find((each) => each.code === code && !each.applied);
    if (tried !== "" && refused(tried)) {
      [chosen, tried] = [[], ""];
      return true;
    }
    const last = chosen.findLast(({ code }) => refused(code)?.rejections.some((each) => each.code === "not_combinable"));
    if (!last) return false;
    const { excludedBy, instead } = refused(last.code);
    const others = excludedBy?.map((key) => automatic.find((each) => each.couponId === key)?.terms.name ?? key).join(", ") || "your other coupons";
    const saves = instead ? ` With it you would save ${money(instead, currency)} instead of ${money(quote.discount, currency)}.` : "";
    chosen = chosen.filter((each) => each !== last);
    kept.remove(last.code);
    adding = input.value.trim() === last.code;
    excluded = [[{ code: "not_combinable", text: `${last.code} cannot be used together with ${others}.${saves}` }], last.code];
    return true;
  }

  // add lets the customer enter a further code.
  function add() {
    adding = true;
    input.value = "";
    clearMessage();
    showForm();
    input.focus();
  }

  // refuse shows reasons with what the customer can do about them.
  function refuse(list, code) {
    ofQuote = false;
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", "coupon-message");
    reasons.replaceChildren(...notes(list, code));
  }

  const notes = (list, code) => list.map((reason) => el("p", { class: "note note-danger", "data-code": reason.code }, el("span", {}, reason.text), ...remedy(reason, code)));

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
      if (chosen.length > 1) await Promise.all([changed(), refreshPoints()]);
      else await Promise.all([apply(code), refreshPoints()]);
    } catch (error) {
      const closed = error instanceof ApiError && error.code === "points_not_redeemed";
      refuse([{ ...refusal(error), code: closed ? "insufficient_points" : error.code }], code);
    }
    settle();
  }

  function clearMessage() {
    reasons.replaceChildren();
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }

  // forget takes a coupon off the cart.
  function forget(terms) {
    chosen = chosen.filter((each) => each.code !== terms.code);
    kept.remove(terms.code);
    adding = false;
    input.value = "";
    clearMessage();
    showChips();
    (form.hidden ? chips.querySelector("button") : input).focus();
    changed();
  }

  function showForm() {
    form.hidden = chosen.length > 0 && !adding;
    another.hidden = !several || chosen.length === 0 || adding;
  }

  // showChips shows the coupons with what the API explains of each of them. A chip that says the
  // same as before keeps its element, which would be announced again. Each coupon keeps its button
  // with the focus.
  function showChips() {
    showForm();
    status.hidden = chosen.length === 0;
    const shown = [...chips.children];
    const focused = shown.find((each) => each.contains(document.activeElement))?.dataset.coupon;
    const fresh = chosen.map((terms, index) => chip(terms, last.find((each) => each.code === terms.code), index, shown.find((each) => each.dataset.coupon === terms.code)));
    if (fresh.length === shown.length && fresh.every((each, i) => each === shown[i])) return;
    chips.replaceChildren(...fresh);
    if (focused) (fresh.find((each) => each.dataset.coupon === focused) ?? fresh[0])?.querySelector("button").focus();
  }

  // chip shows a coupon; before is the element that has shown it so far.
  function chip(terms, explained, index, before) {
    const refused = explained !== undefined && !explained.applied;
    const amount = explained?.applied && several && !isZero(explained.discount) ? `−${money(explained.discount, currency)}` : "";
    const says = refused ? "Not applied" : offer({ ...terms, ...explained?.terms }, currency);
    const own = refused && chosen.length > 1 ? explained.rejections.map((each) => ({ ...each, text: sentence(each, currency) })) : [];
    const words = JSON.stringify([index, terms.code, says, amount, own]);
    if (before?.words === words) return before;
    const first = index === 0;
    const removal = before?.querySelector(".button-icon") ?? el("button", { class: "button button-icon", type: "button", "aria-label": `Remove coupon ${terms.code}`, onclick: () => forget(terms) }, icon("close"));
    if (first) removal.id = "remove-coupon";
    else removal.removeAttribute("id");
    const item = el("li", { "data-coupon": terms.code },
      el("div", { class: refused ? "coupon-applied refused" : "coupon-applied" },
        el("div", {}, el("strong", { id: first && "coupon-name" }, foreign(terms.code)), el("small", {}, says)),
        amount !== "" && el("span", { class: "coupon-amount", "data-coupon-amount": terms.code }, amount),
        removal),
      ...notes(own, terms.code));
    item.words = words;
    return item;
  }

  // showRefusals says why the cart is not priced as the customer wants. What is about one of
  // several coupons stands beside that coupon.
  function showRefusals(rejections, explained) {
    const own = chosen.length > 1 ? explained.flatMap((each) => each.rejections).map((each) => JSON.stringify(each)) : [];
    const rest = rejections.filter((each) => !own.includes(JSON.stringify(each)));
    if (rest.length === 0) return;
    refuse(rest.map((each) => ({ ...each, text: sentence(each, currency) })), chosen[0]?.code ?? "");
    ofQuote = true;
  }

  return {
    codes: () => chosen.map((each) => each.code),
    // use adds a code that the shop suggests to those of the cart.
    async use(code) {
      adding = chosen.length > 0;
      input.value = code;
      await apply(code);
      goOn();
    },
    restore,
    revises,
    // show tells what the quote of the cart says. One without a code says nothing about the
    // code that was looked up last: what was said about that stays until the customer tries
    // another.
    show({ rejections, coupons = [] }) {
      if ((chosen.length > 0 && !adding) || ofQuote) clearMessage();
      last = coupons;
      showChips();
      if (rejections.length > 0) showRefusals(rejections, coupons);
      if (excluded) refuse(...excluded);
      excluded = null;
    },
    // refused tells whether the box shows a refusal.
    refused: () => reasons.childElementCount > 0 || chips.querySelector(".note") !== null,
    // problem shows a refusal that came at the checkout itself.
    problem: (error) => refuse([refusal(error)], chosen[0]?.code ?? ""),
  };
}

// sentence is the API's message, with the facts if it told some. Times are those of the customer's
// own clock.
function sentence({ code, message, params }, currency) {
  if (code === "coupon_not_started" && params?.startsAt) return `This coupon can be used from ${when(params.startsAt)} on.`;
  if (code === "coupon_expired" && params?.expiresAt) return `This coupon has expired. It was valid ${until(params.expiresAt)}.`;
  if (code === "outside_schedule" && params?.opensAt) return `This coupon can be used again from ${when(params.opensAt)} on.`;
  if (code === "period_limit_reached" && params?.endsAt) return `This coupon has been used as often as it allows. It can be used again from ${when(params.endsAt)} on.`;
  if (code === "minimum_purchase_not_met" && params?.missing) return `${message} ${money(params.missing, currency)} is missing.`;
  if (code === "not_combinable" && params?.excludedBy?.length > 0) return `This coupon cannot be used together with ${params.excludedBy.join(", ")}. Remove one of them.`;
  return message;
}

export { couponBox };
