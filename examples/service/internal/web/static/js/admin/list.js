// The table of coupons: search, pages and sorting in the address; status, edit and
// delete on each row.
import { get, patch, remove, segment, signInAddress } from "../api.js";
import { byId, debounce, el, foreign, icon } from "../dom.js";
import { called, number, plural } from "../format.js";
import { isAdministrator, remedy, showState, start, toast } from "../shell.js";
import { row, skeleton, unreadableRow } from "./columns.js";
import { openForm } from "./form.js";
import * as address from "./query.js";

const fields = address.filters.filter((name) => name !== "usable"); // which has tabs
let query = address.read();
let items = [];
let unreadable = []; // the coupons of the page that the store cannot read
let total = 0;
let atLeast = false; // there are more than total
let loading = new AbortController();
let asked = 0; // how often, whether to delete a coupon
const handlers = { toggle, edit, duplicate, remove: askToRemove };

const user = await start();
if (isAdministrator(user)) {
  listen();
  await refresh();
  await duplicateAsked();
} else {
  turnAway();
}

function turnAway() {
  byId("coupons").hidden = true;
  byId("coupons").setAttribute("aria-busy", "false");
  byId("search").disabled = true;
  const action = el("a", { class: "button button-primary", href: signInAddress() }, "Sign in");
  if (user) showState(byId("state"), "Administrators only", "Your account cannot manage coupons.", action);
  else showState(byId("state"), "Sign in to continue", "Coupons are managed by administrators.", action);
}

function listen() {
  byId("new-coupon").hidden = false;
  byId("new-coupon").addEventListener("click", () => openForm(null, saved));
  const search = debounce((text) => change({ search: text.trim(), page: 1 }, { replace: true }), 200);
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("tab-all").addEventListener("click", () => change({ usable: "", page: 1 }));
  byId("tab-usable").addEventListener("click", () => change({ usable: "true", page: 1 }));
  for (const name of fields) {
    byId(`filter-${name}`).addEventListener("change", ({ target }) => change({ [name]: target.type === "checkbox" ? (target.checked ? "true" : "") : target.value, page: 1 }));
  }
  byId("page-size").addEventListener("change", (event) => change({ pageSize: Number(event.target.value), page: 1 }));
  byId("previous").addEventListener("click", () => change({ page: query.page - 1 }));
  byId("next").addEventListener("click", () => change({ page: query.page + 1 }));
  for (const heading of document.querySelectorAll("th[data-sort]")) {
    const button = el("button", { class: "sort", type: "button", onclick: () => sortBy(heading.dataset.sort) }, heading.textContent, icon("up"));
    heading.replaceChildren(button);
  }
  addEventListener("popstate", () => {
    query = address.read();
    byId("search").value = query.search; // also while somebody is in it
    refresh();
  });
}

// sortBy goes through ascending, descending, and back to newest first.
function sortBy(sort) {
  if (query.sort !== sort) change({ sort, order: "asc", page: 1 });
  else if (query.order === "asc") change({ order: "desc", page: 1 });
  else change({ sort: "", order: "asc", page: 1 });
}

function change(part, options) {
  query = { ...query, ...part };
  address.write(query, options);
  refresh();
}

// refresh asks for what the query says. A newer request ends an older one, so that
// answers never overtake each other.
async function refresh() {
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  showControls();
  byId("state").hidden = true;
  byId("coupons").hidden = false;
  byId("coupons").setAttribute("aria-busy", "true");
  if (items.length === 0) byId("rows").replaceChildren(...Array.from({ length: 6 }, skeleton));
  try {
    const answer = await get(`/admin/coupon/all?${address.parameters(query)}`, { signal });
    ({ items, total, atLeast, unreadable = [] } = answer);
    if (items.length + unreadable.length === 0 && total > 0 && query.page > 1) {
      change({ page: Math.ceil(total / query.pageSize) }, { replace: true });
      return;
    }
    show(answer.sortedWithin === "page");
    countUsable(signal);
  } catch (error) {
    if (error.name !== "AbortError") showFailure(error);
  }
}

// countUsable shows how many coupons can be used now.
async function countUsable(signal) {
  try {
    const usable = await get("/admin/coupon/all?usable=true&pageSize=1", { signal });
    byId("usable-count").textContent = `${number(usable.total)}${usable.atLeast ? "+" : ""}`;
  } catch {
    byId("usable-count").textContent = ""; // the table says what is the matter
  }
}

