// The dialog that creates and edits a coupon (specification 2.1): which fields are
// shown, what is checked before it is sent, and where the server's answers appear.
import { get, patch, post } from "../api.js";
import { byId, el, foreign } from "../dom.js";
import * as fields from "../fields.js";
import { called, firstDay, lastDay, midnight, moment, symbol } from "../format.js";
import { toast } from "../shell.js";
import { picker } from "./picker.js";
import { preview } from "./preview.js";
import { rows, timeZones } from "./rows.js";
import { apart, decimal, further, inOthers, joined, withOwn } from "./terms.js";

const multiple = new Set(["discountValues", "maxDiscounts", "minPurchases", "maxPurchases", ...withOwn]); // amounts in several currencies
const dialog = byId("coupon-dialog");
const form = byId("coupon-form");
const inputs = form.elements;
const pickers = Object.fromEntries([...form.querySelectorAll("[data-picker]")].map((host) => [host.closest("[data-field]").dataset.field, picker(host, changed)]));
const lists = Object.fromEntries([...form.querySelectorAll("[data-rows]")].map((host) => [host.dataset.rows, rows(host, changed, () => (multiple.has(host.dataset.rows) ? { currency: nextCurrency(host) } : {}))]));
const more = further(form, pickers, lists);

const scopeHints = {
  ALL: "Subscriptions, devices and accessories. Shipping is never discounted.",
  SUBSCRIPTION: "Select plans to narrow it. None selected means all plans.",
  PRODUCT: "Select devices or accessories to narrow it. None selected means all of them.",
  SPECIFIC: "Only what you select. Select at least one plan, device or accessory.",
};

const typeHints = {
  PERCENTAGE: "Takes a percentage off everything that the coupon covers.",
  FIXED_AMOUNT: "Takes an amount off the cart.",
  FIXED_AMOUNT_PER_UNIT: "Takes an amount off each unit.",
  FIXED_UNIT_PRICE: "Each unit costs a fixed price.",
  CHEAPEST_UNITS: "Takes a percentage off the cheapest units.",
  BUY_X_GET_Y: "Takes a percentage off some units for others that are bought.",
  TIERED: "Takes more off the larger the purchase is.",
};
const percentages = new Set(["PERCENTAGE", "CHEAPEST_UNITS", "BUY_X_GET_Y"]);

const dayHint = byId("f-expires-hint").textContent;
const startHint = byId("f-starts-hint").textContent;

let editing = null; // the coupon that is edited, null while one is created
let instant = ""; // at which that coupon expires, unless it is the end of a day, or is to be
let beginning = ""; // the instant at which that coupon starts, unless it is the beginning of a day
let onSaved = () => {};
let busy = false;
let unanswered = ""; // the code that was to be created last, if it is not known whether it was
let scratch = true; // whether the form began empty
let clean = ""; // what the form held when it was opened
let checked = new Set(); // fields whose error this page has found, and takes away
let reported = new Set(); // fields that the server has refused
let contradicting = new Set(); // of these, the fields that contradict others
let opened = 0; // how often; what was asked for one form is not shown in the next

form.addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
form.addEventListener("change", showFields);
for (const kind of ["input", "change"]) form.addEventListener(kind, ({ target }) => revise(target));
inputs.currency.addEventListener("change", followCurrency);
inputs.automatic.addEventListener("change", followAutomatic);
dialog.addEventListener("cancel", (event) => {
  if (event.target !== dialog || entries() === clean) return;
  event.preventDefault();
  byId("discard-dialog").showModal();
});
// Browsers let a page refuse the second Escape in a row only by its key.
dialog.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  event.preventDefault();
  if (dialog.dispatchEvent(new Event("cancel", { cancelable: true }))) dialog.close();
});
byId("confirm-discard").addEventListener("click", () => {
  byId("discard-dialog").close();
  dialog.close();
});
inputs.code.addEventListener("input", upperCase);
inputs.withoutCode.addEventListener("change", () => {
  if (!inputs.withoutCode.checked) return;
  inputs.code.value = "";
  showError("code", "");
});
inputs.discountValue.addEventListener("input", checkValue);
for (const radio of form.querySelectorAll('input[name="discountType"]')) radio.addEventListener("change", checkValue);
byId("generate").addEventListener("click", generate);
timeZones(byId("time-zones"), form);
const previewSoon = preview(form, () => (scratch && entries() === clean ? null : draft()), label, refusedAgain);
byId("f-expires-day").addEventListener("click", expireWithTheDay);

