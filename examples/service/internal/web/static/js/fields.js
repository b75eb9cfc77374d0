// Faults at the fields of a form: a field is an element with data-field, its control,
// and perhaps a hint.
import { el } from "./dom.js";

const fieldOf = (form, name) => form.querySelector(`[data-field="${CSS.escape(name)}"]`);

// control is what has the focus when there is something wrong: of choices, the one that
// is made.
const control = (field) => field.querySelector("input[type=radio]:checked") ?? field.querySelector(".input, .textarea, .select, [role=combobox], input, button:not([hidden])") ?? field;

// hint is what describes a control all the time. That of a group describes the group.
const hint = (field) => (field.matches("fieldset") ? "" : field.querySelector(".hint")?.id ?? "");

// showError shows a text, or a list of texts and elements, at a field; empty takes it away.
function showError(form, name, text) {
  const field = fieldOf(form, name);
  field.querySelector(":scope > .field-error")?.remove();
  for (const each of field.querySelectorAll("[aria-invalid]")) {
    each.removeAttribute("aria-invalid");
    describe(each, hint(field));
  }
  if (text.length === 0) return;
  const wrong = control(field);
  const id = `error-${wrong.id || name}`;
  const texts = [text].flat();
  field.append(el("div", { class: "field-error", id }, texts.length === 1 ? texts[0] : el("ul", {}, ...texts.map((each) => el("li", {}, each)))));
  const folded = field.closest("details");
  if (folded) folded.open = true;
  wrong.setAttribute("aria-invalid", "true");
  describe(wrong, `${id} ${hint(field)}`.trim());
}

function describe(element, ids) {
  if (ids === "") element.removeAttribute("aria-describedby");
  else element.setAttribute("aria-describedby", ids);
}

// showFaults shows faults by field and goes to the first one.
function showFaults(form, faults) {
  for (const [name, text] of Object.entries(faults)) showError(form, name, text);
  const first = form.querySelector('[aria-invalid="true"]');
  first?.focus();
  first?.closest("[data-field]").scrollIntoView({ block: "nearest" });
}

// showRefusal shows the faults of an error at their fields, and everything else in a note. again says what to do if nobody knows
// whether the call was carried out.
function showRefusal(form, note, error, again) {
  const faults = {};
  const others = [];
  for (const { field, message } of error.errors) {
    if (fieldOf(form, field)) (faults[field] ??= []).push(message);
    else others.push(`${field}: ${message}`);
  }
  showFaults(form, faults);
  if (error.errors.length > 0 && others.length === 0) return;
  note.textContent = [...(others.length > 0 ? others : [error.message]), ...(error.lost ? [again] : [])].join(" ");
  note.hidden = false;
}

function clearErrors(form) {
  for (const field of form.querySelectorAll("[data-field]")) showError(form, field.dataset.field, "");
}

export { clearErrors, fieldOf, showError, showFaults, showRefusal };
