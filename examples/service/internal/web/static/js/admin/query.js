// What the list shows, as it stands in the address: a page can be reloaded,
// bookmarked and sent to a colleague.

const defaults = { search: "", page: 1, pageSize: 20, sort: "", order: "asc" };
const filters = ["state", "type", "startsFrom", "startsUntil", "expiresFrom", "expiresUntil", "expired", "usedUp", "usable"]; // names of the API
const sizes = [10, 20, 50, 100];
const sorts = ["code", "name", "discount", "scope", "used", "points", "expires", "status"];

function read() {
  const given = new URLSearchParams(location.search);
  const page = Number(given.get("page"));
  const pageSize = Number(given.get("pageSize"));
  return {
    search: given.get("search") ?? "",
    page: Number.isInteger(page) && page > 0 ? page : defaults.page,
    pageSize: sizes.includes(pageSize) ? pageSize : defaults.pageSize,
    sort: sorts.includes(given.get("sort")) ? given.get("sort") : "",
    order: given.get("order") === "desc" ? "desc" : "asc",
    ...Object.fromEntries(filters.map((name) => [name, given.get(name) ?? ""])),
  };
}

// parameters are the query as the API wants it; without a sort it lists the newest
// first.
function parameters(query) {
  const { search, page, pageSize, sort, order } = query;
  const narrowed = Object.fromEntries(filters.filter((name) => query[name]).map((name) => [name, query[name]]));
  return new URLSearchParams({ search, page, pageSize, ...(sort && { sort, order }), ...narrowed });
}

// write puts the query into the address. Typing replaces the entry in the history,
// everything else adds one.
function write(query, { replace = false } = {}) {
  const address = new URL(location.pathname, location.origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== (defaults[name] ?? "") && !(name === "order" && !query.sort)) address.searchParams.set(name, value);
  }
  if (address.href === location.href) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
}

export { filters, parameters, read, write };
