// Files of a campaign: an upload with a verdict for each row, and a download with a filter.
import { get, segment, upload } from "../api.js";
import { byId, el, foreign } from "../dom.js";
import { clearErrors, showFaults, showRefusal } from "../fields.js";
import { number, plural } from "../format.js";
import { cell } from "./coderow.js";

const maxShown = 100; // rows that are listed; the file of verdicts has all rows
const reasons = { taken: "Another batch or coupon has this code.", known: "The batch has this code already." };
const words = { added: "added", known: "already there", taken: "taken", refused: "refused", assigned: "customers with a code" };

// fileForm lets a form send a file to a batch. below is the last segment of the address. done is called afterwards.
function fileForm(name, path, below, done) {
  const form = byId(`${name}-form`);
  const part = (what) => byId(`${name}-${what}`);
  let working = false;

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (working) return;
    clearErrors(form);
    part("error").hidden = true;
    const batch = part("id").value.trim();
    const [file] = part("file").files;
    if (batch === "" || !file) {
      showFaults(form, { ...(batch === "" && { id: "Name the batch." }), ...(!file && { file: "Choose a CSV file." }) });
      return;
    }
    setWorking(true);
    const verdicts = results(part);
    const ignored = part("ignore")?.value.trim();
    try {
      await upload(`${path}/${segment(batch)}/${below}${ignored ? `?${new URLSearchParams({ ignore: ignored })}` : ""}`, file, verdicts.add);
    } catch (error) {
      showRefusal(form, part("error"), error, "Send the same file again: nothing is done twice.");
    } finally {
      verdicts.end();
      setWorking(false);
    }
    await done();
  });

  function setWorking(now) {
    working = now;
    part("send").ariaBusy = String(now);
    part("progress").hidden = !now;
    if (now) part("result").hidden = false;
  }
}

// results shows the verdicts of rows as they come.
function results(part) {
  const counts = {};
  const file = ["row,verdict,code,owner,reason\n"];
  let problems = 0;
  let rows = 0;
  let ignored = []; // names of columns
  part("text").textContent = "";
  part("rows").replaceChildren();
  part("table").hidden = true;
  part("verdicts").hidden = true;
  URL.revokeObjectURL(part("verdicts").href);

  // summary tells how many rows have each verdict.
  const summary = () => `${plural(rows, "row", "rows")}${rows > 0 ? ": " : ""}${Object.entries(counts).map(([verdict, count]) => `${number(count)} ${words[verdict] ?? verdict}`).join(", ")}${problems > maxShown ? `. The first ${maxShown} of ${number(problems)} problems:` : ""}`;

  function add(line) {
    if (line.done !== undefined) {
      ignored = line.ignored ?? [];
      return;
    }
    const reason = (line.errors ?? []).map(({ field, message }) => `${field}: ${message}`).join("; ") || (reasons[line.verdict] ?? "");
    rows += 1;
    counts[line.verdict] = (counts[line.verdict] ?? 0) + 1;
    file.push(`${[line.row, line.verdict, line.code, line.owner, reason].map(harmless).join(",")}\n`);
    if ((line.verdict === "refused" || line.verdict === "taken") && (problems += 1) <= maxShown) {
      part("rows").append(el("tr", { role: "row" }, cell("Row", "", number(line.row)), cell("Code", "cell-code span", line.code ? foreign(line.code) : "None"), cell("Why", "span", foreign(reason))));
      part("table").hidden = false;
    }
    if (rows % 1000 === 0) part("text").textContent = summary();
  }

  function end() {
    const columns = ignored.length > 0 ? [el("br"), "Columns that are not read: ", foreign(ignored.join(", "))] : [];
    part("text").replaceChildren(...(rows > 0 ? [summary()] : []), ...columns);
    part("result").hidden = rows === 0 && columns.length === 0;
    part("verdicts").hidden = rows === 0;
    part("verdicts").href = URL.createObjectURL(new Blob(file, { type: "text/csv" }));
  }

  return { add, end };
}

// harmless is a cell of a CSV file that no spreadsheet runs.
function harmless(value) {
  const text = String(value ?? "");
  return `"${(/^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

// exportForm lets a form download the codes of a coupon that it selects. A request for one code finds faults before.
function exportForm(coupon) {
  const form = byId("export-form");
  const value = (what) => byId(`export-${what}`).value.trim();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearErrors(form);
    byId("export-error").hidden = true;
    const owner = value("owner");
    const filter = {
      ...(value("batch") && { batch: value("batch") }), ...(value("state") && { state: value("state") }),
      ...(owner && { owner: ownerOf(owner) }), ...(value("uses") && { [value("uses")]: true }),
    };
    try {
      const { items } = await get(`${coupon}/codes?${new URLSearchParams({ ...filter, pageSize: 1 })}`);
      if (items.length === 0) {
        showFaults(form, { uses: "There are no such codes." });
        return;
      }
    } catch (error) {
      showRefusal(form, byId("export-error"), error, "");
      return;
    }
    byId("export-link").href = `${coupon}/codes.csv?${new URLSearchParams(filter)}`;
    byId("export-link").click();
  });
}

// ownerOf is the owner that somebody has typed: an address, an ID, or the text that the file of codes has.
function ownerOf(typed) {
  if (/^(id|email):/.test(typed)) return typed;
  return typed.includes("@") ? `email:${typed.toLowerCase()}` : `id:${typed}`;
}

export { exportForm, fileForm };
