// One coupon: its figures and every redemption. The page itself has the rest.
import { get, signInAddress } from "../api.js";
import { byId, el, foreign } from "../dom.js";
import { day, dayOfEnd, discount, midnight, moment, money, number, own, plural } from "../format.js";
import { isAdministrator, remedy, showState, start, toast } from "../shell.js";
import { scopes, unreadableRow } from "./columns.js";

const id = location.pathname.split("/").at(-1);
const origins = { checkout: "Checkout", points: "Points", payment: "Payment" };
const badges = { completed: "badge badge-good", reserved: "badge badge-notice", released: "badge" };
let next = "";
let shown = 0;
let asking = false;

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
    byId("content").hidden = false;
    await showRedemptions();
    byId("more").addEventListener("click", showRedemptions);
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
  document.title = `${coupon.code} · couponkit`;
  byId("title").textContent = coupon.code;
  byId("title").classList.add("code");
  byId("subtitle").replaceChildren(foreign(coupon.name), ...(coupon.description ? [". ", foreign(coupon.description)] : []));
  byId("mirror-unsupported").hidden = !coupon.mirrorUnsupported;
  const limit = (value) => (value ? number(value) : "No limit");
  const facts = [
    ["Discount", discount(coupon)],
    ["Scope", scopes[coupon.appliesTo]],
    ["Used", coupon.maxUses ? `${number(coupon.usedCount)} of ${number(coupon.maxUses)}` : number(coupon.usedCount)],
    ["Max uses", coupon.budget && !coupon.maxUses ? "By the budget" : limit(coupon.maxUses)],
    ...budgets.map(({ currency, amount, spent }) => ["Budget spent", `${money(spent, currency)} of ${money(amount, currency)}`]),
    ["Reserved", number(coupon.reservedCount)],
    ["Per customer", limit(coupon.maxUsesPerUser)],
    ["Min purchase", coupon.minPurchase ? money(own(coupon.minPurchase, coupon.currency), coupon.currency) : "None"],
    ["Group", coupon.group ? foreign(coupon.group) : "None"],
    ["Start", coupon.startsAt ? (midnight(coupon.startsAt) ? day : moment)(coupon.startsAt) : "At once"],
    ["Expiry", coupon.expiresAt ? (midnight(coupon.expiresAt) ? dayOfEnd : moment)(coupon.expiresAt) : "Never"],
    ["Status", coupon.active ? "Active" : "Inactive"],
  ];
  byId("facts").replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

async function showRedemptions() {
  if (asking) return; // a second click would bring the same redemptions again
  asking = true;
  try {
    const page = await get(`/admin/coupon/${id}/redemptions?${new URLSearchParams({ pageSize: 50, ...(next && { after: next }) })}`);
    next = page.next ?? "";
    const unreadable = page.unreadable ?? [];
    shown += page.items.length + unreadable.length;
    byId("redemption-rows").append(...page.items.map(row), ...unreadable.map((record) => unreadableRow(record, 6)));
    byId("redemptions-failed").hidden = true;
    byId("redemptions").hidden = shown === 0;
    byId("redemptions-empty").hidden = shown > 0;
    byId("redemptions-count").textContent = shown > 0 ? plural(page.total ?? shown, "redemption", "redemptions", page.atLeast) : "";
    byId("more-row").hidden = next === "";
  } catch (error) {
    showFailure(error);
  } finally {
    asking = false;
  }
}

// showFailure says that there are no redemptions to be had. Those that are shown stay,
// with the button for more.
function showFailure(error) {
  if (shown > 0) {
    toast(error.message, "danger");
    return;
  }
  byId("redemptions").hidden = true;
  showState(byId("redemptions-failed"), "The redemptions could not be loaded", error.message, remedy(error, showRedemptions));
}

function row(redemption) {
  const cell = (label, className, ...children) => el("td", { role: "cell", class: className, "data-label": label }, ...children);
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
