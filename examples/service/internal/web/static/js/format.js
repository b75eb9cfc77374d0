// Shows what the API sends. Amounts are decimal strings and stay strings: Intl
// formats them exactly, and nothing here calculates.
import { now } from "./clock.js";

// money shows an amount with the decimals that it has: those of some currencies, such
// as the Iraqi dinar, browsers leave out and round.
function money(amount, currency) {
  const decimals = amount.split(".")[1]?.length ?? 0;
  return new Intl.NumberFormat("en", { style: "currency", currency, minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(amount);
}

// symbol is how a currency is written beside an amount.
const symbol = (currency) => new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "narrowSymbol" }).formatToParts(0).find((part) => part.type === "currency").value;

const isZero = (amount) => /^0*(\.0*)?$/.test(amount);

// discount says in a few words what a coupon takes off.
function discount(coupon) {
  const percent = () => `${trimmed(coupon.discountValue)} %`;
  const amount = () => money(coupon.discountValue, coupon.currency);
  switch (coupon.discountType) {
    case "PERCENTAGE": return percent();
    case "FIXED_AMOUNT_PER_UNIT": return `${amount()} each unit`;
    case "FIXED_UNIT_PRICE": return `Each unit ${amount()}`;
    case "CHEAPEST_UNITS": return coupon.units ? `${percent()} of the cheapest ${number(coupon.units)}` : percent();
    case "BUY_X_GET_Y": return coupon.buyQuantity ? `Buy ${number(coupon.buyQuantity)}, get ${number(coupon.getQuantity)} at ${percent()} off` : percent();
    case "TIERED": return coupon.tiers ? plural(coupon.tiers.length, "tier", "tiers") : "Tiers";
    default: return amount();
  }
}

// offer says the same to a customer, of whose coupon only the value is known.
function offer({ discountType, discountValue, currency }) {
  switch (discountType) {
    case "PERCENTAGE": return `${trimmed(discountValue)} % off`;
    case "FIXED_AMOUNT_PER_UNIT": return `${money(discountValue, currency)} off each unit`;
    case "FIXED_UNIT_PRICE": return `Each unit for ${money(discountValue, currency)}`;
    case "CHEAPEST_UNITS": return `${trimmed(discountValue)} % off the cheapest units`;
    case "BUY_X_GET_Y": return `${trimmed(discountValue)} % off further units`;
    case "TIERED": return "The more you buy, the more it takes off";
    default: return `${money(discountValue, currency)} off`;
  }
}

// trimmed drops the zeros behind the decimal point.
const trimmed = (value) => (value.includes(".") ? value.replace(/\.?0+$/, "") : value);

// number shows a count; one beyond a browser's numbers is text, and formatted exactly as well.
const number = (value) => new Intl.NumberFormat("en").format(value);

// day shows an instant as the day that it falls on, in UTC, the location in which
// the service reads dates.
const day = (instant) => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" }).format(new Date(instant));

// time shows an instant as the time of that day, and names the location.
const time = (instant) => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC", timeZoneName: "short" }).format(new Date(instant));

const moment = (instant) => `${day(instant)}, ${time(instant)}`;

// midnight tells whether an instant is where a day begins or ends. Coupons begin and end
// there, unless somebody has told an instant.
const midnight = (instant) => /T00:00:00(\.0+)?Z$/.test(instant);

// lastDay is the last day on which a coupon is valid, as YYYY-MM-DD: expiresAt is
// the first instant at which it no longer is.
const lastDay = (expiresAt) => (expiresAt ? new Date(new Date(expiresAt).getTime() - 1).toISOString().slice(0, 10) : "");

// expired and waits tell whether the time of a coupon is over, or has not come.
const expired = (coupon) => Boolean(coupon.expiresAt) && new Date(coupon.expiresAt) <= now();
const waits = (coupon) => Boolean(coupon.startsAt) && new Date(coupon.startsAt) > now();

// plural counts things; atLeast says that there are more.
const plural = (count, one, many, atLeast = false) => `${number(count)}${atLeast ? "+" : ""} ${count === 1 ? one : many}`;

const intervals = { month: "a month", monthly: "a month", year: "a year", yearly: "a year" };
const interval = (name) => intervals[name] ?? "";

export { day, discount, expired, interval, isZero, lastDay, midnight, moment, money, number, offer, plural, symbol, time, trimmed, waits };
