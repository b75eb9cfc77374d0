// Lists of entries in a form, such as tiers: each entry is a row of controls, whose names
// begin with the list and the number of the row.
import { el } from "../dom.js";

const numbered = ["data-field", "name", "id", "for", "aria-describedby"];

// rows takes over a host that holds one empty row, and returns {read, write}. changed is called
// when a row is added or removed, and begin returns what a row that is added begins with.
function rows(host, changed, begin = () => ({})) {
  const list = host.dataset.rows;
  const model = host.querySelector(".row").cloneNode(true);
  const add = host.parentElement.querySelector("[data-add-row]");
  add.hidden = false;
  add.addEventListener("click", () => {
    append(begin());
    host.lastElementChild.querySelector(".input, .select").focus();
    changed();
  });

  function append(entry) {
    const row = model.cloneNode(true);
    for (const control of controls(row)) if (member(control) in entry) control.value = entry[member(control)] ?? "";
    const remove = row.querySelector("[data-remove-row]");
    remove.hidden = false;
    remove.addEventListener("click", () => {
      row.remove();
      number();
      add.focus();
      changed();
    });
    host.append(row);
    number();
  }

  // number gives each row the names of its place.
  function number() {
    [...host.children].forEach((row, index) => {
      row.setAttribute("aria-label", `${host.dataset.rowName} ${index + 1}`);
      row.querySelector("[data-remove-row]").setAttribute("aria-label", `Remove ${host.dataset.rowName.toLowerCase()} ${index + 1}`);
      for (const each of row.querySelectorAll("*")) {
        for (const name of numbered) {
          const value = each.getAttribute(name);
          if (value) each.setAttribute(name, value.replace(/\[\d+\]/, `[${index}]`));
        }
      }
    });
  }

  const controls = (row) => row.querySelectorAll(".input, .select");
  const member = (control) => control.name.split(".").at(-1);

  return {
    list,
    // read returns the entries in which something was entered beside a time zone or a currency.
    read() {
      return [...host.children]
        .map((row) => Object.fromEntries([...controls(row)].map((each) => [member(each), each.value.trim()]).filter(([, value]) => value !== "")))
        .filter((entry) => Object.keys(entry).some((name) => name !== "timeZone" && name !== "currency"));
    },
    write(entries) {
      host.replaceChildren();
      for (const entry of entries) append(entry);
    },
  };
}

// timeZones fills the suggestions of time zones when somebody is about to need them.
function timeZones(host, form) {
  form.addEventListener("focusin", ({ target }) => target.getAttribute("list") === host.id && host.childElementCount === 0 && fill(host));
}

function fill(host) {
  host.replaceChildren(...Intl.supportedValuesOf("timeZone").map((value) => el("option", { value })), el("option", { value: "UTC" }));
}

export { rows, timeZones };
