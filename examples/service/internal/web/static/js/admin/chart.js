// Draws how often a coupon was used each day, and says the same as a table for
// those who do not see it.
import { el, svg } from "../dom.js";
import { day, number, plural } from "../format.js";

const height = 240;
const margin = { top: 12, right: 8, bottom: 28 };

// room is what the figures of the axis take: their text is 12 pixels high, and a digit
// at most 8 wide.
const room = (top) => Math.max(36, 12 + 8 * number(top).length);

// steps returns round numbers that divide the axis: at most four.
function steps(most) {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(most, 1) / 4 || 1));
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate * 4 >= most) ?? 1);
  const marks = [];
  for (let mark = 0; mark < most + step; mark += step) marks.push(mark);
  return marks;
}

// chart draws days of {date, completed, reserved}, the oldest first, in a width of
// CSS pixels, so that its text has the size of all text.
function chart(days, width) {
  const completed = days.reduce((sum, each) => sum + each.completed, 0);
  const marks = steps(Math.max(1, ...days.map((each) => each.completed + each.reserved)));
  const top = marks.at(-1);
  const left = room(top);
  const y = (value) => height - margin.bottom - (value / top) * (height - margin.top - margin.bottom);
  const slot = (width - left - margin.right) / days.length;
  const bar = Math.min(slot * 0.7, 32);
  const x = (index) => left + slot * index + (slot - bar) / 2;
  const every = Math.ceil(days.length / Math.max(2, Math.floor(width / 110)));

  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${plural(completed, "use", "uses")} in ${plural(days.length, "day", "days")}` },
    ...marks.map((mark) => [
      svg("line", { class: "grid-line", x1: left, x2: width - margin.right, y1: y(mark), y2: y(mark) }),
      svg("text", { class: "axis-text", x: left - 8, y: y(mark) + 4, "text-anchor": "end" }, number(mark)),
    ]).flat(),
    ...days.map((each, index) => svg("g", {},
      svg("title", {}, `${day(each.date)}: ${each.completed} completed, ${each.reserved} reserved`),
      svg("rect", { class: "bar-completed", x: x(index), width: bar, y: y(each.completed), height: y(0) - y(each.completed), rx: 2 }),
      svg("rect", { class: "bar-reserved", x: x(index), width: bar, y: y(each.completed + each.reserved), height: y(0) - y(each.reserved), rx: 2 }),
      index % every === 0 && svg("text", { class: "axis-text", x: x(index) + bar / 2, y: height - 8, "text-anchor": "middle" }, day(each.date).replace(/ \d{4}$/, "")))));

  const used = days.filter((each) => each.completed + each.reserved > 0);
  const table = el("table", { class: "visually-hidden" },
    el("caption", {}, "Uses per day"),
    el("thead", {}, el("tr", {}, ...["Day", "Completed", "Reserved"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...used.map((each) => el("tr", {}, el("td", {}, day(each.date)), el("td", {}, number(each.completed)), el("td", {}, number(each.reserved))))));
  return [picture, table];
}

export { chart };
