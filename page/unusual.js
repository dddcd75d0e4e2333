// Days on which a client's service cost far from what that weekday costs, as the last audit found them.
import { badge, h } from "./dom.js";
import { amount, oneDecimal, things } from "./format.js";
import { sortable } from "./tables.js";

const SHOWN = 15;
const DAY_MS = 86_400_000;

const clientOf = (a) => (a.idle ? "idle, of no client" : a.client || "(not attributed)");
const lastDay = (a) => new Date(Date.parse(a.first_day) + (a.days - 1) * DAY_MS).toISOString().slice(0, 10);
const signed = (number, text) => (number > 0 ? `+${text}` : text);

/// The section; null where the audit did not look. `all`: also what is past the largest; `update` draws anew, `showAll` with all.
export function unusualDays(found, currency, all, update, showAll) {
  if (!found) return null;
  const largest = all ? found.found : found.found.slice(0, SHOWN);  // they come in the order of what they are off by
  return h("section", { key: "unusual" }, h("h2", {}, "Unusual days"), h("p", { class: "soft" }, judged(found, currency)),
    found.found.length === 0 ? found.judged > 0 && h("p", {}, "No day was unusual.")
      : sortable("Unusual days", columns(currency), largest, (a) => [a.idle, a.client, a.provider, a.service, a.first_day].join(" "), update, { parameter: "days" }),
    largest.length < found.found.length && h("p", { class: "after" }, h("button", { type: "button", class: "button", onclick: showAll }, `Show all ${found.found.length}`)));
}

const judged = (found, currency) => `Days that cost ${oneDecimal(found.threshold)} robust standard deviations and ${amount(found.least_amount)} ${currency} more or less than the same weekday in the ${things(found.weeks, "week")} before. `
  + `Of ${found.series} daily series, by client and service, ${found.judged} had the ${things(found.fewest_weeks, "week")} of past that this needs.`
  + (found.undated > 0 ? ` ${amount(found.undated)} ${currency} of lines longer than a day are in none.` : "");

const columns = (currency) => [
  { title: "Client", cell: clientOf, sort: clientOf },
  { title: "Service", cell: (a) => `${a.provider}: ${a.service}`, sort: (a) => `${a.provider}: ${a.service}` },
  { title: "Days", cell: (a) => [a.days === 1 ? a.first_day : `${a.first_day} to ${lastDay(a)}`, a.recent && [" ", badge("recent", "soft")]], sort: (a) => a.first_day },
  { title: `Cost, ${currency}`, number: true, cell: (a) => amount(a.cost), sort: (a) => a.cost },
  { title: "Expected", number: true, cell: (a) => amount(a.expected), sort: (a) => a.expected },
  { title: "Off by", number: true, cell: (a) => badge(signed(a.excess, amount(a.excess)), a.excess > 0 ? "warn" : "good"), sort: (a) => a.excess },
  { title: "Deviations", number: true, cell: (a) => signed(a.deviations, oneDecimal(a.deviations)), sort: (a) => a.deviations },
];
