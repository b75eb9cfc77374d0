// One coupon: its figures, its codes and every redemption. The page itself has the rest.
import { get, signInAddress } from "../api.js";
import { byId, el, foreign } from "../dom.js";
import { amounts, called, day, dayOfEnd, discount, midnight, moment, money, number, plural } from "../format.js";
import { isAdministrator, remedy, showState, start, toast } from "../shell.js";
import { cell, codeRow } from "./coderow.js";
import { scopes, unreadableRow } from "./columns.js";
import { replay } from "./replay.js";

const id = location.pathname.split("/").at(-1);
const origins = { checkout: "Checkout", points: "Points", payment: "Payment" };
const badges = { completed: "badge badge-good", reserved: "badge badge-notice", released: "badge" };
const codes = pages("codes", codeRow, 20, (count, more) => plural(count, "code", "codes", more));
const redemptions = pages("redemptions", redemptionRow, 50, (count, more) => plural(count, "redemption", "redemptions", more));

replay(id);
const user = await start();
if (isAdministrator(user)) await show();
else turnAway();

function turnAway() {
  byId("loading").remove();
  showState(byId("state"), "Administrators only", "Sign in as an administrator to see redemptions.", el("a", { class: "button button-primary", href: signInAddress() }, "Sign in"));
}

async function show() {
  byId("state").hidden = true;
  try {
    const [coupon, { budgets }] = await Promise.all([existing(), get(`/admin/coupon/${id}/usage?days=1`)]);
    if (coupon) showCoupon(coupon, budgets);
    else showDeleted();
    byId("codes-section").hidden = byId("replay-section").hidden = !coupon;
    byId("campaign").href = `/admin/coupons/${id}/batches`;
    byId("content").hidden = false;
    await Promise.all([coupon && codes(), redemptions()]);
  } catch (error) {
    byId("content").hidden = true;
    showState(byId("state"), "The coupon could not be loaded", error.message, remedy(error, show));
  }
  byId("loading")?.remove();
}

// existing returns the coupon, null when there is none any more. The uses of one that was
// deleted are kept; one that never was has none, and the API does not find them.
async function existing() {
  try {
    return await get(`/admin/coupon/${id}`);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

function showDeleted() {
  document.title = "Deleted coupon · couponkit";
  byId("title").textContent = "Deleted coupon";
  byId("subtitle").textContent = "What it was used for is kept.";
  byId("facts").hidden = true;
}

function showCoupon(coupon, budgets) {
  byId("duplicate").href = `/admin/coupons?duplicate=${id}`;
  byId("duplicate").hidden = false;
  document.title = `${called(coupon)} · couponkit`;
  byId("title").replaceChildren(foreign(called(coupon)));
  byId("title").classList.toggle("code", Boolean(coupon.code));
  byId("subtitle").replaceChildren(coupon.code ? foreign(coupon.name) : coupon.automatic ? "Carts get it without a code" : "Customers use it by the codes below", ...(coupon.description ? [". ", foreign(coupon.description)] : []));
  byId("mirror-unsupported").hidden = !coupon.mirrorUnsupported;
  const limit = (value) => (value ? number(value) : "No limit");
  const facts = [
    ["Discount", discount(coupon)],
    ["Scope", scopes[coupon.appliesTo]],
    ["Used", coupon.maxUses ? `${number(coupon.usedCount)} of ${number(coupon.maxUses)}` : number(coupon.usedCount)],
    ["Max uses", coupon.budget && !coupon.maxUses ? "By the budget" : limit(coupon.maxUses)],
    ...budgets.flatMap(({ currency, amount, spent, left }) => [["Budget spent", `${money(spent, currency)} of ${money(amount, currency)}`], ["Budget left", money(left, currency)]]),
    ["Reserved", number(coupon.reservedCount)],
    ["Per customer", limit(coupon.maxUsesPerUser)],
    ["Min purchase", coupon.minPurchase ? amounts(coupon.minPurchase, coupon.currency) : "None"],
    ...(coupon.maxPurchase ? [["Max purchase", amounts(coupon.maxPurchase, coupon.currency)]] : []),
    ...(coupon.automatic ? [["Automatic", "Yes"]] : []),
    ["Group", coupon.group ? foreign(coupon.group) : "None"],
    ["Start", coupon.startsAt ? (midnight(coupon.startsAt) ? day : moment)(coupon.startsAt) : "At once"],
    ["Expiry", coupon.expiresAt ? (midnight(coupon.expiresAt) ? dayOfEnd : moment)(coupon.expiresAt) : "Never"],
    ["Status", coupon.active ? "Active" : "Inactive"],
    ...(coupon.code ? [["Link for customers", customersLink(coupon.code)]] : []),
  ];
  byId("facts").replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

// customersLink is an address that brings the code to the cart.
function customersLink(code) {
  const href = `/cart?${new URLSearchParams({ coupon: code })}`;
  return el("a", { href, id: "customers-link" }, location.origin + href);
}

// pages returns what shows the next page of a list of the coupon in its table. A button asks for more.
function pages(name, row, pageSize, counted) {
  let next = "";
  let shown = 0;
  let asking = false;

  async function more() {
    if (asking) return; // a second click would bring the same page again
    asking = true;
    try {
      const page = await get(`/admin/coupon/${id}/${name}?${new URLSearchParams({ pageSize, ...(next && { after: next }) })}`);
      next = page.next ?? "";
      const unreadable = page.unreadable ?? [];
      shown += page.items.length + unreadable.length;
      byId(`${name}-rows`).append(...page.items.map(row), ...unreadable.map((record) => unreadableRow(record, 6)));
      byId(`${name}-failed`).hidden = true;
      byId(name).hidden = shown === 0;
      byId(`${name}-empty`).hidden = shown > 0;
      byId(`${name}-count`).textContent = shown > 0 ? counted(page.total ?? shown, page.atLeast ?? (page.total === undefined && next !== "")) : "";
      byId(`${name}-pager`).hidden = next === "";
    } catch (error) {
      showFailure(error);
    } finally {
      asking = false;
    }
  }

  // showFailure says that the list is not to be had. What is shown of it stays, with the button for
  // more.
  function showFailure(error) {
    if (shown > 0) {
      toast(error.message, "danger");
      return;
    }
    byId(name).hidden = true;
    showState(byId(`${name}-failed`), `The ${name} could not be loaded`, error.message, remedy(error, more));
  }

  byId(`${name}-more`).addEventListener("click", more);
  return more;
}

function redemptionRow(redemption) {
  return el("tr", { role: "row" },
    cell("Customer", "", redemption.customerEmail || redemption.customerId),
    cell("State", "", el("span", { class: badges[redemption.state] ?? "badge" }, redemption.state),
      redemption.awaitingPayment && [" ", el("span", { class: "badge badge-notice" }, "awaiting payment")],
      redemption.overLimit && [" ", el("span", { class: "badge badge-danger" }, "over limit")]),
    cell("Made by", "", origins[redemption.origin] ?? redemption.origin),
    cell("Points", "", redemption.points ? number(redemption.points) : "None"),
    cell("Payment session", "cell-code span", redemption.sessionId ?? "None"),
    cell("When", "nowrap", moment(redemption.completedAt ?? redemption.releasedAt ?? redemption.createdAt)));
}
