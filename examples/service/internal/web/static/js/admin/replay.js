// What a coupon would have changed in the last orders, before it is switched on.
import { get } from "../api.js";
import { byId, el } from "../dom.js";
import { isZero, moment, money, number, plural } from "../format.js";
import { remedy, showState } from "../shell.js";

// replay lets the form of the page ask for a replay of the coupon.
function replay(id) {
  let asked = 0;

  async function ask() {
    const mine = (asked += 1);
    const orders = byId("replay-orders").value;
    byId("replay-result").hidden = true;
    byId("replay-failed").hidden = true;
    byId("replay-run").setAttribute("aria-busy", "true");
    try {
      const report = await get(`/admin/coupon/${id}/replay?${new URLSearchParams({ orders })}`);
      if (mine === asked) show(report);
    } catch (error) {
      if (mine === asked) showState(byId("replay-failed"), "The orders could not be tried", error.message, remedy(error, ask));
    } finally {
      if (mine === asked) byId("replay-run").removeAttribute("aria-busy");
    }
  }

  function show({ carts, refused, from, until, currencies, coupons: [coupon], svg }) {
    const unread = refused > 0 ? ` ${plural(refused, "order", "orders")} could not be read.` : "";
    byId("replay-summary").textContent = (carts === 0 ? "There is no paid order yet." : `${plural(carts, "paid order", "paid orders")} from ${moment(from)} to ${moment(until)}.`) + unread;
    byId("replay-facts").replaceChildren(...facts(currencies, coupon).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    byId("replay-facts").hidden = carts === 0;
    byId("replay-chart").replaceChildren(...(carts === 0 ? [] : [document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true)]));
    byId("replay-chart").hidden = carts === 0;
    byId("replay-result").hidden = false;
  }

  byId("replay-form").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
}

function facts(currencies, coupon) {
  return [
    ["Uses", coupon.maxUses ? `${number(coupon.uses)} of ${number(coupon.maxUses)}` : number(coupon.uses)],
    ...(coupon.ranOutAt ? [["Uses ran out", moment(coupon.ranOutAt)]] : []),
    ...coupon.discounts.flatMap(({ currency, discount, budget, ranOutAt }) => [
      ["Discount", money(discount, currency) + (budget && !isZero(budget) ? ` of ${money(budget, currency)}` : "")],
      ...(ranOutAt ? [["Budget ran out", moment(ranOutAt)]] : []),
    ]),
    ["Refused by limits", number(coupon.refusals.reduce((sum, { carts }) => sum + carts, 0))],
    ...currencies.flatMap(({ currency, before, after, wins, stays }) => [
      ["Paid", money(before, currency)], ["Would be paid", money(after, currency)],
      ["Orders that cost less", number(wins.carts)], ["Orders that stay", number(stays.carts)],
    ]),
  ];
}

export { replay };
