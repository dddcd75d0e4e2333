// Money per hour now, what is paid for and not used, and how it went in the last hours.
import { get } from "./api.js";
import { jobsIn } from "./arrays.js";
import { budgetCell, budgetsOf } from "./budgets.js";
import { choice, curve } from "./chart.js";
import { badge, code, empty, figure, fill, h, scroll, table } from "./dom.js";
import { amount, count, gpus, gpuWords, money, percent, things, when, fullTime } from "./format.js";
import { live, may } from "./live.js";
import { keep, kept } from "./url.js";

const HOURS = { 1: "1 h", 6: "6 h", 24: "24 h", 168: "7 d" };
const SPENDING_EVERY_MS = 15_000;
const PIECES = 120;
const MOST_PIECES = 500;

export function mount(main) {
  let hours = kept("hours", "6") in HOURS ? kept("hours", "6") : "6";
  let budgets = [];
  let asked = 0;
  live.wantsGpus = true;
  const figures = h("section", { class: "figures", "aria-label": "Now" });
  const spending = curve("Cost of running jobs per hour");
  const title = h("h2", {}, "Cost of running jobs");
  const range = h("div");
  const young = h("p", { class: "soft", hidden: true }, "The daemon has just begun: the chart comes within a minute.");
  const queues = h("section");
  const activity = h("section");
  main.append(h("h1", { tabindex: "-1" }, "Overview"), figures,
    h("section", {}, h("div", { class: "heading" }, title, range), young, spending.element),
    h("div", { class: "columns" }, queues, activity));
  const choose = () => fill(range, choice("Time shown", HOURS, hours, (value) => {
    hours = value;
    keep({ hours: value === "6" ? "" : value });
    ask();
  }));
  choose();

  async function ask() {
    asked = Date.now();
    const mine = hours;
    // There is nothing to show of the time before the daemon was: the pieces are of the time since.
    const begins = Date.parse(live.board.begins);
    const age = Math.max(1, (Date.parse(live.board.now) - begins) / 1000);
    const back = Math.min(Number(hours), Math.ceil(age / 3600));
    const pieces = Math.min(MOST_PIECES, Math.ceil((PIECES * back * 3600) / Math.min(age, back * 3600)));
    const [answer, monthly] = await Promise.all([get(`/v1/spending?hours=${back}&pieces=${pieces}`), may("listBudgets") ? get("/v1/budgets") : null]);
    if (mine !== hours || !live.board) return;
    budgets = monthly?.budgets ?? [];
    drawQueues();
    title.textContent = `Cost of running jobs, ${answer.currency} per hour`;
    const perHour = 3600 / answer.piece_s;
    const shown = answer.pieces.filter((p) => Date.parse(p.from) >= begins);
    young.hidden = shown.length > 1;
    spending.element.hidden = shown.length <= 1;
    if (shown.length > 1) spending.set(shown.map((p) => Date.parse(p.from) / 1000), shown.map((p) => Number(p.cost) * perHour), (v) => amount(v));
  }

  const drawQueues = () => fill(queues, h("h2", {}, "Queues"), queueTable(live.board, budgetsOf(live.board, budgets)));

  return {
    update() {
      if (Date.now() - asked > SPENDING_EVERY_MS) ask();
      const { board } = live;
      fill(figures, nowFigures(board));
      drawQueues();
      fill(activity, h("h2", {}, "Last events"), eventList(live.events));
    },
    unmount: () => spending.close(),
  };
}

/// Jobs in that state, an array's each.
const jobsWaiting = (board, state) => board.waiting.reduce((sum, j) => sum + jobsIn(j, state), 0);

function nowFigures(board) {
  // One that is off is paid for where it is owned or reserved, as the board's money has it.
  const up = board.nodes.filter((n) => n.state !== "down" && (n.state !== "off" || ["owned", "reserved"].includes(n.market)));
  const total = up.reduce((sum, n) => sum + n.gpus, 0);
  const held = up.every((n) => n.gpu_milli_held) ? up.reduce((sum, n) => sum + n.gpu_milli_held.reduce((a, b) => a + b, 0), 0) : null;
  const m = board.money;
  const waiting = jobsWaiting(board, "waiting");
  const approvals = jobsWaiting(board, "needs-approval");
  const onHold = jobsWaiting(board, "on-hold");
  const idle = m.idle_per_hour === null ? null : Number(m.idle_per_hour);
  const leaving = board.running.filter((j) => j.state === "leaving").length;
  return [
    figure(board.me.sees_all ? "Running jobs cost" : "Your jobs cost", amount(m.jobs_per_hour), `${m.currency}/h`,
      m.fleet_per_hour !== null ? `of ${amount(m.fleet_per_hour)} the fleet costs` : "at the prices of their machines"),
    idle !== null && figure("Idle", amount(idle), `${m.currency}/h`,
      idle > 0 ? `${gpuWords(total * 1000 - held)} free; ${count(idle * 730)} ${m.currency} a month` : "every GPU is held", idle > 0 ? "warn" : "good"),
    heldButIdle(board),
    figure("GPUs held", held === null ? "–" : gpus(held), `of ${count(total)}`, held === null ? "other clients' use is not shown" : total ? percent(held / 1000 / total) : "no machine is up"),
    figure("Running", count(board.running.length) + (board.more_running ? "+" : ""), board.running.length === 1 ? "job" : "jobs", leaving > 0 ? `${leaving} stopping` : ""),
    figure("Waiting", count(waiting) + (board.more_waiting ? "+" : ""), waiting === 1 ? "job" : "jobs",
      approvals > 0 ? h("a", { href: "#/jobs?state=needs-approval" }, `${things(approvals, "job")} to approve`)
        : onHold > 0 ? `and ${onHold} on hold` : waiting > 0 ? h("a", { href: "#/jobs?state=waiting" }, "why they wait") : ""),
  ];
}

