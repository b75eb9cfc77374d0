// The cart: which items and how many. It lives in the browser and knows no prices.
const KEY = "cart";

function lines() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((line) => line.kind && line.itemId && Number.isInteger(line.quantity) && line.quantity > 0) : [];
  } catch {
    return [];
  }
}

function save(list) {
  localStorage.setItem(KEY, JSON.stringify(list));
  dispatchEvent(new Event("basket"));
}

const same = (kind, itemId) => (line) => line.kind === kind && line.itemId === itemId;

function add(kind, itemId) {
  const list = lines();
  const line = list.find(same(kind, itemId));
  if (line) line.quantity += 1;
  else list.push({ kind, itemId, quantity: 1 });
  save(list);
}

// step changes a quantity by what was clicked, from what the cart holds: a page that
// waits for its quote shows an older one. A line without a quantity is removed.
function step(kind, itemId, by) {
  const list = lines();
  const line = list.find(same(kind, itemId));
  if (line) line.quantity += by;
  save(list.filter((each) => each.quantity > 0));
}

const remove = (kind, itemId) => save(lines().filter((line) => !same(kind, itemId)(line)));

// take takes lines out that were bought. What was added meanwhile stays.
function take(bought) {
  const list = lines();
  for (const { kind, itemId, quantity } of bought) {
    const line = list.find(same(kind, itemId));
    if (line) line.quantity -= quantity;
  }
  save(list.filter((line) => line.quantity > 0));
}

const count = () => lines().reduce((sum, line) => sum + line.quantity, 0);

// Another tab has changed the cart.
addEventListener("storage", (event) => event.key === KEY && dispatchEvent(new Event("basket")));

export { add, count, lines, remove, step, take };
