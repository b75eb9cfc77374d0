// The preview of a coupon beside its form: what the API says that the draft does to a sample
// cart. It is asked anew whenever the form changes.
import { post } from "../api.js";
import { byId, debounce, el } from "../dom.js";
import { isZero, money, moment } from "../format.js";
import { linePrice } from "../shop/checkout.js";

const quiet = 300; // milliseconds without a change before the API is asked
const soon = 60_000; // milliseconds from now that are not told as a date

// preview returns what asks soon for another preview. draft returns the draft of the form, null for
// a form in which nothing was entered, and label what a field is called there. refused is told of
// the faults of each draft.
function preview(form, draft, label, refused) {
  let asked = 0;

  async function ask() {
    if (!form.checkVisibility()) return;
    const mine = (asked += 1);
    const units = byId("preview-units").value;
    const wanted = draft();
    if (wanted === null) {
      clear("Enter a discount to see what the coupon takes off.");
      return;
    }
    byId("preview-lines").classList.add("busy");
    try {
      const answer = await post(`/admin/coupon/preview?${new URLSearchParams({ units })}`, wanted);
      if (mine === asked) show(answer);
      if (mine === asked) refused([]);
    } catch (error) {
      if (mine === asked) showFaults(error);
      if (mine === asked) refused(error.errors);
    } finally {
      if (mine === asked) byId("preview-lines").classList.remove("busy");
    }
  }

  function show({ quote, names, rejections, explanations, at }) {
    const amount = (value) => money(value, quote.currency);
    const name = (line) => names.find((each) => each.id === line.id)?.name ?? line.itemId;
    byId("preview-summary").textContent = rejections.length > 0 ? "The coupon cannot be used for this cart." : `The coupon takes ${amount(quote.discount)} off.`;
    const later = Date.parse(at) - Date.now() > soon && rejections.length === 0;
    notes(rejections.map(({ code }, i) => note("note-danger", explanations[i], code)), later && note("note-notice", `As of ${moment(at)}.`));
    byId("preview-lines").replaceChildren(...quote.lines.filter((line) => line.kind !== "shipping").map((line) => el("li", { class: "line", "data-line": line.id },
      el("span", { class: "line-name" }, `${name(line)}${line.quantity > 1 ? ` × ${line.quantity}` : ""}`), linePrice(line, quote.currency),
      !isZero(line.discount) && el("span", { class: "line-discount" }, `−${amount(line.discount)}`))));
    const entry = (key, title, value, className = "") => [el("dt", { class: className }, title), el("dd", { class: className, "data-preview": key }, value)];
    byId("preview-totals").replaceChildren(
      ...entry("subtotal", "Subtotal", amount(quote.subtotal)), ...entry("discount", "Discount", isZero(quote.discount) ? amount(quote.discount) : `−${amount(quote.discount)}`, "discount"),
      ...entry("shipping", "Shipping", amount(quote.shipping)), ...entry("total", "Total", amount(quote.total), "total"));
  }

  // showFaults says what is missing for a preview. The form says so at its fields when it is
  // sent.
  function showFaults(error) {
    clear(error.errors.length > 0 ? "The price is shown when these entries are valid:" : error.message);
    notes(error.errors.slice(0, 5).map(({ field, code, message }) => note(code === "required" ? "note-plain" : "note-notice", `${label(field)}: ${message}`, field)));
  }

  // clear shows a text alone.
  function clear(text) {
    byId("preview-lines").replaceChildren();
    byId("preview-totals").replaceChildren();
    byId("preview-summary").textContent = text;
    notes([]);
  }

  const note = (kind, text, of = "") => el("li", { class: `note ${kind}`, "data-of": of }, text);
  const notes = (list, more) => byId("preview-notes").replaceChildren(...list, ...(more ? [more] : []));

  const askSoon = debounce(ask, quiet);
  form.addEventListener("input", askSoon);
  form.addEventListener("change", askSoon);
  byId("preview-units").addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault()); // it would send the form
  return askSoon;
}

export { preview };