const IDLE_BELOW = 0.05;

/// Held by jobs that do nothing with them, of the GPUs that are measured.
function heldButIdle(board) {
  let measured = 0;
  let idle = 0;
  let perHour = 0;
  let simulated = false;
  for (const node of board.nodes)
    for (let gpu = 0; gpu < node.gpus; ++gpu) {
      const held = node.gpu_milli_held?.[gpu] ?? 0;
      const sample = live.gpus.get(`${node.name}/${gpu}`);
      if (held === 0 || !sample || sample.busy === null) continue;
      ++measured;
      simulated ||= sample.simulated;
      if (sample.busy >= IDLE_BELOW) continue;
      ++idle;
      perHour += (Number(node.per_hour.amount) / node.gpus) * (held / 1000);
    }
  if (!board.me.sees_all) return null;
  if (measured === 0) return figure("Held but idle", "–", "", "GPU load is not measured");
  return figure("Held but idle", amount(perHour), `${board.money.currency}/h`,
    `${count(idle)} of ${things(measured, "GPU")} below ${percent(IDLE_BELOW)}${simulated ? ", simulated" : ""}`, idle > 0 ? "warn" : "good");
}

function queueTable(board, budgets) {
  if (board.queues.length === 0) return empty("You see no queue", "An operator gives roles in a client: its queues are then listed here.");
  return scroll("Queues", table("Queues", [
    { title: "Queue", cell: (q) => h("a", { href: `#/jobs?queue=${encodeURIComponent(q.path)}` }, q.path) },
    { title: "GPUs held", number: true, cell: (q) => gpus(q.held_gpu_milli) },
    { title: "Guaranteed", number: true, cell: (q) => (q.deserved_gpu_milli === null ? "–" : gpus(q.deserved_gpu_milli)) },
    { title: "Running", number: true, cell: (q) => count(q.running) },
    { title: "Waiting", number: true, cell: (q) => count(q.waiting) },
    { title: "Cost so far", number: true, cell: (q) => money(q.cost) },
    budgets.length > 0 && { title: "Budget", number: true, cell: (q) => budgetCell(budgets, q.path) },
  ].filter(Boolean), board.queues, (q) => q.path));
}

const KINDS = {
  "job.submitted": ["submitted", "soft"], "job.started": ["started", "good"], "job.ended": ["ended", "soft"], "job.failed": ["failed", "bad"],
  "job.evicted": ["preempted", "warn"], "job.not-retried": ["not tried again", "bad"], "job.held": ["on hold", "warn"], "job.released": ["released", "soft"], "job.approved": ["approved", "good"],
  "job.refused": ["refused", "bad"], "node.up": ["up", "good"], "node.draining": ["draining", "warn"], "node.down": ["down", "bad"],
  "node.added": ["added", "good"], "node.gone": ["gone", "warn"], "node.refused": ["refused", "bad"],
  "job.needs-approval": ["needs approval", "warn"], "job.checkpoint": ["saved its work", "soft"], "node.off": ["off", "soft"], "node.on": ["on", "good"],
  "alert.fired": ["alert", "bad"], "alert.ended": ["alert over", "good"],
};

export function eventList(events) {
  if (events.length === 0) return empty("No event yet", h("p", {}, "Submit a job: ", code("stint submit --queue QUEUE --gpus 1 -- COMMAND")));
  return h("ol", { class: "events" }, events.slice(0, 14).map((e) => {
    const [word, kind] = KINDS[e.kind] ?? [e.kind.replace(/^\w+\./, ""), "soft"];
    return h("li", { key: e.id }, h("time", { datetime: e.at, title: fullTime(e.at) }, when(e.at)),
      h("span", {}, e.job ? h("a", { href: `#/jobs/${e.job}` }, `job ${e.job}`) : e.node, " ", badge(word, kind),
        e.detail ? h("span", { class: "soft" }, " ", e.detail) : null));
  }));
}
