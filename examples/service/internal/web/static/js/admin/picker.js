// A combobox that searches the catalogue and collects what is chosen
// (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/).
import { get } from "../api.js";
import { debounce, el, icon } from "../dom.js";

const nouns = { plan: "plans", device: "devices", accessory: "accessories" };

// picker fills a host element and returns {value, items, set}: the IDs that are chosen,
// the same with their names, and what chooses others. changed is called when somebody has
// chosen.
function picker(host, changed = () => {}) {
  const kinds = host.dataset.picker.split(" ");
  const noun = kinds.length === 1 ? nouns[kinds[0]] : "items";
  const id = host.dataset.id;
  const chips = el("ul", { class: "picker-chips", role: "list", "aria-label": `Selected ${noun}` });
  const input = el("input", {
    id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: `All ${noun}. Search to narrow`,
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
  });
  const list = el("ul", { class: "picker-list", id: `${id}-list`, role: "listbox", "aria-label": `Matching ${noun}`, hidden: true });
  const status = el("span", { class: "visually-hidden", role: "status" });
  host.replaceChildren(el("div", { class: "picker-box" }, chips, input), list, status);

  let chosen = []; // {id, name}
  let options = [];
  let current = -1;
  let asked = 0;

  const isOpen = () => !list.hidden;

  function close() {
    asked += 1; // an answer that is under way comes too late
    list.hidden = true;
    current = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(item) {
    chosen = [...chosen, item];
    input.value = "";
    close();
    showChips();
    input.focus();
    changed();
  }

  function drop(item) {
    chosen = chosen.filter((each) => each.id !== item.id);
    showChips();
    status.textContent = `${item.name} removed`;
    input.focus();
    changed();
  }

  function showChips() {
    chips.replaceChildren(...chosen.map((item) => el("li", { class: "chip", "data-value": item.id }, item.name,
      el("button", { type: "button", "aria-label": `Remove ${item.name}`, onclick: () => drop(item) }, icon("close")))));
    input.placeholder = chosen.length === 0 ? `Search ${noun}` : "Add another";
  }

  // highlight marks the option that Enter chooses, -1 for none.
  function highlight(index) {
    current = index;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === index)));
    if (index < 0) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    input.setAttribute("aria-activedescendant", `${id}-option-${index}`);
    list.children[index].scrollIntoView({ block: "nearest" });
  }

  // search shows what matches. A ticket is that of the typing that led to it: when
  // something was chosen meanwhile, there is nothing to search any more.
  async function search(ticket) {
    if (ticket !== undefined && ticket !== asked) return;
    const ask = (asked += 1);
    let found;
    try {
      const answers = await Promise.all(kinds.map((kind) => get(`/admin/catalog/search?${new URLSearchParams({ kind, q: input.value.trim() })}`)));
      found = answers.flatMap(({ items }) => items).filter((item) => !chosen.some((each) => each.id === item.id));
    } catch (error) {
      if (ask === asked) showEmpty(error.message);
      return;
    }
    if (ask !== asked) return; // something newer was typed
    options = found;
    if (options.length === 0) {
      showEmpty(`No ${noun} match`);
      return;
    }
    list.replaceChildren(...options.map((item, index) => el("li", {
      id: `${id}-option-${index}`, role: "option", "aria-selected": "false", "data-value": item.id,
      onmousedown: (event) => event.preventDefault(), onclick: () => choose(item),
    }, item.name)));
    open(`${options.length} found`);
    highlight(0);
  }

  function showEmpty(text) {
    options = [];
    list.replaceChildren(el("li", { class: "empty", role: "option", "aria-disabled": "true", "aria-selected": "false" }, text));
    highlight(-1);
    open(text);
  }

  function open(text) {
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    status.textContent = text;
  }

  const searchSoon = debounce(search, 150);
  input.addEventListener("input", () => {
    highlight(-1); // what is listed is not what is typed now, and Enter must not choose of it
    searchSoon((asked += 1));
  });
  input.addEventListener("click", () => search());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const last = options.length - 1;
    if (event.key === "ArrowDown") isOpen() ? last >= 0 && highlight(current >= last ? 0 : current + 1) : search();
    else if (event.key === "ArrowUp" && isOpen() && last >= 0) highlight(current <= 0 ? last : current - 1);
    else if (event.key === "Enter") isOpen() && current >= 0 && choose(options[current]);
    else if (event.key === "Escape" && isOpen()) close();
    else if (event.key === "Backspace" && input.value === "" && chosen.length > 0) return drop(chosen.at(-1));
    else return undefined;
    event.preventDefault(); // Enter must not send the form, Escape must not close the dialog
    return undefined;
  });

  return {
    value: () => chosen.map((item) => item.id),
    items: () => chosen,
    set(items) {
      chosen = items;
      input.value = "";
      close();
      showChips();
    },
  };
}

export { picker };