function showControls() {
  if (document.activeElement !== byId("search")) byId("search").value = query.search;
  byId("tab-all").setAttribute("aria-pressed", String(!query.usable));
  byId("tab-usable").setAttribute("aria-pressed", String(Boolean(query.usable)));
  const narrowed = fields.filter((name) => query[name]).length;
  if (narrowed > 0) byId("filters").open = true;
  byId("filters-count").textContent = narrowed > 0 ? `(${narrowed})` : "";
  for (const name of fields) {
    const field = byId(`filter-${name}`);
    if (field.type === "checkbox") field.checked = query[name] === "true";
    else if (document.activeElement !== field) field.value = query[name];
  }
  byId("page-size").value = String(query.pageSize);
  for (const heading of document.querySelectorAll("th[data-sort]")) {
    if (heading.dataset.sort === query.sort) heading.setAttribute("aria-sort", query.order === "asc" ? "ascending" : "descending");
    else heading.removeAttribute("aria-sort");
  }
}

function show(onlyPage) {
  byId("rows").replaceChildren(...items.map((coupon) => row(coupon, handlers)), ...unreadable.map((record) => unreadableRow(record, 9)));
  byId("coupons").setAttribute("aria-busy", "false");
  byId("count").textContent = plural(total, "coupon", "coupons", atLeast) + (onlyPage ? ", each page sorted by itself" : "");
  showPager();
  if (items.length + unreadable.length > 0) return;
  byId("coupons").hidden = true;
  if (address.filters.some((name) => query[name])) {
    const all = el("button", { class: "button", type: "button", onclick: showAll }, "Show all coupons");
    showState(byId("state"), "Nothing found", "No coupon is as you asked.", all);
  } else if (query.search) {
    const clear = el("button", { class: "button", type: "button", onclick: clearSearch }, "Clear the search");
    showState(byId("state"), "Nothing found", ["No name, code or description contains “", foreign(query.search), "”."], clear);
  } else {
    const create = el("button", { class: "button button-primary", type: "button", onclick: () => openForm(null, saved) }, "New coupon");
    showState(byId("state"), "No coupons yet", "Create the first one, and customers can use it at once.", create);
  }
}

function showAll() {
  byId("search").value = "";
  change({ ...Object.fromEntries(address.filters.map((name) => [name, ""])), search: "", page: 1 });
  byId("search").focus();
}

function clearSearch() {
  byId("search").value = "";
  change({ search: "", page: 1 });
  byId("search").focus();
}

function showFailure(error) {
  items = [];
  unreadable = [];
  byId("rows").replaceChildren();
  byId("coupons").hidden = true;
  byId("coupons").setAttribute("aria-busy", "false");
  byId("pager").hidden = true;
  byId("count").textContent = "";
  showState(byId("state"), "The coupons could not be loaded", error.message, remedy(error, refresh));
}

function showPager() {
  const pages = Math.max(1, Math.ceil(total / query.pageSize));
  byId("pager").hidden = total <= 10;
  byId("page-label").textContent = atLeast ? `Page ${query.page}` : `Page ${query.page} of ${pages}`;
  const [previous, next, focused] = [byId("previous"), byId("next"), document.activeElement];
  previous.disabled = query.page <= 1;
  next.disabled = query.page >= pages;
  if (focused === next && next.disabled) previous.focus();
  if (focused === previous && previous.disabled) next.focus();
}

// newest returns the version of a coupon that the table shows when it is newer: an edit
// that was saved while a switch waited.
function newest(coupon) {
  const shown = items.find((each) => each.id === coupon.id);
  return shown?.revision > coupon.revision ? shown : coupon;
}

// replace puts a version of a coupon into the table and keeps the focus. Only a list knows what is left of a budget, and the
// rest of the same budget stays.
function replace(version) {
  const shown = items.find((each) => each.id === version.id);
  const sameBudget = JSON.stringify(shown?.budget) === JSON.stringify(version.budget);
  const coupon = sameBudget ? { budgets: shown?.budgets, ...version } : version;
  items = items.map((each) => (each.id === coupon.id ? coupon : each));
  const old = rowOf(coupon);
  if (!old) return;
  const fresh = row(coupon, handlers);
  const focused = old.contains(document.activeElement) ? document.activeElement.dataset.action : null;
  old.replaceWith(fresh);
  if (focused) fresh.querySelector(`[data-action="${focused}"]`)?.focus();
}

