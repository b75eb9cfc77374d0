// Sign-in, and back to where the visitor came from.
import { get, post } from "../api.js";
import { byId } from "../dom.js";
import { start } from "../shell.js";

// target is the page to go to: one of this site, whatever the address says. It is
// returned whole, for a path of its own may begin with two slashes and lead elsewhere.
function target(user) {
  const wanted = new URLSearchParams(location.search).get("next") ?? "";
  const next = new URL(URL.canParse(wanted, location.href) ? wanted : "", location.href);
  if (next.origin === location.origin && next.pathname !== location.pathname) return next.origin + next.pathname + next.search;
  return user.role === "administrator" ? "/admin/coupons" : "/plans";
}

async function signIn(event) {
  event.preventDefault();
  const { email, password } = event.target.elements;
  const button = event.target.querySelector('[type="submit"]');
  byId("form-error").hidden = true;
  button.disabled = true;
  try {
    await post("/login", { email: email.value.trim(), password: password.value });
    const { user } = await get("/session");
    if (!user) throw new Error("Your browser did not keep the sign-in. Cookies have to be allowed, and the address has to begin with https:// or be on this machine.");
    location.assign(target(user));
  } catch (error) {
    byId("form-error").textContent = error.message;
    byId("form-error").hidden = false;
    button.disabled = false;
    (email.value ? password : email).focus();
  }
}

await start();
byId("login-form").addEventListener("submit", signIn);
byId("login-form").querySelector('[type="submit"]').disabled = false; // before, the browser itself would send the form
