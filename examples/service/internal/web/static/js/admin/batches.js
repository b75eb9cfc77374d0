// The campaign of a coupon: its batches of generated codes, with their counts.
import { get, segment, signInAddress, untilDone } from "../api.js";
import { byId, el, foreign } from "../dom.js";
import { clearErrors, fieldOf, showRefusal } from "../fields.js";
import { called, moment, number, plural } from "../format.js";
import { isAdministrator, remedy, showState, start, toast } from "../shell.js";
import { cell, codeRow } from "./coderow.js";
import { exportForm, fileForm } from "./files.js";

const id = location.pathname.split("/").at(-2);
const path = `/admin/coupon/${id}/batches`;
const form = byId("batch-form");
let next = ""; // asks for the next batches
let working = false; // codes are generated
let stopped = false; // somebody has asked to stop

const user = await start();
if (isAdministrator(user)) await show();
else turnAway();

function turnAway() {
  byId("loading").remove();
  showState(byId("state"), "Administrators only", "Sign in as an administrator to see campaigns.", el("a", { class: "button button-primary", href: signInAddress() }, "Sign in"));
}

async function show() {
  byId("state").hidden = true;
  try {
    const coupon = await get(`/admin/coupon/${id}`);
    document.title = `Campaign of ${called(coupon)} · couponkit`;
    byId("subtitle").replaceChildren("Codes of ", foreign(called(coupon)));
    byId("back").href = `/admin/coupons/${id}`;
    await refresh();
    byId("content").hidden = false;
    listen();
  } catch (error) {
    showState(byId("state"), "The campaign could not be loaded", error.message, remedy(error, show));
  }
  byId("loading")?.remove();
}

function listen() {
  form.addEventListener("submit", generate);
  byId("stop").addEventListener("click", () => { stopped = true; });
  byId("find-form").addEventListener("submit", find);
  fileForm("import", path, "codes.csv", reload);
  fileForm("assign", path, "assign.csv", reload);
  exportForm(`/admin/coupon/${id}`);
  byId("batches-more").addEventListener("click", () => more().catch((error) => toast(error.message, "danger")));
}

async function reload() {
  await refresh().catch((error) => toast(error.message, "danger"));
}

// refresh shows the first batches.
async function refresh() {
  next = "";
  byId("batch-names").replaceChildren();
  const rows = await load();
  byId("batches-rows").replaceChildren(...rows);
  byId("batches").hidden = rows.length === 0;
  byId("batches-empty").hidden = rows.length > 0;
}

async function more() {
  byId("batches-rows").append(...await load());
}

async function load() {
  const page = await get(`${path}?${new URLSearchParams({ pageSize: 20, ...(next && { after: next }) })}`);
  next = page.next;
  byId("batches-pager").hidden = next === "";
  byId("batch-names").append(...page.items.map((batch) => el("option", { value: batch.id })));
  return page.items.map(batchRow);
}

// csvOf is the address of a file with codes of a batch.
function csvOf(batch, filter = {}) {
  return `/admin/coupon/${id}/codes.csv?${new URLSearchParams({ batch: batch.id, ...filter })}`;
}

function batchRow(batch) {
  const left = batch.added - batch.removed;
  const action = (name, label, call, kind = "") => el("button", {
    class: `button ${kind}`, type: "button", "data-action": name, "aria-label": `${label}: ${batch.id}`, onclick: () => call(batch),
  }, label);
  return el("tr", { role: "row", "data-batch": batch.id },
    cell("Batch", "span", el("strong", {}, foreign(batch.id)), el("div", { class: "muted" }, moment(batch.createdAt))),
    cell("Codes", "", number(left),
      batch.added < batch.size && el("div", {}, el("span", { class: "badge badge-notice" }, `${number(batch.size - batch.added)} missing`)),
      batch.removed > 0 && el("div", { class: "muted" }, `${number(batch.removed)} removed`)),
    cell("Assigned", "", number(batch.assigned)),
    cell("Used", "", number(batch.usedCount)),
    cell("Reserved", "", number(batch.reservedCount)),
    cell("Inactive", "", number(batch.inactive)),
    cell("Actions", "span", el("div", { class: "batch-actions" },
      el("a", { class: "button", href: csvOf(batch), download: true, "aria-label": `Download all: ${batch.id}` }, "Download all"),
      el("a", { class: "button", href: csvOf(batch, { unused: true }), download: true, "aria-label": `Download unused: ${batch.id}` }, "Download unused"),
      batch.inactive < left && action("off", "Switch off", (each) => switchTo(each, false)),
      batch.inactive > 0 && action("on", "Switch on", (each) => switchTo(each, true)),
      left > 0 && action("remove", "Remove unused", askToRemove, "button-danger"))));
}