const rowOf = (coupon) => document.querySelector(`#rows tr[data-id="${CSS.escape(coupon.id)}"]`);

// toggle shows the new status at once, and what is stored when the API does not confirm it.
async function toggle(coupon) {
  const wanted = { ...coupon, active: !coupon.active };
  replace(wanted);
  const button = rowOf(wanted).querySelector('[data-action="toggle"]');
  button.disabled = true; // until the answer is there, or two clicks would race
  button.setAttribute("aria-busy", "true");
  try {
    replace(newest(await patch(`/admin/coupon/${encodeURIComponent(coupon.id)}/status`, { active: wanted.active })));
    countUsable();
  } catch (error) {
    if (error.lost) await lookUp(coupon, wanted.active, error);
    else takeBack(coupon, (known) => `is still ${status(known)}`, error);
  }
  // A button that is disabled loses the focus; whoever has gone on meanwhile keeps it.
  if (document.activeElement === document.body) rowOf(coupon)?.querySelector('[data-action="toggle"]').focus();
}

const status = (coupon) => (coupon.active ? "active" : "inactive");

function takeBack(coupon, state, error) {
  const known = newest(coupon);
  replace(known);
  failed(known, state(known), error);
}

// lookUp shows how a coupon is stored after a switch that was perhaps carried out: its answer
// was lost, or it failed half-way.
async function lookUp(coupon, wanted, error) {
  let stored;
  try {
    stored = newest(await get(`/admin/coupon/${encodeURIComponent(coupon.id)}`));
  } catch (again) {
    takeBack(coupon, () => "may be active or inactive", again);
    return;
  }
  replace(stored);
  if (stored.active === wanted && error.status === 0) toast([foreign(called(stored)), ` is ${status(stored)} now.`]);
  else failed(stored, `is ${stored.active === wanted ? "now" : "still"} ${status(stored)}`, error);
}

// failed says what has become of a coupon that could not be changed. One that somebody
// else has deleted leaves the table; one whose deletion has begun is there until it ends.
async function failed(coupon, state, error) {
  if (error.status !== 404) {
    toast([foreign(called(coupon)), ` ${state}. ${error.message}`], "danger");
    return;
  }
  await refresh();
  toast([foreign(called(coupon)), rowOf(coupon) ? " is being deleted. Delete it again if it stays." : " was deleted by somebody else."], "danger");
}

function edit(coupon) {
  openForm(coupon, saved, failed);
}

// duplicate opens the form of a new coupon with the terms of another one.
function duplicate(coupon) {
  openForm(coupon, saved, failed, { copy: true });
}

// saved is told of a coupon that the form has created or changed.
async function saved(coupon, created) {
  toast([foreign(called(coupon)), created ? " is ready to use." : " was saved."]);
  if (created) change({ page: 1, search: "", sort: "", order: "asc" });
  else replace(coupon);
  if (!created) countUsable();
}

// duplicateAsked opens the form that the address asks for, once.
async function duplicateAsked() {
  const asked = new URLSearchParams(location.search).get("duplicate");
  if (!asked) return;
  address.write(query, { replace: true });
  try {
    duplicate(await get(`/admin/coupon/${segment(asked)}`));
  } catch (error) {
    toast(error.message, "danger");
  }
}

function askToRemove(coupon) {
  const dialog = byId("delete-dialog");
  const mine = (asked += 1);
  const close = () => mine === asked && dialog.close(); // not the question about another coupon
  const stops = " stops working at once. Orders that used it stay as they are.";
  byId("delete-text").replaceChildren(foreign(called(coupon)), ...(coupon.code ? [" (", foreign(coupon.name), `)${stops}`] : [stops]));
  const confirm = byId("confirm-delete");
  confirm.disabled = false;
  confirm.onclick = async () => {
    confirm.disabled = true;
    try {
      await remove(`/admin/coupon/${encodeURIComponent(coupon.id)}`);
      close();
      toast([foreign(called(coupon)), " was deleted."]);
      await refresh();
    } catch (error) {
      close();
      await failed(coupon, "was not deleted", error);
      await refresh(); // a deletion that has begun has switched it off
    }
    if (document.activeElement === document.body) byId("search").focus(); // it was in the row, which has gone
  };
  dialog.showModal();
}

