// Clients: what their queues hold and have cost, their budgets, and jobs that wait for somebody's approval.
import { get, post } from "./api.js";
import { bills } from "./bills.js";
import { action, badge, empty, fill, h, say, scroll, table } from "./dom.js";
import { count, gpus, money, percent, since, when } from "./format.js";
import { live, may, refresh } from "./live.js";

const AGAIN_MS = 20_000;

export function mount(main) {
  let budgets = [];
  let approvals = [];
  let asked = 0;
  let newest = -1;
  const list = h("div");
  const month = bills();
  main.append(h("h1", { tabindex: "-1" }, "Clients"), list, month.place);

  async function ask() {
    asked = Date.now();
    const [b, a] = await Promise.all([may("listBudgets") ? get("/v1/budgets") : null, may("listApprovals") ? get("/v1/approvals") : null, month.ask()]);
    budgets = b?.budgets ?? [];
    approvals = a?.jobs ?? [];
    draw();
  }

  function draw() {
    const tops = live.board.queues.filter((q) => q.parent === "");
    if (tops.length === 0) return fill(list, empty("No client is yours", "An operator gives roles in a client."));
    const spanning = budgets.filter((b) => !tops.some((top) => isOf(b.queue, top.path)));
    fill(list,
      approvals.length > 0 && h("section", { key: "approvals" }, h("h2", {}, "Waiting for approval"), approvalTable()),
      spanning.length > 0 && h("section", { key: "budgets" }, h("h2", {}, "Budgets over all clients"), budgetTable(spanning)),
      tops.map((top) => {
        const own = budgets.filter((b) => isOf(b.queue, top.path));
        return h("section", { key: `client ${top.path}` }, h("h2", {}, top.path), queueTable(top), own.length > 0 && budgetTable(own));
      }));
  }

  function approvalTable() {
    return scroll("Waiting for approval", table("Jobs that wait for approval", [
      { title: "Job", cell: (j) => h("a", { href: `#/jobs/${j.id}` }, j.id) },
      { title: "Name", cell: (j) => h("span", { class: "name" }, j.name) },
      { title: "Queue", cell: (j) => j.queue },
      { title: "Asked by", cell: (j) => j.approval?.asked_by ?? j.user },
      { title: "Waits for", number: true, cell: (j) => since(j.submitted, live.board.now) },
      { title: "May cost", number: true, cell: (j) => money(j.approval?.most_cost) },
      { title: "Why", class: "why", cell: (j) => j.approval?.why ?? "" },
      { title: "Do", cell: (j) => (mayApprove(j) ? h("span", { class: "actions" }, decide(j, "approve", "Approve", "is approved"), decide(j, "refuse", "Refuse", "is refused")) : "") },
    ], approvals, (j) => j.id));
  }

  const decide = (job, verb, label, done) => action(label, async () => {
    await post(`/v1/jobs/${job.id}/${verb}`, {});
    say(`Job ${job.id} ${done}.`);
    await Promise.all([ask(), refresh()]);
  }, { ask: verb === "refuse" ? `Refuse job ${job.id}, ${job.name}? It ends.` : null, kind: verb === "approve" ? "primary" : "danger" });

  return {
    update() {
      const told = live.events[0]?.id;
      if (asked === 0 || (told !== newest && Date.now() - asked > 2_000) || Date.now() - asked > AGAIN_MS) {
        newest = told;
        ask();
      } else {
        draw();
      }
    },
  };
}

/// One's own job is for somebody else to approve.
const mayApprove = (job) => may("approveJob") && (job.approval?.asked_by ?? job.user) !== live.board.me.user;

const isOf = (queue, top) => queue === top || queue.startsWith(`${top}/`);

function queueTable(top) {
  return scroll(`Queues of ${top.path}`, table(`Queues of ${top.path}`, [
    { title: "Queue", cell: (q) => q.path },
    { title: "Cost so far", number: true, cell: (q) => money(q.cost) },
    { title: "Its budget", number: true, cell: (q) => (q.budget ? used(q.budget_spent, q.budget) : "none") },
    { title: "Lasts until", number: true, cell: (q) => (q.budget ? (q.budget_runs_out ? when(q.budget_runs_out) : "its end") : "–") },
    { title: "GPUs held", number: true, cell: (q) => gpus(q.held_gpu_milli) },
    { title: "of its own", number: true, cell: (q) => (q.deserved_gpu_milli === null ? "–" : gpus(q.deserved_gpu_milli)) },
    { title: "Running", number: true, cell: (q) => count(q.running) },
    { title: "Waiting", number: true, cell: (q) => count(q.waiting) },
  ], live.board.queues.filter((q) => isOf(q.path, top.path)), (q) => q.path));
}

const AT_LIMIT = { refuse: "new jobs are refused", approve: "new jobs need approval", warn: "an alert" };

function budgetTable(budgets) {
  return scroll(`Budgets of ${budgets[0].queue || "all"}`, table("Budgets", [
    { title: "Budget", cell: (b) => b.name },
    { title: "Of", cell: (b) => [b.queue || "all clients", b.project ? ` · project ${b.project}` : ""] },
    { title: "Spent this month", number: true, cell: (b) => used(b.spent, b.per_month) },
    { title: "Promised to running jobs", number: true, cell: (b) => money(b.promised) },
    { title: "Forecast", cell: (b) => (b.forecast_over ? badge("over by the end", "bad") : badge("within", "good")) },
    { title: "At its limit", cell: (b) => AT_LIMIT[b.at_limit] ?? b.at_limit },
  ], budgets, (b) => b.name));
}

/// A bar, the share and the whole.
function used(spent, whole) {
  const share = Number(whole.amount) > 0 ? Number(spent.amount) / Number(whole.amount) : 1;
  const kind = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good";
  return [h("span", { class: "bar", role: "img", "aria-label": `${percent(share)} spent` }, h("i", { class: kind, style: { width: `${Math.min(100, share * 100)}%` } })),
    " ", badge(percent(share), kind), ` of ${money(whole)}`];
}