// entries is all that the form holds.
const entries = () => JSON.stringify([[...new FormData(form)], Object.values(pickers).map((each) => each.value())]);

// openForm opens the dialog; coupon is null to create one, and copy makes one like the coupon. saved
// is told of the coupon that the server has stored, and whether it is new, failed of one that it
// does not give.
async function openForm(coupon, saved, failed, { copy = false } = {}) {
  const mine = (opened += 1);
  onSaved = saved;
  editing = null;
  instant = "";
  beginning = "";
  setBusy(false);
  form.reset();
  more.fill({});
  clearErrors();
  for (const each of Object.values(pickers)) each.set([]);
  if (coupon) {
    let current;
    try {
      current = apart(await get(`/admin/coupon/${encodeURIComponent(coupon.id)}`)); // the list may be old, and leaves the addresses out
    } catch (error) {
      failed(coupon, copy ? "cannot be duplicated now" : "cannot be edited now", error);
      return;
    }
    const names = await itemNames();
    if (mine !== opened) return;
    editing = copy ? null : current;
    fill(current, names);
    if (copy) inputs.code.value = "";
  } else {
    inputs.maxUsesPerUser.value = "1";
  }
  const title = copy ? "New coupon like " : "Edit ";
  byId("coupon-dialog-title").replaceChildren(...(coupon ? [title, foreign(called(coupon))] : ["New coupon"]));
  byId("save").textContent = editing ? "Save changes" : "Create coupon";
  lock(editing !== null);
  showFields();
  followCurrency();
  scratch = coupon === null;
  clean = entries();
  dialog.showModal();
  previewSoon();
  form.querySelector(".dialog-body").scrollTop = 0;
  (editing || inputs.withoutCode.checked ? inputs.name : inputs.code).focus();
}

// lock disables what never changes after creation.
function lock(locked) {
  for (const control of form.querySelectorAll("[data-immutable] :is(input, select, textarea, button)")) control.disabled = locked;
  for (const button of form.querySelectorAll("[data-immutable] :is([data-add-row], [data-remove-row])")) button.hidden = locked;
  byId("generate").hidden = locked;
  for (const hint of ["f-code-hint", "f-without-code-hint"]) byId(hint).hidden = locked;
}

function fill(coupon, names) {
  inputs.code.value = coupon.code ?? "";
  inputs.withoutCode.checked = !coupon.code;
  inputs.name.value = coupon.name;
  inputs.discountType.value = coupon.discountType;
  inputs.discountValue.value = coupon.discountValue ?? "";
  inputs.description.value = coupon.description ?? "";
  inputs.appliesTo.value = coupon.appliesTo;
  inputs.distribution.value = coupon.distribution;
  inputs.allowedUserEmails.value = lines(coupon.allowedUserEmails);
  inputs.pointsRequired.value = coupon.pointsRequired ?? "";
  inputs.maxUses.value = coupon.maxUses ?? "";
  inputs.maxUsesPerUser.value = coupon.maxUsesPerUser ?? "";
  inputs.minPurchase.value = coupon.minPurchase ?? "";
  inputs.startsAt.value = firstDay(coupon.startsAt);
  beginning = !coupon.startsAt || midnight(coupon.startsAt) ? "" : coupon.startsAt;
  inputs.expiresAt.value = lastDay(coupon.expiresAt);
  instant = midnight(coupon.expiresAt) ? "" : coupon.expiresAt ?? "";
  const ofAnyKind = (ids) => (ids ?? []).map((id) => ({ id, name: ["plans", "devices", "accessories"].map((kind) => names.get(`${kind} ${id}`)).find(Boolean) ?? id }));
  const items = (kind, ids) => (ids ?? []).map((id) => ({ id, name: names.get(`${kind} ${id}`) ?? id }));
  more.fill(coupon);
  pickers.planIds.set(items("plans", coupon.planIds));
  pickers.deviceIds.set(items("devices", coupon.deviceIds));
  pickers.accessoryIds.set(items("accessories", coupon.accessoryIds));
  pickers.excludedItemIds.set(ofAnyKind(coupon.excludedItemIds));
  for (const part of ["buys", "contains", "containsNot"]) {
    pickers[`${part}.planIds`].set(items("plans", coupon[part]?.planIds));
    pickers[`${part}.deviceIds`].set(items("devices", coupon[part]?.deviceIds));
    pickers[`${part}.accessoryIds`].set(items("accessories", coupon[part]?.accessoryIds));
    pickers[`${part}.excludedItemIds`].set(ofAnyKind(coupon[part]?.excludedItemIds));
  }
}

