// Shows what the API sends. Amounts are decimal strings and stay strings: Intl
// formats them exactly, and nothing here calculates.
import { now } from "./clock.js";

// money shows an amount with the decimals that it has: those of some currencies, such
// as the Iraqi dinar, browsers leave out and round.
function money(amount, currency) {
  const decimals = amount.split(".")[1]?.length ?? 0;
  return new Intl.NumberFormat("en", { style: "currency", currency, minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(amount);
}

// amounts shows an amount in each of its currencies, the coupon's first, or in the currency of a cart alone.
function amounts(all, own, cart) {
  if (typeof all === "string") return money(all, own);
  if (all[cart]) return money(all[cart], cart);
  return [own, ...Object.keys(all).filter((each) => each !== own)].map((each) => money(all[each], each)).join(" or ");
}

// symbol is how a currency is written beside an amount.
const symbol = (currency) => new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "narrowSymbol" }).formatToParts(0).find((part) => part.type === "currency").value;

const isZero = (amount) => /^0*(\.0*)?$/.test(amount);

// discount says in a few words what a coupon takes off: its value, of which units, and at most what. Without the currency of
// a cart, it says so in all currencies of the coupon.
function discount(coupon, cart) {
  const { maxUnits, maxDiscount, units, currency } = coupon;
  const percent = () => `${trimmed(coupon.discountValue)} %`;
  const amount = () => amounts(coupon.discountValue, currency, cart);
  const limits = [maxUnits && `at most ${plural(maxUnits, "unit", "units")}`, maxDiscount && `at most ${amounts(maxDiscount, currency, cart)}`].filter(Boolean);
  const says = () => {
    switch (coupon.discountType) {
      case "FIXED_AMOUNT_PER_UNIT": return `${amount()} off each unit`;
      case "FIXED_UNIT_PRICE": return `Each unit for ${amount()}`;
      case "CHEAPEST_UNITS": return units ? `${percent()} off the cheapest ${units === 1 ? "unit" : `${number(units)} units`}` : `${percent()} off the cheapest units`;
      case "BUY_X_GET_Y": return coupon.buyQuantity ? `Buy ${number(coupon.buyQuantity)}, get ${number(coupon.getQuantity)} at ${percent()} off` : `${percent()} off further units`;
      case "TIERED": return coupon.tiers ? plural(coupon.tiers.length, "tier", "tiers") : "Tiers";
      case "PERCENTAGE": return percent();
      default: return amount();
    }
  };
  return [says(), ...limits].join(", ");
}

// offer says the same to a customer, who may know the value alone.
function offer(coupon, cart) {
  if (coupon.discountType === "TIERED") return "The more you buy, the more it takes off";
  const says = discount(coupon, cart);
  return ["PERCENTAGE", "FIXED_AMOUNT"].includes(coupon.discountType) ? says.replace(/(,|$)/, " off$1") : says;
}

// trimmed drops the zeros behind the decimal point.
const trimmed = (value) => (value.includes(".") ? value.replace(/\.?0+$/, "") : value);

// number shows a count; one beyond a browser's numbers is text, and formatted exactly as well.
const number = (value) => new Intl.NumberFormat("en").format(value);

// zone is the time zone of the shop, in which its coupons begin and end.
const zone = document.documentElement.dataset.zone;

// day shows an instant as the day that it falls on in the shop's time zone.
const day = (instant) => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: zone }).format(new Date(instant));

// time shows an instant as the time of that day, and names the time zone.
const time = (instant) => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: zone, timeZoneName: "short" }).format(new Date(instant));

const moment = (instant) => `${day(instant)}, ${time(instant)}`;

// isoDay is the day of milliseconds since 1970 as YYYY-MM-DD, in the shop's time zone.
const isoDay = (at) => {
  const parts = Object.fromEntries(new Intl.DateTimeFormat("en", { year: "numeric", month: "2-digit", day: "2-digit", timeZone: zone }).formatToParts(at).map(({ type, value }) => [type, value]));
  return `${parts.year.padStart(4, "0")}-${parts.month}-${parts.day}`;
};

// midnight tells whether an instant is where a day begins or ends. Coupons begin and end
// there, unless somebody has told an instant.
const midnight = (instant) => Boolean(instant) && !/\.\d*[1-9]/.test(instant) && isoDay(Date.parse(instant)) !== isoDay(Date.parse(instant) - 1);

// firstDay is the day on which a coupon becomes valid, as YYYY-MM-DD.
const firstDay = (startsAt) => (startsAt ? isoDay(Date.parse(startsAt)) : "");

// lastDay is the last day on which a coupon is valid, as YYYY-MM-DD: expiresAt is
// the first instant at which it no longer is.
const lastDay = (expiresAt) => (expiresAt ? isoDay(Date.parse(expiresAt) - 1) : "");

// dayOfEnd shows that day.
const dayOfEnd = (expiresAt) => day(Date.parse(expiresAt) - 1);

// when and until tell a customer an instant on the customer's own clock: the day, and the time
// unless the day begins then.
const long = (at) => new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(at);
const clock = (at) => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }).format(at);
const dayBegins = (at) => at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
const when = (instant) => ((at) => (dayBegins(at) ? long(at) : `${long(at)} at ${clock(at)}`))(new Date(instant));
const until = (instant) => ((at) => (dayBegins(at) ? `through ${long(at.getTime() - 1)}` : `until ${long(at)} at ${clock(at)}`))(new Date(instant));

// expired and waits tell whether the time of a coupon is over, or has not come.
const expired = (coupon) => Boolean(coupon.expiresAt) && new Date(coupon.expiresAt) <= now();
const waits = (coupon) => Boolean(coupon.startsAt) && new Date(coupon.startsAt) > now();

// plural counts things; atLeast says that there are more.
const plural = (count, one, many, atLeast = false) => `${number(count)}${atLeast ? "+" : ""} ${count === 1 ? one : many}`;

const intervals = { month: "a month", monthly: "a month", year: "a year", yearly: "a year" };
const interval = (name) => intervals[name] ?? "";

// called is what people call a coupon: its code, or its name if it has no code of its own.
const called = (coupon) => coupon.code ?? coupon.name;

export { amounts, called, day, dayOfEnd, discount, expired, firstDay, interval, isZero, lastDay, midnight, moment, money, number, offer, plural, symbol, time, until, waits, when };
