// Budgets, as every view shows them: those of a queue's period and those of the calendar month are one list with the same columns.
import { badge, h, scroll, table } from "./dom.js";
import { money, percent, when } from "./format.js";

const AT_LIMIT = { refuse: "new jobs are refused", approve: "new jobs need approval", warn: "an alert" };

/// All budgets that the person sees: `monthly` is the answer of /v1/budgets.
export function budgetsOf(board, monthly) {
  const ofQueues = board.queues.filter((q) => q.budget).map((q) => ({
    key: `queue ${q.path}`, name: q.path, of: q.path, queue: q.path, spent: q.budget_spent, whole: q.budget, promised: null,
    period: q.budget_renewed ? `until ${when(q.budget_renewed)}` : "not renewed",
    outlook: q.budget_runs_out ? badge(`used up ${when(q.budget_runs_out)}`, "warn") : badge("lasts", "good"), atLimit: "its jobs wait",
  }));
  const ofMonth = monthly.map((b) => ({
    key: `month ${b.name}`, name: b.name, of: `${b.queue || "all clients"}${b.project ? `, project ${b.project}` : ""}`, queue: b.queue,
    spent: b.spent, whole: b.per_month, promised: b.promised, period: b.month,
    outlook: b.forecast_over ? badge("over by the end", "bad") : badge("lasts", "good"), atLimit: AT_LIMIT[b.at_limit] ?? b.at_limit,
  }));
  return [...ofQueues, ...ofMonth];
}

/// A queue's tightest budget in one cell; its own or one above it.
export function budgetCell(budgets, path) {
  const all = budgets.filter((b) => path === b.queue || path.startsWith(`${b.queue}/`) || b.queue === "");
  if (all.length === 0) return "–";
  const tightest = all.reduce((a, b) => (shareOf(b) > shareOf(a) ? b : a));
  return used(tightest, false);
}

export const shareOf = (b) => (Number(b.whole.amount) > 0 ? Number(b.spent.amount) / Number(b.whole.amount) : 1);

/// A bar and the share; with `whole` the amount, too.
export function used(b, whole = true) {
  const share = shareOf(b);
  const kind = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good";
  return h("span", { class: "used", title: `${money(b.spent)} of ${money(b.whole)}, ${b.name}` }, h("span", { class: "bar", role: "img", "aria-label": `${percent(share)} spent` }, h("i", { class: kind, style: { width: `${Math.min(100, share * 100)}%` } })),
    " ", badge(percent(share), kind), whole && ` of ${money(b.whole)}`);
}

export function budgetTable(title, budgets) {
  return scroll(title, table(title, [
    { title: "Budget", cell: (b) => b.name },
    { title: "Of", cell: (b) => b.of },
    { title: "Period", cell: (b) => b.period },
    { title: "Spent", number: true, cell: (b) => used(b) },
    { title: "Still promised", number: true, cell: (b) => money(b.promised) },
    { title: "Outlook", cell: (b) => b.outlook },
    { title: "At its limit", cell: (b) => b.atLimit },
  ], budgets, (b) => b.key));
}
