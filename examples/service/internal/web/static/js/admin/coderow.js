// A code of a coupon as a row of a table.
import { el, foreign } from "../dom.js";
import { dayOfEnd, midnight, moment, number } from "../format.js";

function cell(label, className, ...children) {
  return el("td", { role: "cell", class: className, "data-label": label }, ...children);
}

function codeRow(code) {
  const taken = code.usedCount + code.reservedCount;
  const ended = code.expiresAt && Date.parse(code.expiresAt) <= Date.now();
  const plain = !code.batch;
  return el("tr", { role: "row", "data-code": code.code },
    cell(null, "cell-code span", el("span", { title: code.code }, code.code)),
    cell("State", "", plain ? el("span", { class: "muted" }, "As the coupon") : el("span", { class: code.active ? "badge badge-good" : "badge" }, code.active ? "active" : "inactive"),
      code.maxUses && taken >= code.maxUses && [" ", el("span", { class: "badge badge-danger" }, "used up")]),
    cell("Uses", "", plain ? el("span", { class: "muted" }, "As the coupon") : `${number(code.usedCount)}${code.maxUses ? ` of ${number(code.maxUses)}` : ""}`,
      code.reservedCount > 0 && el("div", { class: "muted" }, `${number(code.reservedCount)} reserved`)),
    cell("Expiry", "nowrap", code.expiresAt ? (midnight(code.expiresAt) ? dayOfEnd : moment)(code.expiresAt) : el("span", { class: "muted" }, "As the coupon"),
      ended && [" ", el("span", { class: "badge badge-danger" }, "expired")]),
    cell("Batch", "", plain ? el("span", { class: "muted" }, "None") : foreign(code.batch)),
    cell("Owner", "span", owner(code.owner)));
}

// owner shows the text of an owner, which is "email:" with an address or "id:" with the ID of a customer.
function owner(text) {
  return text ? foreign(text.slice(text.indexOf(":") + 1)) : el("span", { class: "muted" }, "Everybody");
}

export { cell, codeRow };
