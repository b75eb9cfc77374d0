// Builds elements. Text is always text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

// el makes an element. Attributes with a function are listeners, true is an empty
// attribute, and false, null and undefined are left out.
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg is el for SVG.
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// foreign is text that somebody has typed, for a place within a sentence: whatever its
// direction, the words around it keep theirs. Controls of direction are left out, one of
// which could end its isolation.
const foreign = (text) => el("bdi", {}, text.replace(/[\u202a-\u202e\u2066-\u2069]/g, ""));

const paths = {
  edit: "M4 16h3l8.5-8.5a2.1 2.1 0 0 0-3-3L4 13v3ZM11 6l3 3",
  chart: "M4 16V10M8 16V5M12 16V8M16 16V3",
  copy: "M7.5 7.5h9v9h-9ZM4.5 12.5h-1v-9h9v1",
  remove: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.6L14 6M8.5 9v4M11.5 9v4",
  close: "m5 5 10 10M15 5 5 15",
  up: "m5 12 5-5 5 5",
  check: "m4 10.5 4 4 8-9",
  clock: "M10 5.5V10l3 2M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15Z",
  device: "M6.5 2.5h7a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-13a1 1 0 0 1 1-1ZM9 15h2",
  "phone-x": "M5.5 1.5h9a1 1 0 0 1 1 1v15a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1v-15a1 1 0 0 1 1-1ZM9 16h2",
  tablet: "M4.5 2.5h11a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1v-13a1 1 0 0 1 1-1ZM9 15h2",
  watch: "M6.5 6h7a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1ZM7.5 6 8 2.5h4l.5 3.5M7.5 14l.5 3.5h4l.5-3.5M10 8.5v2l1.5 1",
  case: "M6.5 2.5h7a2 2 0 0 1 2 2v11a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-11a2 2 0 0 1 2-2ZM7 5h3.5v4H7Z",
  cable: "M5 2.5h4v4H5ZM7 6.5v7a3 3 0 0 0 6 0v-7M11 2.5h4v4h-4Z",
  earbuds: "M5 3.5A2.5 2.5 0 0 1 7.5 6v9.5M5 3.5a2.5 2.5 0 0 0 0 5h2.5M15 3.5A2.5 2.5 0 0 0 12.5 6v9.5M15 3.5a2.5 2.5 0 0 1 0 5h-2.5",
  "sim-tool": "M6 2.5h5l4 4v11H6ZM8.5 10.5h4v4h-4Z",
  accessory: "M7 2.5v4M13 2.5v4M5 6.5h10V10a5 5 0 0 1-10 0V6.5ZM10 15v2.5",
};

// icon draws one of a small set, the second where there is none of the first name. It
// is decoration, so what it means has to be said beside it.
function icon(name, otherwise) {
  return svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", {
    d: paths[name] ?? paths[otherwise], fill: "none", stroke: "currentColor", "stroke-width": "1.6", "stroke-linecap": "round", "stroke-linejoin": "round",
  }));
}

// debounce calls the function once things have been quiet for that long.
function debounce(call, milliseconds) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

export { byId, debounce, el, foreign, icon, svg };