const rowOf = (batch) => byId("batches-rows").querySelector(`[data-batch="${CSS.escape(batch.id)}"]`);

// replace shows a batch as it is now, and keeps the focus in its row.
function replace(batch, focus) {
  const row = rowOf(batch);
  if (!row) return;
  const focused = row.contains(document.activeElement) || document.activeElement === document.body;
  const fresh = batchRow(batch);
  row.replaceWith(fresh);
  if (focused) (fresh.querySelector(`[data-action="${focus}"]`) ?? fresh.querySelector("a")).focus();
}

async function switchTo(batch, active) {
  const done = await change(batch, "PATCH", "", { active }, active ? "off" : "on");
  if (done) toast([foreign(batch.id), active ? " was switched on." : " was switched off."]);
}

// change works on all codes of a batch until it is done, and tells whether it is.
async function change(batch, method, below, body, focus) {
  const buttons = rowOf(batch).querySelectorAll("button");
  if ([...buttons].some((each) => each.ariaBusy === "true")) return false;
  for (const each of buttons) each.ariaBusy = "true";
  try {
    replace(await untilDone(method, `${path}/${segment(batch.id)}${below}`, body, () => true), focus);
    return true;
  } catch (error) {
    for (const each of buttons) each.ariaBusy = null;
    toast([foreign(batch.id), `: ${error.message}`], "danger");
    return false;
  }
}

function askToRemove(batch) {
  const dialog = byId("remove-dialog");
  byId("remove-text").replaceChildren("Codes of ", foreign(batch.id), " that nobody has used or reserved stop working for good. Used codes stay.");
  byId("confirm-remove").onclick = async () => {
    dialog.close();
    if (await change(batch, "DELETE", "/unused", undefined, "remove")) toast(["The unused codes of ", foreign(batch.id), " were removed."]);
  };
  dialog.showModal();
}

// draft is the batch that was entered. What is no number is sent as it is, and the API names the field.
function draft() {
  const text = (name) => fieldOf(form, name).querySelector("input").value.trim();
  const count = (name) => (/^\d+$/.test(text(name)) ? Number(text(name)) : text(name) || undefined);
  return {
    id: text("id"), count: count("count"),
    shape: { ...(text("shape.prefix") && { prefix: text("shape.prefix") }), symbols: count("shape.symbols") },
    maxUses: count("maxUses") ?? null, expiresAt: text("expiresAt") || undefined,
  };
}

// generate adds the codes part by part. After a failure, the same values add the codes that are missing.
async function generate(event) {
  event.preventDefault();
  if (working) return;
  clearErrors(form);
  byId("batch-error").hidden = true;
  setWorking(true);
  try {
    const batch = await untilDone("POST", path, draft(), showProgress);
    const complete = batch.added === batch.size;
    if (complete) form.reset();
    toast([foreign(batch.id), ` has ${plural(batch.added, "code", "codes")}.`, complete ? "" : " Generate again to add the others."]);
  } catch (error) {
    showFailure(error);
  } finally {
    setWorking(false);
  }
  await reload();
}

function showProgress(batch) {
  byId("progress").max = batch.size;
  byId("progress").value = batch.added;
  byId("progress-text").textContent = `${number(batch.added)} of ${plural(batch.size, "code", "codes")}`;
  return !stopped;
}

function setWorking(now) {
  working = now;
  stopped = false;
  byId("generate").ariaBusy = String(now);
  if (!now && document.activeElement === byId("stop")) byId("generate").focus();
  byId("progress-section").hidden = !now;
  byId("progress").removeAttribute("value");
  byId("progress-text").textContent = "";
}

function showFailure(error) {
  showRefusal(form, byId("batch-error"), error, "Generate again with the same values: no code is made twice.");
}

// find shows one code of the coupon.
async function find(event) {
  event.preventDefault();
  const typed = byId("find").value.trim();
  if (typed === "") return;
  const found = byId("found");
  try {
    const code = await get(`/admin/coupon/${id}/codes/${segment(typed)}`);
    byId("found-rows").replaceChildren(codeRow(code));
    found.hidden = false;
    byId("not-found").textContent = "";
  } catch (error) {
    found.hidden = true;
    byId("not-found").textContent = error.status === 404 ? "This coupon has no such code." : error.message;
  }
}
