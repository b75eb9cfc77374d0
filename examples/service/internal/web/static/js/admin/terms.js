// The terms of a coupon beyond those of the specification: how each of them is read from the
// form and written into it. Values are as the API has them; what is empty is null.

const decimal = (text) => text.trim().replace(",", ".");
const lines = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
const whole = (text) => (/^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text); // what is not a number is refused by the API
const orNull = (list) => (list.length === 0 ? null : list);

// forms are the ways in which a value is written in one control.
const forms = {
  text: { read: (text) => text.trim() || null, write: (value) => value ?? "" },
  decimal: { read: (text) => decimal(text) || null, write: (value) => value ?? "" },
  whole: { read: (text) => (text.trim() === "" ? null : whole(text.trim())), write: (value) => value ?? "" },
  list: { read: (text) => orNull(lines(text)), write: (value) => (value ?? []).join("\n") },
};

// fixed are the terms that never change after creation, beside type and value.
const fixed = {
  currency: "text", lane: "text", discountValues: "amounts", maxDiscount: "decimal", maxDiscounts: "amounts", maxUnits: "whole", units: "whole",
  buyQuantity: "whole", getQuantity: "whole", maxApplications: "whole", tierBasis: "text", refundPolicy: "text",
};

// changeable are the terms that can be edited.
const changeable = {
  kinds: "list", categories: "list", excludedCategories: "list", channels: "list", countries: "list", group: "text", minQuantity: "whole", maxQuantity: "whole", budget: "amounts", minPurchases: "amounts", maxPurchase: "decimal", maxPurchases: "amounts",
};

// further amounts are in other currencies than the coupon's. The form has them apart, and the API in one
// field with the coupon's own amount.
const inOthers = { discountValue: "discountValues", maxDiscount: "maxDiscounts", minPurchase: "minPurchases", maxPurchase: "maxPurchases" };

// withOwn are the amounts by currency that the form has in one list with the coupon's own amount.
const withOwn = new Set(["budget", "contains.minPurchase"]);

// apart returns the fields of a coupon of the API as the form has them.
function apart(coupon) {
  const fields = { ...coupon };
  for (const [name, others] of Object.entries(inOthers)) {
    if (typeof coupon[name] !== "object" || coupon[name] === null) continue;
    const { [coupon.currency]: own, ...rest } = coupon[name];
    fields[name] = own ?? null;
    if (Object.keys(rest).length > 0) fields[others] = rest;
  }
  if (typeof coupon.budget === "string") fields.budget = { [coupon.currency]: coupon.budget };
  if (typeof coupon.contains?.minPurchase === "string") fields.contains = { ...coupon.contains, minPurchase: { [coupon.currency]: coupon.contains.minPurchase } };
  return fields;
}

// joined returns the fields of the form as the API has them. all are those from which missing amounts
// come.
function joined(fields, currency, all = fields) {
  const terms = { ...fields };
  for (const [name, others] of Object.entries(inOthers)) {
    if (!(name in fields) && !(others in fields)) continue;
    const own = all[name] ?? null;
    terms[name] = all[others] ? { ...(own !== null && { [currency]: own }), ...all[others] } : own;
    if (terms[name] === null && !(name in fields && fields[name] === null)) delete terms[name];
    delete terms[others];
  }
  return terms;
}

// scopeFields are the fields of a scope beside that of the coupon, in the order of the API.
const scopeFields = { appliesTo: "text", planIds: "picked", deviceIds: "picked", accessoryIds: "picked", kinds: "list", categories: "list", excludedItemIds: "picked", excludedCategories: "list" };
const tags = ["any", "all", "none"];

// used tells whether a control is in a part of the form that is shown.
const used = (control) => control.closest("[hidden]") === null;