const lines = (list) => (list ?? []).join("\n");

async function itemNames() {
  const names = new Map();
  try {
    const catalog = await get("/catalog");
    for (const kind of ["plans", "devices", "accessories"]) for (const item of catalog[kind]) names.set(`${kind} ${item.id}`, item.name);
  } catch {
    return names; // the IDs are shown then
  }
  return names;
}

// showFields shows the fields that belong to the type, the scope and the distribution. Of the
// terms that cannot be edited, those are shown that the coupon has.
function showFields() {
  const type = inputs.discountType.value;
  const scope = inputs.appliesTo.value;
  const distribution = inputs.distribution.value;
  for (const field of form.querySelectorAll("[data-types]")) field.hidden = !field.dataset.types.split(" ").includes(type) || (editing !== null && blank(field));
  byId("f-max-discount").closest("[data-field]").hidden = editing !== null && inputs.maxDiscount.value === "";
  for (const field of form.querySelectorAll("[data-part]")) field.hidden = !field.dataset.partScopes.split(" ").includes(inputs[`${field.dataset.part}.appliesTo`].value);
  byId("f-type-hint").textContent = typeHints[type];
  inputs.code.disabled = byId("generate").disabled = editing !== null || inputs.withoutCode.checked;
  for (const field of form.querySelectorAll("[data-scopes]")) field.hidden = !field.dataset.scopes.split(" ").includes(scope);
  for (const field of form.querySelectorAll("[data-distributions]")) field.hidden = field.dataset.distributions !== distribution;
  byId("f-scope-hint").textContent = scopeHints[scope];
  const percentage = percentages.has(type);
  byId("f-value-unit").textContent = percentage ? "%" : symbol(currency());
  for (const bound of ["min", "max"]) {
    byId(`f-${bound}-currency`).textContent = currency();
    byId(`f-${bound}-unit`).textContent = symbol(currency());
  }
  byId("f-value-hint").textContent = percentage ? "More than 0, at most 100." : `In ${currency()}.`;
  byId("f-value-hint").hidden = editing !== null;
  const withinDay = instant !== "" && expiry() === instant;
  byId("f-expires-hint").textContent = withinDay ? `Valid until ${moment(instant)}.` : dayHint;
  byId("f-expires-day").hidden = !withinDay;
  byId("f-starts-hint").textContent = beginning !== "" && start() === beginning ? `Valid from ${moment(beginning)} on.` : startHint;
}

// blank tells whether nothing is entered in a field.
const blank = (field) => [...field.querySelectorAll(".input, .textarea, .select, .chip")].every((each) => !each.matches(".chip") && each.value === "");

// changed follows a change that no control has told of.
function changed() {
  showFields();
  revise(null);
  previewSoon();
}

// label is what a field of the API is called in the form.
function label(field) {
  const [name, rest] = place(field);
  const texts = [];
  for (let at = name && fields.fieldOf(form, name); at && form.contains(at); at = at.parentElement.closest("[data-field], .row")) {
    texts.unshift(at.matches(".row") ? at.getAttribute("aria-label") : at.querySelector("label, legend, .label").textContent.trim());
  }
  return texts.length > 0 ? `${texts.slice(-2).join(", ")}${entry(rest)}` : field;
}

// entry names an entry of a list or of amounts.
function entry(rest) {
  const [, index, key] = /^(?:\[(\d+)\])?\.?(.*)$/.exec(rest);
  return `${index === undefined ? "" : `, entry ${Number(index) + 1}`}${key ? `, ${key}` : ""}`;
}

