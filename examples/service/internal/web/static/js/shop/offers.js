// What the shop suggests for a cart: the best coupon, and those that the customer nearly gets. The API
// decides which, and what they save.
import { post } from "../api.js";
import { el, foreign } from "../dom.js";
import { money, number } from "../format.js";

// offersBox fills a list. use is called with a code that the customer wants to use.
function offersBox(host, currency, use) {
  let asked = 0;

  // show asks for the offers of what is bought. Only the newest answer is shown. Without an answer, nothing is
  // suggested: the cart does not depend on it.
  async function show(request) {
    const ask = (asked += 1);
    const { best, nearly } = await post("/payment/offers", request).catch(() => ({ nearly: [] }));
    if (ask !== asked) return;
    const focused = host.contains(document.activeElement);
    host.replaceChildren(...(best ? [bestOffer(best)] : []), ...nearly.map(nearOffer));
    host.hidden = host.childElementCount === 0;
    if (focused) (host.querySelector("button") ?? document.querySelector("#pay-now"))?.focus();
  }

  const bestOffer = ({ code, saves }) => el("li", { class: "note note-good", "data-offer": code },
    el("span", {}, "Best coupon for you: ", el("strong", {}, foreign(code)), ` saves ${money(saves, currency)}.`),
    el("button", { class: "button", type: "button", onclick: () => use(code) }, "Use it"));

  const nearOffer = ({ code, missing, contained, pieces, saves }) => el("li", { class: "note note-plain", "data-nearly": code },
    el("span", {}, `${pieces ? `${number(pieces)} more ${pieces === 1 ? "piece" : "pieces"}` : `${money(missing, currency)} more${contained ? " of what it requires" : ""}`} and `, el("strong", {}, foreign(code)), ` saves ${money(saves, currency)}.`));

  return { show };
}

export { offersBox };
