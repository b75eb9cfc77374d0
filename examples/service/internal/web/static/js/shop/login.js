// Sign-in, and back to where the visitor came from.
import { get, post } from "../api.js";
import { byId } from "../dom.js";
import { clearErrors, fieldOf, showFaults } from "../fields.js";
import { start } from "../shell.js";

// target is the page to go to: one of this site, whatever the address says. It is
// returned whole, for a path of its own may begin with two slashes and lead elsewhere.
// The origin alone does not tell: that of blob: is the one within it.
function target(user) {
  const wanted = new URLSearchParams(location.search).get("next") ?? "";
  const next = new URL(URL.canParse(wanted, location.href) ? wanted : "", location.href);
  if (next.protocol === location.protocol && next.origin === location.origin && next.pathname !== location.pathname) return next.origin + next.pathname + next.search;
  return user.role === "administrator" ? "/admin/coupons" : "/plans";
}

async function signIn(event) {
  event.preventDefault();
  const form = event.target;
  const { email, password } = form.elements;
  const button = form.querySelector('[type="submit"]');
  byId("form-error").hidden = true;
  clearErrors(form);
  button.disabled = true;
  try {
    await post("/login", { email: email.value.trim(), password: password.value });
    const { user } = await get("/session");
    if (!user) throw new Error("Your browser did not keep the sign-in. Cookies have to be allowed, and the address has to begin with https:// or be on this machine.");
    location.assign(target(user));
  } catch (error) {
    button.disabled = false;
    (email.value ? password : email).focus();
    showProblem(form, error);
  }
}

// showProblem says what is the matter, at the fields that the server names.
function showProblem(form, error) {
  const faults = (error.errors ?? []).filter(({ field }) => fieldOf(form, field));
  showFaults(form, Object.fromEntries(faults.map(({ field, message }) => [field, sentence(message)])));
  byId("form-error").textContent = error.message;
  byId("form-error").hidden = faults.length > 0;
}

const sentence = (message) => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;

await start();
byId("login-form").addEventListener("submit", signIn);
byId("login-form").querySelector('[type="submit"]').disabled = false; // before, the browser itself would send the form