// place returns the field of the form that shows a fault of the API, and what is left of its path.
// An amount of a currency is in the row of the currency.
function place(path) {
  const [, field, currency] = /^(.*?)(?:\.(\w+))?$/.exec(path);
  const list = inOthers[field] ?? field;
  const row = multiple.has(list) ? [...form.querySelectorAll(`[name^="${list}["][name$=".currency"]`)].findIndex((each) => each.value === currency) : -1;
  if (row >= 0) return [`${list}[${row}].amount`, ""];
  for (let name = path; name !== ""; name = name.slice(0, Math.max(name.lastIndexOf("."), name.lastIndexOf("["), 0))) {
    if (fields.fieldOf(form, name)) return [name, path.slice(name.length)];
  }
  return ["", path];
}

// expiry is what the form says of it, as the API takes it. An instant stays one for as long
// as its day is not changed.
const expiry = () => (instant && inputs.expiresAt.value === lastDay(instant) ? instant : inputs.expiresAt.value || null);

// start is what the form says of the start, as the API takes it.
const start = () => (beginning && inputs.startsAt.value === firstDay(beginning) ? beginning : inputs.startsAt.value || null);

function expireWithTheDay() {
  instant = "";
  showFields();
  inputs.expiresAt.focus();
}

function upperCase() {
  const { value, selectionStart } = inputs.code;
  const upper = value.toUpperCase();
  if (upper === value) return;
  inputs.code.value = upper;
  inputs.code.setSelectionRange(selectionStart, selectionStart);
}

// currency is that of the coupon; new ones are in EUR unless another one is chosen
// (specification 2.1).
const currency = () => editing?.currency ?? inputs.currency.value;

// threeDecimals are the currencies in which 1.000 is an amount and no thousand.
const threeDecimals = new Set(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]);

// grouped tells amounts such as 1,000 and 1.000 apart, which would be read as 1.
function grouped(text, code = currency()) {
  const separated = threeDecimals.has(code) ? /^\d{1,3}(,\d{3})+$/ : /^\d{1,3}([.,]\d{3})+$/;
  return separated.test(text.trim());
}

// nextCurrency is what a row of amounts begins with: the coupon's currency, and another one where that is
// given already.
function nextCurrency(host) {
  const taken = [...host.querySelectorAll(".select")].map((each) => each.value);
  if (!withOwn.has(host.dataset.rows)) taken.push(currency());
  return [currency(), ...[...inputs.currency.options].map((each) => each.value)].find((each) => !taken.includes(each));
}

// followCurrency gives a budget and a required amount that are empty yet the currency of the coupon.
function followCurrency() {
  for (const row of form.querySelectorAll('[data-rows="budget"] .row, [data-rows="contains.minPurchase"] .row')) {
    if (row.querySelector(".input").value === "") row.querySelector(".select").value = currency();
  }
}

// followAutomatic gives a new coupon the usual limit of a customer: an automatic one has none.
function followAutomatic() {
  const [usual, other] = inputs.automatic.checked ? ["", "1"] : ["1", ""];
  if (editing === null && inputs.maxUsesPerUser.value.trim() === other) inputs.maxUsesPerUser.value = usual;
}

// checkValue blocks percentages above 100 while they are typed.
function checkValue() {
  if (!aboveHundred()) return;
  checked.add("discountValue");
  showError("discountValue", "A percentage is at most 100.");
}

// revise takes errors away once the values are right. What the server has refused it judges again by
// the next preview.
function revise(target) {
  const faults = check();
  for (const error of form.querySelectorAll(".field-error")) {
    const field = error.closest("[data-field]");
    const name = field.dataset.field;
    if (faults[name] && checked.has(name)) showError(name, faults[name]);
    else if (checked.has(name) || field.contains(target)) showError(name, "");
  }
}

// refusedAgain shows the faults of a preview at the fields that were refused before. A field that
// contradicted another one is right as soon as either of them is changed.
function refusedAgain(errors) {
  const refused = new Set(errors.map(({ field }) => place(field)[0]));
  for (const name of contradicting) if (!refused.has(name)) showError(name, "");
  for (const { field, message } of errors) {
    const [name] = place(field);
    if (reported.has(name) && !fields.fieldOf(form, name).querySelector(":scope > .field-error")) showError(name, labelled(message));
  }
}

