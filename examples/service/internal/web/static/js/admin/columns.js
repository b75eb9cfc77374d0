// The columns of the table of coupons: how a coupon is shown and sorted.
import { el, foreign, icon } from "../dom.js";
import { called, day, dayOfEnd, discount, expired, midnight, money, number, time, waits } from "../format.js";

const scopes = { ALL: "Everything", SUBSCRIPTION: "Subscriptions", PRODUCT: "Products", SPECIFIC: "Specific items" };

// cell makes a table cell; the label is shown beside it where the table becomes
// cards. The roles keep it a table for screen readers there.
const cell = (label, className, ...children) => el("td", { role: "cell", class: className, "data-label": label }, ...children);

// row shows one coupon. The handlers are edit, toggle and remove.
function row(coupon, handlers) {
  return el("tr", { role: "row", "data-id": coupon.id, "data-code": coupon.code ?? "" },
    cell(null, "cell-code", el("a", { href: `/admin/coupons/${encodeURIComponent(coupon.id)}`, title: called(coupon) }, coupon.code ?? el("span", { class: "muted" }, coupon.automatic ? "Automatic" : "No code"))),
    cell(null, "cell-name", el("div", {}, foreign(coupon.name)), audience(coupon), coupon.automatic && coupon.code && el("div", { class: "sub muted" }, "Automatic"), coupon.group && el("div", { class: "sub muted" }, "Group ", foreign(coupon.group))),
    cell("Discount", "cell-discount", discount(coupon)),
    cell("Scope", "", el("div", {}, scopes[coupon.appliesTo] ?? coupon.appliesTo), selection(coupon)),
    cell("Usage", "cell-usage", usage(coupon), ...budgets(coupon)),
    cell("Points", "", coupon.pointsRequired ? number(coupon.pointsRequired) : el("span", { class: "muted" }, "None")),
    cell("Expiry", "nowrap", expiry(coupon), start(coupon)),
    cell("Status", "", toggle(coupon, handlers.toggle)),
    cell(null, "cell-actions", ...actions(coupon, handlers)));
}

function audience(coupon) {
  if (coupon.distribution === "USER_SPECIFIC") return el("div", { class: "sub muted" }, "Listed customers");
  if (coupon.distribution === "POINTS_REDEEMABLE") return el("div", { class: "sub muted" }, "For points");
  return null;
}

function selection(coupon) {
  const count = (coupon.planIds?.length ?? 0) + (coupon.deviceIds?.length ?? 0) + (coupon.accessoryIds?.length ?? 0);
  return count === 0 ? null : el("div", { class: "muted" }, `${number(count)} selected`);
}

function usage(coupon) {
  const limit = coupon.maxUses;
  const reserved = coupon.reservedCount > 0 ? `, ${number(coupon.reservedCount)} reserved` : "";
  const figures = el("div", { class: "usage-figures" },
    el("span", {}, `${number(coupon.usedCount)}${limit ? ` / ${number(limit)}` : ""}`),
    el("span", { class: "of" }, limit || coupon.budget ? reserved.slice(2) : `no limit${reserved}`));
  if (!limit) return figures;
  const taken = Math.min(coupon.usedCount + coupon.reservedCount, limit);
  return el("div", {}, figures, el("progress", {
    class: taken >= limit ? "bar full" : "bar", max: limit, value: taken,
    "aria-label": `Usage of ${called(coupon)}: ${coupon.usedCount} of ${limit}${reserved}`,
  }));
}

// budgets are the amounts that a coupon takes off at most in all, currency by currency, and what is left if that is known.
const budgets = (coupon) => (coupon.budgets ?? amounts(coupon)).map(({ currency, amount, left }) => el("div", { class: "muted" },
  el("span", { class: "nowrap" }, `Budget ${money(amount, currency)}`), left && [", ", el("span", { class: "nowrap" }, `${money(left, currency)} left`)]));

const amounts = ({ budget, currency }) => Object.entries(typeof budget === "string" ? { [currency]: budget } : budget ?? {}).map(([of, amount]) => ({ currency: of, amount }));

function expiry(coupon) {
  const at = coupon.expiresAt;
  if (!at) return el("span", { class: "muted" }, "Never");
  const shown = midnight(at) ? dayOfEnd(at) : day(at);
  return [expired(coupon) ? el("span", { class: "badge badge-danger" }, `Expired ${shown}`) : shown, withinDay(at)];
}

// start is when a coupon begins to be valid, as long as it is not.
const start = (coupon) => waits(coupon) && [el("div", {}, el("span", { class: "badge badge-notice" }, `Starts ${day(coupon.startsAt)}`)), withinDay(coupon.startsAt)];

// withinDay is the time of an instant at which no day ends.
const withinDay = (instant) => !midnight(instant) && el("div", { class: "muted" }, time(instant));

function toggle(coupon, onToggle) {
  return el("button", {
    class: "switch", type: "button", role: "switch", "data-action": "toggle",
    "aria-checked": String(coupon.active), "aria-label": `${called(coupon)} is active`, onclick: () => onToggle(coupon),
  }, el("span", { class: "switch-track" }), el("span", { "aria-hidden": "true" }, coupon.active ? "Active" : "Inactive"));
}

function actions(coupon, handlers) {
  const link = el("a", { class: "button button-icon", href: `/admin/coupons/${encodeURIComponent(coupon.id)}`, "aria-label": `Redemptions of ${called(coupon)}`, title: "Redemptions" }, icon("chart"));
  const button = (name, label, call, action) => el("button", {
    class: "button button-icon", type: "button", "data-action": action, "aria-label": `${label} ${called(coupon)}`, title: label, onclick: () => call(coupon),
  }, icon(name));
  return [link, button("edit", "Edit", handlers.edit, "edit"), button("copy", "Duplicate", handlers.duplicate, "duplicate"), button("remove", "Delete", handlers.remove, "delete")];
}

// unreadableRow shows a record that the store cannot read, in a table with so many columns.
const unreadableRow = ({ id, reason }, columns) => el("tr", { role: "row", class: "unreadable" },
  el("td", { role: "cell", class: "cell-code span" }, id),
  el("td", { role: "cell", class: "span", colspan: String(columns - 1) }, el("span", { class: "badge badge-danger" }, "Cannot be read"), " ", foreign(reason)));

// skeleton is a row that waits for its coupon.
function skeleton() {
  return el("tr", { role: "row", "aria-hidden": "true" }, ...Array.from({ length: 9 }, () => el("td", { role: "cell" }, el("span", { class: "skeleton" }))));
}

export { row, scopes, skeleton, unreadableRow };
