// Talks to the API. Errors are problem documents (RFC 9457) as ApiError.
import { hear } from "./clock.js";

class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "Something went wrong.");
    this.status = status;
    this.code = problem.code || "";
    this.params = problem.params || {};
    this.errors = problem.errors || [];
    this.couponId = problem.couponId || "";
  }

  // lost tells that nobody knows whether the call was carried out: its answer did not come,
  // or it failed half-way.
  get lost() {
    return this.status === 0 || this.status >= 500;
  }
}

let signedIn; // the promise of GET /session

// session returns {user, csrfToken}; user is null when nobody is signed in. A failure is
// not kept: the next call asks again.
function session() {
  signedIn ??= request("GET", "/session").catch((error) => {
    signedIn = undefined;
    throw error;
  });
  return signedIn;
}

// request returns the parsed body of the answer, null when it has none.
async function request(method, path, options) {
  try {
    return await send(method, path, options);
  } catch (error) {
    if (error.code !== "csrf_token_invalid") throw error;
    await renew();
    return send(method, path, options);
  }
}

// renew asks anew who is signed in: who has signed in again, in another tab perhaps,
// has another token. What the page shows of one account is not done by another one.
async function renew() {
  const before = await session();
  const now = await send("GET", "/session");
  if (now.user?.id !== before.user?.id) throw new ApiError(403, { code: "account_changed", detail: "Another account is signed in now. Load the page again." });
  signedIn = Promise.resolve(now);
}

async function send(method, path, { body, file, each, headers = {}, signal, accepted } = {}) {
  const init = { method, signal, credentials: "same-origin", headers: { Accept: "application/json", ...headers } };
  if (method !== "GET") init.headers["X-CSRF-Token"] = (await session()).csrfToken ?? "";
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  if (file) {
    init.headers["Content-Type"] = "text/csv";
    init.body = file;
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "unreachable", detail: "The server cannot be reached. Check the connection and try again." });
  }
  hear(response.headers.get("Date"));
  if (each && response.ok) return readLines(response, each);
  const value = await read(response);
  if (response.status === 202) accepted?.();
  return value;
}

async function read(response) {
  const text = await response.text();
  let value = null;
  try {
    value = text ? parse(text) : null;
  } catch {
    value = null; // a proxy's error page, for example
  }
  if (response.ok) return value;
  throw new ApiError(response.status, value ?? { detail: `The server answered ${response.status}. Try again in a moment.` });
}

// readLines calls each with the lines of an answer: the verdicts, and the last line, which counts them. It returns the last line.
async function readLines(response, each) {
  let last = null;
  try {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        last = parse(line);
        each(last);
      }
    }
  } catch {
    last = null;
  }
  if (last?.problem) throw new ApiError(last.problem.status, last.problem);
  if (!last?.done) throw new ApiError(0, { code: "unreachable", detail: "The server stopped in the middle." });
  return last;
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

// parse reads JSON. A whole number that a browser would round is the text of its digits.
function parse(text) {
  const exact = (token) => (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token);
  return JSON.parse(/\d{16}/.test(text) ? text.replace(tokens, exact) : text);
}

const get = (path, options) => request("GET", path, options);
const post = (path, body, options) => request("POST", path, { body, ...options });
const patch = (path, body) => request("PATCH", path, { body });
// upload sends a CSV file, and calls each with the verdict of each row, and then with what is said of the whole file.
const upload = (path, file, each) => request("POST", path, { file, each });
const remove = (path) => request("DELETE", path);

// untilDone repeats a request as long as the API answers that a part of the work is left. It calls progress with each answer,
// and ends if progress returns false.
async function untilDone(method, path, body, progress) {
  for (;;) {
    let left = false;
    const answer = await request(method, path, { body, accepted: () => { left = true; } });
    if (progress(answer) === false || !left) return answer;
  }
}

// segment makes a text one segment of a path. Browsers take . and .. for directories,
// which a space behind them prevents; the API trims it.
const segment = (text) => encodeURIComponent(/^\.{1,2}$/.test(text) ? `${text} ` : text);

// signInAddress is where to sign in and come back from.
const signInAddress = () => `/login?next=${encodeURIComponent(location.pathname + location.search)}`;

export { ApiError, get, patch, post, remove, segment, session, signInAddress, untilDone, upload };