const aboveHundred = () => percentages.has(inputs.discountType.value) && Number(decimal(inputs.discountValue.value)) > 100;

async function generate() {
  byId("generate").disabled = true;
  try {
    inputs.code.value = (await post("/admin/coupon/generate-code")).code;
    showError("code", "");
  } catch (error) {
    showError("code", error.message);
  } finally {
    showFields();
    inputs.code.focus();
  }
}

const noGroups = "Leave the thousands separator out: 1000 or 1000.00.";

// check returns the faults that need no server, by field.
function check() {
  const faults = {};
  const shown = (name) => !fields.fieldOf(form, name).hidden;
  const positive = (text) => /^\d+$/.test(text.trim()) && Number(text) > 0;
  const kept = (name) => inputs[name].value.trim() === String(editing?.[name] ?? ""); // and is not sent
  if (!editing) {
    if (!inputs.withoutCode.checked && !inputs.automatic.checked && inputs.code.value.trim() === "") faults.code = "Enter a code.";
    const value = decimal(inputs.discountValue.value);
    if (inputs.discountType.value === "TIERED") delete faults.discountValue;
    else if (!percentages.has(inputs.discountType.value) && grouped(inputs.discountValue.value)) faults.discountValue = noGroups;
    else if (!/^\d+(\.\d+)?$/.test(value) || Number(value) <= 0) faults.discountValue = "Enter a number greater than 0.";
    else if (aboveHundred()) faults.discountValue = "A percentage is at most 100.";
  }
  if (inputs.name.value.trim() === "") faults.name = "Enter a name.";
  if (shown("pointsRequired") && !positive(inputs.pointsRequired.value)) faults.pointsRequired = "Enter the number of points.";
  for (const name of ["maxUses", "maxUsesPerUser"]) {
    if (inputs[name].value.trim() !== "" && !positive(inputs[name].value)) faults[name] = "Enter a whole number of at least 1, or nothing for no limit.";
    else if (!kept(name) && !Number.isSafeInteger(Number(inputs[name].value))) faults[name] = "The number is too large.";
  }
  for (const name of ["minPurchase", "maxPurchase"]) {
    if (grouped(inputs[name].value)) faults[name] = noGroups;
    else if (inputs[name].value.trim() !== "" && !/^\d+(\.\d+)?$/.test(decimal(inputs[name].value))) faults[name] = `Enter an amount in ${currency()}, such as 20.00.`;
  }
  if (!inputs.maxDiscount.disabled && grouped(inputs.maxDiscount.value)) faults.maxDiscount = noGroups;
  for (const name of multiple) Object.assign(faults, checkAmounts(name));
  if (inputs.startsAt.validity.badInput) faults.startsAt = "Enter the whole date, or clear it for a start at once.";
  if (inputs.expiresAt.validity.badInput) faults.expiresAt = "Enter the whole date, or clear it for no expiry."; // whose value is that of none
  if (inputs.appliesTo.value === "SPECIFIC" && ["planIds", "deviceIds", "accessoryIds"].every((name) => pickers[name].value().length === 0)) {
    faults.appliesTo = "Select at least one plan, device or accessory.";
  }
  if (shown("allowedUserEmails") && inputs.allowedUserEmails.value.trim() === "") faults.allowedUserEmails = "Enter at least one e-mail address.";
  return faults;
}

// checkAmounts returns the faults of amounts in several currencies.
function checkAmounts(name) {
  const faults = {};
  const seen = new Set();
  form.querySelectorAll(`[data-rows="${name}"] .row`).forEach((row, index) => {
    const [amount, code] = [row.querySelector(".input"), row.querySelector(".select").value];
    if (amount.disabled || amount.closest("[hidden]") || amount.value.trim() === "") return;
    if (grouped(amount.value, code)) faults[`${name}[${index}].amount`] = noGroups;
    else if (seen.has(code)) faults[`${name}[${index}].amount`] = `There is another amount in ${code}.`;
    seen.add(code);
  });
  return faults;
}