// further returns what reads and writes these terms of a form. pickers are by field, lists by
// name.
function further(form, pickers, lists) {
  const inputs = form.elements;
  const read = (name, how) => (how === "amounts" ? amounts(name) : used(inputs[name]) ? forms[how].read(inputs[name].value) : null);
  const write = (name, how, value) => {
    if (how === "amounts") lists[name].write(value || !withOwn.has(name) ? Object.entries(value ?? {}).map(([currency, amount]) => ({ currency, amount })) : [{}]);
    else inputs[name].value = forms[how].write(value);
  };
  const all = (kinds, call) => Object.entries(kinds).map(([name, how]) => [name, call(name, how)]);
  const given = (entries) => Object.fromEntries(entries.filter(([, value]) => value !== null && value?.length !== 0));

  // scope reads one of the scopes beside that of the coupon.
  function scope(part) {
    if (!used(inputs[`${part}.appliesTo`]) || inputs[`${part}.appliesTo`].value === "") return null;
    const picked = (name) => (isShown(name) ? pickers[name].value() : []);
    return given(all(scopeFields, (name, how) => (how === "picked" ? picked(`${part}.${name}`) : read(`${part}.${name}`, how))));
  }

  function writeScope(part, value) {
    for (const [name, how] of Object.entries(scopeFields)) {
      if (how === "picked") pickers[`${part}.${name}`].set((value?.[name] ?? []).map((id) => ({ id, name: id })));
      else write(`${part}.${name}`, how, value?.[name]);
    }
  }

  function contains() {
    const required = scope("contains");
    const minPurchase = amounts("contains.minPurchase");
    return required && { ...required, quantity: read("contains.quantity", "whole") ?? 1, ...(minPurchase && { minPurchase }) };
  }

  const isShown = (name) => form.querySelector(`[data-field="${name}"]`).closest("[hidden]") === null;

  // amounts reads amounts in several currencies.
  function amounts(name) {
    const entries = isShown(name) ? lists[name].read() : [];
    return entries.length === 0 ? null : Object.fromEntries(entries.map(({ currency, amount }) => [currency, decimal(amount)]));
  }

  function tiers() {
    if (!isShown("tiers")) return null;
    const entries = lists.tiers.read();
    return orNull(entries.map((entry) => Object.fromEntries(Object.entries(entry).map(([name, text]) => [name, decimal(text)]))));
  }

  function schedule() {
    const timeZone = inputs["schedule.timeZone"].value.trim();
    const hours = lists["schedule.hours"].read().map(({ day, from, until }) => ({ day, from, until }));
    if (timeZone === "" && hours.length === 0) return null;
    return { ...(timeZone && { timeZone }), ...(hours.length > 0 && { hours }) };
  }

  function customerTags() {
    const found = given(tags.map((name) => [name, forms.list.read(inputs[`customerTags.${name}`].value)]));
    return Object.keys(found).length === 0 ? null : found;
  }

  const periodLimits = () => lists.periodLimits.read().map(({ per, period, timeZone, maxUses }) => given([["per", per ?? null], ["period", period ?? null], ["timeZone", timeZone ?? null], ["maxUses", maxUses === undefined ? null : whole(maxUses)]]));

  // writers put terms of their own form into the form.
  const writers = {
    tiers: (value) => lists.tiers.write(value ?? [{}]),
    schedule(value) {
      inputs["schedule.timeZone"].value = value?.timeZone ?? "";
      lists["schedule.hours"].write(value?.hours ?? []);
    },
    customerTags(value) {
      for (const name of tags) inputs[`customerTags.${name}`].value = (value?.[name] ?? []).join("\n");
    },
    periodLimits: (value) => lists.periodLimits.write(value ?? []),
    automatic(value) { inputs.automatic.checked = value === true; },
    firstOrder(value) { inputs.firstOrder.checked = value === true; },
    buys: (value) => writeScope("buys", value),
    contains(value) {
      writeScope("contains", value);
      inputs["contains.quantity"].value = value?.quantity ?? "";
      write("contains.minPurchase", "amounts", value?.minPurchase);
    },
    containsNot: (value) => writeScope("containsNot", value),
  };
  for (const [name, how] of Object.entries({ ...fixed, ...changeable })) writers[name] = (value) => write(name, how, value);

  return {
    // discount returns the terms of the discount that are given.
    discount: () => given([...all(fixed, read), ["buys", scope("buys")], ["tiers", tiers()]]),
    // conditions returns all terms that can be edited.
    conditions: () => ({
      ...Object.fromEntries(all(changeable, read)), customerTags: customerTags(), firstOrder: inputs.firstOrder.checked, automatic: inputs.automatic.checked, schedule: schedule(), periodLimits: periodLimits(), contains: contains(), containsNot: scope("containsNot"),
    }),
    // writes tells whether a term is one of these.
    writes: (name) => name in writers,
    write: (name, value) => writers[name](value),
    // fill shows all terms of a coupon.
    fill(coupon) {
      for (const [name, put] of Object.entries(writers)) put(coupon[name]);
      inputs.currency.value = coupon.currency ?? "EUR";
      inputs.tierBasis.value = coupon.tierBasis ?? "AMOUNT";
      for (const details of form.querySelectorAll("details")) details.open = [...details.querySelectorAll('.input, .textarea, .chip, .select[name$=".appliesTo"]')].some((each) => each.matches(".chip") || each.value !== "");
    },
  };
}

export { apart, decimal, further, inOthers, joined, withOwn };
