// Reads a list of e-mail addresses that commas or new lines separate.

const split = (text) => text.split(/[,\n\r]+/).map((part) => part.trim()).filter((part) => part !== "");

// bad returns the entries that cannot be addresses. The server knows the rule in
// full; this only spares a round trip for what is plainly wrong.
const bad = (addresses) => addresses.filter((address) => !/^[^\s@<>"]+@[^\s@<>".]+(\.[^\s@<>".]+)*$/.test(address));

export { bad, split };
