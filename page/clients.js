// Clients: what their queues hold and have cost, their budgets, and jobs that wait for approval.
import { get, post } from "./api.js";
import { bills } from "./bills.js";
import { budgetTable, budgetsOf } from "./budgets.js";
import { empty, fill, h, scroll, table } from "./dom.js";
import { count, gpus, money, sentences, since } from "./format.js";
import { actions } from "./jobs.js";
import { live, may } from "./live.js";
import { statements } from "./statements.js";

const AGAIN_MS = 20_000;

export function mount(main) {
  let budgets = [];
  let approvals = [];
  let asked = 0;
  let newest = -1;
  const list = h("div");
  const month = bills();
  const pages = statements();
  main.append(h("h1", { tabindex: "-1" }, "Clients"), list, month.place, pages.place);

  async function ask() {
    asked = Date.now();
    const [b, a] = await Promise.all([may("listBudgets") ? get("/v1/budgets") : null, may("listApprovals") ? get("/v1/approvals") : null, month.ask(), pages.ask()]);
    budgets = b?.budgets ?? [];
    approvals = a?.jobs ?? [];
    draw();
  }

  function draw() {
    const tops = live.board.queues.filter((q) => q.parent === "");
    if (tops.length === 0) return fill(list, empty("You see no client", "An operator gives roles in a client."));
    const all = budgetsOf(live.board, budgets);
    const spanning = all.filter((b) => !tops.some((top) => isOf(b.queue, top.path)));
    fill(list,
      approvals.length > 0 && h("section", { key: "approvals" }, h("h2", {}, "Waiting for approval"), approvalTable()),
      spanning.length > 0 && h("section", { key: "budgets" }, h("h2", {}, "Budgets over all clients"), budgetTable("Budgets over all clients", spanning)),
      tops.map((top) => {
        const own = all.filter((b) => isOf(b.queue, top.path));
        return h("section", { key: `client ${top.path}` }, h("h2", {}, top.path), queueTable(top), own.length > 0 && budgetTable(`Budgets of ${top.path}`, own));
      }));
  }

  function approvalTable() {
    return scroll("Waiting for approval", table("Jobs that wait for approval", [
      { title: "Job", cell: (j) => h("a", { href: `#/jobs/${j.id}` }, j.id) },
      { title: "Name", cell: (j) => h("span", { class: "name" }, j.name) },
      { title: "Queue", cell: (j) => j.queue },
      { title: "Asked by", cell: (j) => j.approval?.asked_by ?? j.user },
      { title: "Waited", number: true, cell: (j) => since(j.submitted, live.board.now) },
      { title: "Can cost", number: true, cell: (j) => money(j.approval?.most_cost) },
      { title: "Why", class: "why", cell: (j) => sentences(j.approval?.why ?? "") },
      { title: "Actions", cell: (j) => actions(live.board.waiting.find((w) => w.id === j.id) ?? {}) },
    ], approvals, (j) => j.id));
  }

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

const isOf = (queue, top) => queue === top || queue.startsWith(`${top}/`);

function queueTable(top) {
  return scroll(`Queues of ${top.path}`, table(`Queues of ${top.path}`, [
    { title: "Queue", cell: (q) => q.path },
    { title: "Cost so far", number: true, cell: (q) => money(q.cost) },
    { title: "GPUs held", number: true, cell: (q) => gpus(q.held_gpu_milli) },
    { title: "Guaranteed", number: true, cell: (q) => (q.deserved_gpu_milli === null ? "–" : gpus(q.deserved_gpu_milli)) },
    { title: "Running", number: true, cell: (q) => count(q.running) },
    { title: "Waiting", number: true, cell: (q) => count(q.waiting) },
  ], live.board.queues.filter((q) => isOf(q.path, top.path)), (q) => q.path));
}
