// The codes of the customer's coupons. They live in the browser, as the cart does, and are there
// on every page until they are removed or used.
const KEY = "coupons";
const most = 20; // as many as a cart may have
const longest = 255; // characters of a code

function list() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(usable).slice(0, most) : [];
  } catch {
    return [];
  }
}

// usable tells whether a text can be a code: whether there is such a coupon, the API knows.
const usable = (code) => typeof code === "string" && code.trim() !== "" && [...code].length <= longest;
const save = (codes) => localStorage.setItem(KEY, JSON.stringify(codes));

function add(code) {
  if (usable(code) && !list().includes(code)) save([...list(), code]);
}

const remove = (...codes) => save(list().filter((each) => !codes.includes(each)));
const clear = () => localStorage.removeItem(KEY);

// take returns the code that the address of the page brings, and takes it out of the address: a page
// that is loaded again does not bring back a coupon that was removed.
function take() {
  const address = new URL(location.href);
  const code = (address.searchParams.get("coupon") ?? "").trim();
  if (!address.searchParams.has("coupon")) return "";
  address.searchParams.delete("coupon");
  history.replaceState(null, "", address);
  return usable(code) ? code : "";
}

export { add, clear, list, remove, take };
