// What every page has: who is signed in, the appearance, the count of the cart,
// messages, and dialogs that close.
import { get, post, session } from "./api.js";
import { byId, el, icon } from "./dom.js";
import { number } from "./format.js";
import * as basket from "./shop/basket.js";

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
  let user = null;
  try {
    user = (await session()).user;
  } catch (error) {
    toast(error.message, "danger");
  }
  showUser(user);
  return user;
}

function showUser(user) {
  byId("sign-in").hidden = user !== null;
  byId("sign-out").hidden = user === null;
  if (user === null) return;
  byId("account-name").textContent = user.name || user.email;
  byId("account-name").hidden = false;
  byId("nav-admin").hidden = !isAdministrator(user);
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
    location.assign("/login");
  } catch (error) {
    toast(error.message, "danger");
  }
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

// dialogs lets buttons with data-close, and a click beside the dialog, close it.
function dialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    for (const button of dialog.querySelectorAll("[data-close]")) button.addEventListener("click", () => dialog.close());
  }
}

// toast shows a message above everything, dialogs included. Errors stay until they
// are closed.
function toast(message, kind = "good") {
  const host = byId("toasts");
  const item = el("div", { class: `toast toast-${kind}`, role: kind === "danger" ? "alert" : "status" }, el("p", {}, message),
    el("button", { class: "button button-icon", type: "button", "aria-label": "Dismiss", onclick: () => dismiss(item) }, icon("close")));
  host.append(item);
  if (host.matches(":popover-open")) host.hidePopover();
  host.showPopover(); // again, to be above a dialog that was opened since
  if (kind !== "danger") setTimeout(() => dismiss(item), 5000);
}

function dismiss(item) {
  item.remove();
  const host = byId("toasts");
  if (host.childElementCount === 0 && host.matches(":popover-open")) host.hidePopover();
}

// showState puts a message in the place of a list.
function showState(host, title, text, action) {
  host.replaceChildren(el("h2", {}, title), el("p", {}, text), ...(action ? [action] : []));
  host.hidden = false;
}

// retry is a button that tries again.
const retry = (call) => el("button", { class: "button", type: "button", onclick: call }, "Try again");

export { isAdministrator, refreshPoints, retry, showState, start, toast };
