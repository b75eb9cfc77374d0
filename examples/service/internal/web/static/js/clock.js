// The time of the service, as its answers tell it: the clock of a browser may be wrong.
let ahead = 0; // milliseconds by which its clock is ahead of the browser's

// hear takes the Date of an answer, null where it has none.
function hear(date) {
  const told = Date.parse(date ?? "");
  if (!Number.isNaN(told)) ahead = told - Date.now();
}

const now = () => Date.now() + ahead;

export { hear, now };