// terms returns the fields that can be edited, as the API names them. What the scope
// or the distribution does not use is empty.
function terms() {
  const distribution = inputs.distribution.value;
  const whole = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text); // as the API's answers have it
  const wholeOrNull = (text) => (text.trim() === "" ? null : whole(text.trim()));
  const selected = (name) => (fields.fieldOf(form, name).hidden ? [] : pickers[name].value());
  return {
    name: inputs.name.value.trim(),
    description: inputs.description.value.trim(),
    appliesTo: inputs.appliesTo.value,
    planIds: selected("planIds"),
    deviceIds: selected("deviceIds"),
    accessoryIds: selected("accessoryIds"),
    distribution,
    allowedUserEmails: distribution === "USER_SPECIFIC" ? inputs.allowedUserEmails.value : "", // the server splits it
    pointsRequired: distribution === "POINTS_REDEEMABLE" ? Number(inputs.pointsRequired.value) : null,
    maxUses: wholeOrNull(inputs.maxUses.value),
    maxUsesPerUser: wholeOrNull(inputs.maxUsesPerUser.value),
    minPurchase: inputs.minPurchase.value.trim() === "" ? null : decimal(inputs.minPurchase.value),
    startsAt: start(),
    expiresAt: expiry(),
    excludedItemIds: pickers.excludedItemIds.value(),
    ...more.conditions(),
  };
}

// changes returns the terms that differ from the coupon.
function changes(coupon, wanted) {
  const before = { ...coupon, firstOrder: coupon.firstOrder ?? false, automatic: coupon.automatic ?? false, startsAt: midnight(coupon.startsAt) ? firstDay(coupon.startsAt) : coupon.startsAt, expiresAt: midnight(coupon.expiresAt) ? lastDay(coupon.expiresAt) : coupon.expiresAt, minPurchase: coupon.minPurchase ?? null, description: coupon.description ?? "", allowedUserEmails: lines(coupon.allowedUserEmails) };
  const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => !same(Array.isArray(value) ? before[name] ?? [] : before[name], value)));
}

async function save() {
  if (busy) return;
  clearErrors();
  inputs.code.value = inputs.code.value.trim().toUpperCase();
  const faults = check();
  checked = new Set(Object.keys(faults));
  if (Object.keys(faults).length > 0) {
    showFaults(faults);
    return;
  }
  const mine = opened;
  const code = inputs.code.value || inputs.name.value;
  const created = editing === null;
  const open = () => mine === opened && dialog.open;
  setBusy(true);
  try {
    const coupon = created ? await create() : await update();
    if (open()) dialog.close(); // which gives the focus back to what the table is about to replace
    onSaved(coupon, created);
  } catch (error) {
    if (created && error.lost) unanswered = code;
    if (open() && error.code === "stale_revision") await catchUp(open);
    else if (open()) showProblem(error);
    else toast([foreign(code), ` ${error.lost ? "may not have been" : "was not"} saved. ${error.message}`], "danger"); // the form was closed meanwhile
  } finally {
    if (mine === opened) setBusy(false);
  }
}

// draft returns what the form says, as the API takes it.
function draft() {
  const given = Object.entries(terms()).filter(([name, value]) => name === "maxUsesPerUser" || (value !== null && value !== "" && value !== false && value.length !== 0));
  return joined({
    ...(inputs.code.value.trim() !== "" && { code: inputs.code.value.trim() }),
    ...(inputs.withoutCode.checked && { withoutCode: true }),
    discountType: inputs.discountType.value,
    ...(inputs.discountType.value !== "TIERED" && inputs.discountValue.value.trim() !== "" && { discountValue: decimal(inputs.discountValue.value) }),
    ...more.discount(),
    ...Object.fromEntries(given),
  }, currency());
}

const create = () => post("/admin/coupon", draft());

async function update() {
  const wanted = terms();
  const changed = joined(changes(editing, wanted), editing.currency, wanted);
  const address = `/admin/coupon/${encodeURIComponent(editing.id)}`;
  if (Object.keys(changed).length === 0) return get(address); // what was read may be out of date
  return patch(address, { ...changed, revision: editing.revision });
}

// leads are the fields that decide whether another one is used: who has changed that one
// has meant it for the scope or the distribution that was shown.
const leads = { planIds: "appliesTo", deviceIds: "appliesTo", accessoryIds: "appliesTo", allowedUserEmails: "distribution", pointsRequired: "distribution" };

