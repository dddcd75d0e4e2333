// Money per hour now, what is paid for and not used, and how it went in the last hours.
import { get } from "./api.js";
import { choice, curve } from "./chart.js";
import { badge, code, empty, figure, fill, h, table } from "./dom.js";
import { amount, count, gpus, money, percent, when, fullTime } from "./format.js";
import { live } from "./live.js";

const HOURS = { 1: "1 h", 6: "6 h", 24: "24 h", 168: "7 d" };
const SPENDING_EVERY_MS = 15_000;

export function mount(main) {
  let hours = "6";
  live.wantsGpus = true;
  let asked = 0;
  const figures = h("section", { class: "figures", "aria-label": "Now" });
  const spending = curve("Money per hour");
  const range = h("div");
  const queues = h("section");
  const activity = h("section");
  main.append(h("h1", { tabindex: "-1" }, "Overview"), figures,
    h("section", {}, h("div", { class: "heading" }, h("h2", {}, "What runs costs, per hour"), range), spending.element),
    h("div", { class: "columns" }, queues, activity));
  const choose = () => fill(range, choice("Time shown", HOURS, hours, (value) => {
    hours = value;
    ask();
  }));
  choose();

  async function ask() {
    asked = Date.now();
    const mine = hours;
    const answer = await get(`/v1/spending?hours=${hours}&pieces=120`);
    if (mine !== hours) return;
    const perHour = 3600 / answer.piece_s;
    spending.set(answer.pieces.map((p) => Date.parse(p.from) / 1000), answer.pieces.map((p) => Number(p.cost) * perHour), (v) => amount(v));
  }

  return {
    update() {
      if (Date.now() - asked > SPENDING_EVERY_MS) ask();
      const { board } = live;
      fill(figures, nowFigures(board));
      fill(queues, h("h2", {}, "Queues"), queueTable(board));
      fill(activity, h("h2", {}, "Last events"), eventList(live.events));
    },
    unmount: () => spending.close(),
  };
}

function nowFigures(board) {
  // One that is off is paid for where it is owned or reserved, as the board's money has it.
  const up = board.nodes.filter((n) => n.state !== "down" && (n.state !== "off" || ["owned", "reserved"].includes(n.market)));
  const total = up.reduce((sum, n) => sum + n.gpus, 0);
  const held = up.every((n) => n.gpu_milli_held) ? up.reduce((sum, n) => sum + n.gpu_milli_held.reduce((a, b) => a + b, 0), 0) : null;
  const m = board.money;
  const running = board.running.length;
  const waiting = board.waiting.filter((j) => j.state === "waiting").length;
  const heldBack = board.waiting.length - waiting;
  const idle = m.idle_per_hour === null ? null : Number(m.idle_per_hour);
  return [
    figure(board.me.sees_all ? "Runs cost now" : "Your jobs cost now", amount(m.jobs_per_hour), `${m.currency}/h`,
      m.fleet_per_hour !== null ? `of ${amount(m.fleet_per_hour)} paid` : "at the prices of their machines"),
    idle !== null && figure("Held by nobody", amount(idle), `${m.currency}/h`,
      idle > 0 ? `${gpus(total * 1000 - held)} GPUs; ${count(idle * 730)} a month` : "every GPU is held", idle > 0 ? "warn" : "good"),
    heldButIdle(board),
    figure("GPUs held", held === null ? "–" : gpus(held), `of ${count(total)}`, held === null ? "how busy others keep them is not shown" : total ? percent(held / 1000 / total) : "no machine is up"),
    figure("Jobs running", count(running) + (board.more_running ? "+" : ""), "", board.running.some((j) => j.state === "leaving") ? "some are leaving" : ""),
    figure("Jobs waiting", count(waiting) + (board.more_waiting ? "+" : ""), "", heldBack > 0 ? `and ${heldBack} held back` : waiting > 0 ? h("a", { href: "#/jobs" }, "why they wait") : "nobody waits"),
  ];
}

const IDLE_BELOW = 0.05;

/// Held by somebody and doing nothing, of the GPUs that are measured.
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
  if (measured === 0) return figure("Held, not used", "–", "", "how busy GPUs are is not measured");
  return figure("Held, not used", amount(perHour), `${board.money.currency}/h`,
    `${count(idle)} of ${count(measured)} GPUs below ${percent(IDLE_BELOW)}${simulated ? ", simulated" : ""}`, idle > 0 ? "warn" : "good");
}

function queueTable(board) {
  if (board.queues.length === 0) return empty("No queue is yours", "An operator gives roles in a client: its queues are then listed here.");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Queues" }, table("Queues", [
    { title: "Queue", cell: (q) => q.path },
    { title: "GPUs held", number: true, cell: (q) => gpus(q.held_gpu_milli) },
    { title: "of its own", number: true, cell: (q) => (q.deserved_gpu_milli === null ? "–" : gpus(q.deserved_gpu_milli)) },
    { title: "Running", number: true, cell: (q) => count(q.running) },
    { title: "Waiting", number: true, cell: (q) => count(q.waiting) },
    { title: "Cost so far", number: true, cell: (q) => money(q.cost) },
  ], board.queues, (q) => q.path));
}

const KINDS = {
  "job.submitted": ["submitted", "soft"], "job.started": ["started", "good"], "job.ended": ["ended", "soft"], "job.failed": ["failed", "bad"],
  "job.evicted": ["sent away", "warn"], "job.held": ["held", "warn"], "job.released": ["released", "soft"],
  "node.up": ["up", "good"], "node.draining": ["draining", "warn"], "node.down": ["down", "bad"],
};

export function eventList(events) {
  if (events.length === 0) return empty("Nothing has happened yet", h("p", {}, "Submit a job: ", code("stint submit --queue QUEUE --gpus 1 -- COMMAND")));
  return h("ol", { class: "events" }, events.slice(0, 14).map((e) => {
    const [word, kind] = KINDS[e.kind] ?? [e.kind, "soft"];
    return h("li", { key: e.id }, h("time", { datetime: e.at, title: fullTime(e.at) }, when(e.at)),
      h("span", {}, e.job ? h("a", { href: `#/jobs/${e.job}` }, `job ${e.job}`) : e.node, " ", badge(word, kind),
        e.detail ? h("span", { class: "soft" }, " ", e.detail) : null));
  }));
}
