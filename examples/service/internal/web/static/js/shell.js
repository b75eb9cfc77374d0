// What every page has: who is signed in, the appearance, the count of the cart,
// messages, and dialogs that close.
import { get, post, session, signInAddress } from "./api.js";
import { byId, el, icon } from "./dom.js";
import { number } from "./format.js";
import * as basket from "./shop/basket.js";
import * as codes from "./shop/codes.js";

// start fills the frame of the page in and returns the user, null when nobody is
// signed in.
async function start() {
  themeToggle();
  dialogs();
  showCount();
  addEventListener("basket", showCount);
  // A page that the browser has kept for Back shows what was: a checkout under way,
  // somebody who has signed out since.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  byId("sign-out").addEventListener("click", signOut);
  const user = await visitor();
  showUser(user);
  return user;
}

const pace = [2000, 4000, 8000, 16000, 30000]; // milliseconds between questions; the last one repeats

// visitor returns who is signed in. It asks until it is told: a page that took
// somebody for nobody would send them to sign in for as long as it is open.
async function visitor() {
  let complaint = null;
  for (let round = 0; ; round += 1) {
    try {
      const { user } = await session();
      if (complaint) dismiss(complaint);
      return user;
    } catch (error) {
      complaint ??= toast(error.message, "danger");
      await pause(pace, round);
    }
  }
}

// pause waits after a round of questions, and then until somebody sees the page.
async function pause(pace, round) {
  await new Promise((done) => setTimeout(done, pace[Math.min(round, pace.length - 1)]));
  if (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
}

function showUser(user) {
  byId("sign-in").hidden = user !== null;
  byId("sign-out").hidden = user === null;
  if (user === null) return;
  byId("account-name").textContent = user.name || user.email;
  byId("account-name").hidden = false;
  for (const id of ["nav-admin", "nav-orders"]) byId(id).hidden = !isAdministrator(user);
  if (!isAdministrator(user)) refreshPoints();
}

const isAdministrator = (user) => user?.role === "administrator";

// refreshPoints shows the balance as it is now.
async function refreshPoints() {
  try {
    const { balance } = await get("/points");
    byId("account-points").textContent = `${number(balance)} points`;
    byId("account-points").hidden = false;
  } catch {
    byId("account-points").hidden = true; // a balance that may be wrong helps nobody
  }
}

async function signOut() {
  try {
    await post("/logout");
  } catch (error) {
    if (error.status !== 401) return toast(error.message, "danger");
  }
  codes.clear(); // some are for one customer alone
  return location.assign("/login"); // also when the sign-in has ended before
}

function showCount() {
  const count = basket.count();
  byId("cart-count").textContent = count;
  byId("cart-count").hidden = count === 0;
}

function themeToggle() {
  const button = byId("theme-toggle");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // The choice then lasts for this page.
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}

// dialogs lets buttons with data-close close them, as Escape does, unless the dialog refuses. A
// click beside one does not: it would lose what was typed.
function dialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    for (const button of dialog.querySelectorAll("[data-close]")) button.addEventListener("click", () => dialog.dispatchEvent(new Event("cancel", { cancelable: true })) && dialog.close());
    dialog.addEventListener("close", () => dialog.contains(byId("toasts")) && showToasts());
  }
}

const unheard = 100; // milliseconds until screen readers listen to what has come into the page

// toast shows a message, a text or a list of its parts, above everything, dialogs
// included, and returns it. Errors stay until they are closed. The text comes into a place
// that is shown already: one that appears with its text is not read out.
function toast(message, kind = "good") {
  const host = byId("toasts");
  const text = el("p");
  const item = el("div", { class: `toast toast-${kind}`, role: kind === "danger" ? "alert" : "status" }, text,
    el("button", { class: "button button-icon", type: "button", "aria-label": "Dismiss", onclick: () => dismiss(item) }, icon("close")));
  host.append(item);
  showToasts();
  setTimeout(() => text.append(...[message].flat()), unheard);
  if (kind !== "danger") setTimeout(() => dismiss(item), 5000);
  return item;
}

// showToasts shows them above a dialog that is open, and within it: what is outside of it can
// be neither reached nor heard.
function showToasts() {
  const host = byId("toasts");
  const place = document.querySelector("dialog:modal") ?? document.body;
  if (host.parentElement === place && host.matches(":popover-open")) return;
  if (host.matches(":popover-open")) host.hidePopover();
  place.append(host);
  if (host.childElementCount > 0) host.showPopover();
}

function dismiss(item) {
  item.remove();
  const host = byId("toasts");
  if (host.childElementCount === 0 && host.matches(":popover-open")) host.hidePopover();
}

// showState puts a message in the place of a list; its text may be a list of parts.
function showState(host, title, text, action) {
  host.replaceChildren(el("h2", {}, title), el("p", {}, text), ...(action ? [action] : []));
  host.hidden = false;
}

// retry is a button that tries again.
const retry = (call) => el("button", { class: "button", type: "button", onclick: call }, "Try again");

// remedy is what helps after an error: to sign in, when the sign-in has ended, or to
// try again.
const remedy = (error, call) => (error.status === 401 ? el("a", { class: "button button-primary", href: signInAddress() }, "Sign in") : retry(call));

export { isAdministrator, pause, refreshPoints, remedy, retry, showState, start, toast };