// catchUp puts what somebody else has stored since into the fields that were not touched
// here, so that the next attempt is one on the coupon as it is now.
async function catchUp(open) {
  let current;
  try {
    current = apart(await get(`/admin/coupon/${encodeURIComponent(editing.id)}`));
  } catch (error) {
    if (open()) showProblem(error);
    return;
  }
  const names = await itemNames();
  if (!open()) return;
  const wanted = terms();
  const touched = Object.keys(changes(editing, wanted));
  const kept = new Set(touched.flatMap((name) => [name, leads[name] ?? name]));
  const typed = [...kept].map((name) => [name, more.writes(name) ? wanted[name] : pickers[name]?.items() ?? inputs[name].value]);
  editing = current;
  fill(editing, names);
  if (kept.has("expiresAt")) instant = "";
  if (kept.has("startsAt")) beginning = "";
  for (const [name, value] of typed) {
    if (more.writes(name)) more.write(name, value);
    else if (pickers[name]) pickers[name].set(value);
    else inputs[name].value = value;
  }
  showFields();
  showFormError(staleText);
}

const staleText = "The coupon was changed by somebody else meanwhile. Your entries are kept, and the other fields show what is stored now. Save again to apply yours.";

function setBusy(on) {
  busy = on;
  byId("save").setAttribute("aria-disabled", String(on));
}

// labelled writes the fields that another one contradicts as the form calls them.
const labelled = (message) => message.replace(/^contradicts (\S+(?: and \S+)*): /, (_, names) => `contradicts ${names.split(" and ").map(label).join(" and ")}: `);

// showProblem puts what the server says at the fields that it names.
function showProblem(error) {
  const faults = {};
  const rest = [];
  contradicting = new Set();
  for (const { field, code, message: text } of error.errors ?? []) {
    const [name, within] = place(field);
    const message = labelled(text);
    if (message !== text) contradicting.add(name);
    if (name === "" || fields.fieldOf(form, name).closest("[hidden]")) {
      rest.push(`${label(field)}: ${message}`);
      continue;
    }
    const item = pickers[name]?.items()[/^\[(\d+)\]/.exec(within)?.[1]];
    const shown = name === "allowedUserEmails" || within === "" ? message : `${entry(within).slice(2)}: ${message}`; // messages about addresses quote them
    (faults[name] ??= new Faults()).add(code === "more" ? Number.parseInt(message, 10) || 1 : 1, item ? about(item.name, `: ${message}`) : shown);
  }
  if (error.code === "code_taken") faults.code = taken(error);
  reported = new Set(Object.keys(faults));
  showFaults(Object.fromEntries(Object.entries(faults).map(([name, fault]) => [name, fault instanceof Faults ? fault.texts() : fault])));
  if (rest.length > 0 || Object.keys(faults).length === 0) showFormError([error.message, ...rest].join(" "));
}

const maxShown = 10;

// Faults are those of one field: the first ones, and how many there are.
class Faults {
  shown = [];
  count = 0;

  add(count, text) {
    if (count === 1 && this.shown.length < maxShown) this.shown.push(text);
    this.count += count;
  }

  texts() {
    const more = this.count - this.shown.length;
    return more > 0 ? [...this.shown, `and ${more.toLocaleString("en")} more`] : this.shown;
  }
}

// taken says that there is a coupon of the code, which may be the one whose creation was
// not answered, and leads to it.
function taken({ message, couponId }) {
  if (!couponId) return message; // only the processor knows the code
  const own = inputs.code.value === unanswered ? "It may be the one that you have just made. " : "";
  return [el("span", {}, `${message} ${own}`, el("a", { href: `/admin/coupons?${new URLSearchParams({ search: inputs.code.value })}` }, "Show it"))];
}

// about says something of an entry that was typed.
const about = (entry, text) => el("span", {}, "“", foreign(entry), "”", text);

const showFaults = (faults) => fields.showFaults(form, faults);
const showError = (name, text) => fields.showError(form, name, text);

function showFormError(text) {
  byId("form-error").textContent = text;
  byId("form-error").hidden = false;
  byId("form-error").scrollIntoView({ block: "nearest" });
}

function clearErrors() {
  [checked, reported, contradicting] = [new Set(), new Set(), new Set()];
  byId("form-error").hidden = true;
  fields.clearErrors(form);
}

export { openForm };
