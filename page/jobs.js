// What runs, what waits and why, and what has ended; with what may be done about it.
import { get, post } from "./api.js";
import { choice } from "./chart.js";
import { action, code, empty, fill, h, say, scroll, state, table } from "./dom.js";
import { count, fullTime, gpus, money, since, span, when } from "./format.js";
import { live, refresh } from "./live.js";

const WHICH = { active: "Active", ended: "Ended" };
const PAGE = 100;
const WHYS = 20;
const ROWS = 100;

export function mount(main) {
  let which = "active";
  let words = "";
  let ended = null;
  let next = null;
  let all = false;  // rows beyond the first ROWS, too
  const tools = h("div", { class: "filters" });
  const search = h("input", { type: "search", size: 26, placeholder: "Name, user, queue, number", "aria-label": "Show jobs of this name, user, queue or number", oninput: () => { words = search.value.trim().toLowerCase(); update(); } });
  const lists = h("div");
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Jobs"), h("div", { class: "filters" }, search, tools)), lists);
  live.whys = WHYS;

  const matches = (job) => !words || [job.name, job.user, job.queue, String(job.id)].some((t) => t.toLowerCase().includes(words));

  async function more() {
    const page = await get(`/v1/jobs?state=ended&limit=${PAGE}${next ? `&cursor=${next}` : ""}`);
    ended = [...(ended ?? []), ...page.jobs];
    next = page.next;
    update();
  }

  function update() {
    const { board } = live;
    if (!board) return;
    fill(tools, choice("Which jobs", WHICH, which, (value) => {
      which = value;
      ended = next = null;
      if (which === "ended") more();
      update();
    }));
    if (which === "ended") return fill(lists, endedList());
    const running = board.running.filter(matches);
    const waiting = board.waiting.filter(matches);
    if (running.length + waiting.length === 0)
      return fill(lists, words ? empty("No active job is called so", "Look among those that have ended.") :
        empty("Nothing runs and nothing waits", h("p", {}, "Submit a job: ", code("stint submit --queue QUEUE --gpus 1 -- COMMAND"))));
    fill(lists,
      waiting.length > 0 && h("section", { key: "waiting" }, h("h2", {}, `Waiting (${count(waiting.length)}${board.more_waiting ? ", the newest" : ""})`), scroll("Waiting jobs", table("Waiting jobs", [
        ...who(),
        { title: "Waits for", number: true, cell: (j) => since(j.submitted, board.now) },
        { title: "Why", class: "why", cell: whyCell },
        { title: "Do", cell: actions },
      ], cut(waiting), (j) => j.id)), rest(waiting)),
      running.length > 0 && h("section", { key: "running" }, h("h2", {}, `Running (${count(running.length)}${board.more_running ? ", the newest" : ""})`), scroll("Running jobs", table("Running jobs", [
        ...who(),
        { title: "Runs for", number: true, cell: (j) => (j.started ? since(j.started, board.now) : "–") },
        { title: "Where", class: "wide", cell: (j) => places(j) },
        { title: "Cost so far", number: true, cell: (j) => money(j.cost) },
        { title: "Do", cell: actions },
      ], cut(running), (j) => j.id)), rest(running)));
  }

  const cut = (list) => (all ? list : list.slice(0, ROWS));
  const rest = (list) => !all && list.length > ROWS && h("p", { class: "after" }, h("button", {
    type: "button", class: "button", onclick: () => {
      all = true;
      update();
    },
  }, `All ${count(list.length)}`));

  function endedList() {
    if (ended === null) return h("p", { class: "soft" }, "Asking…");
    const list = ended.filter(matches);
    if (list.length === 0) return empty(words ? "No job among these is called so" : "No job has ended yet", next ? h("p", {}, action("Look further back", more)) : "");
    return [scroll("Ended jobs", table("Ended jobs", [
      ...who(),
      { title: "Ended", number: true, cell: (j) => h("time", { datetime: j.ended, title: fullTime(j.ended) }, when(j.ended)) },
      { title: "Ran for", number: true, cell: (j) => (j.started && j.ended ? span((Date.parse(j.ended) - Date.parse(j.started)) / 1000) : "–") },
      { title: "GPU-hours", number: true, class: "wide", cell: (j) => j.gpu_hours.toFixed(2) },
      { title: "Cost", number: true, cell: (j) => money(j.cost) },
    ], list, (j) => j.id)), next && h("p", { key: "more" }, action("Older ones", more))];
  }

  return { update };
}

/// A line on why it waits, as far as that was asked for.
export function whyCell(job) {
  if (job.state === "on-hold") return "held until it is released";
  if (job.state === "needs-approval") return [h("a", { href: "#/clients" }, "somebody must approve it"), job.why && `: ${job.why}`];
  if (!job.why) return h("a", { href: `#/jobs/${job.id}` }, "ask");
  return [job.why, job.starts_at && `${job.why.endsWith(".") ? "" : "."} Starts by ${when(job.starts_at)} as things stand.`];
}

function who() {
  return [
    { title: "Job", cell: (j) => h("a", { href: `#/jobs/${j.id}` }, j.id) },
    { title: "Name", cell: (j) => h("span", { class: "name" }, j.name) },
    { title: "State", cell: (j) => state(j.state) },
    { title: "Queue", class: "wide", cell: (j) => j.queue },
    { title: "User", class: "wide", cell: (j) => j.user },
    { title: "GPUs", number: true, cell: (j) => gpus(j.gpu_milli) },
  ];
}

/// [0, 1, 2, 5] → "0–2,5".
export function ranges(list) {
  const runs = [];
  for (const n of [...list].sort((a, b) => a - b)) {
    if (runs.length && runs.at(-1)[1] + 1 === n) runs.at(-1)[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(",");
}

export function places(job) {
  const nodes = new Map();
  for (const t of job.placed) nodes.set(t.node, [...(nodes.get(t.node) ?? []), ...t.gpus]);
  return [...nodes].map(([node, list]) => `${node}${list.length ? `:${ranges(list)}` : ""}`).join("  ") || "–";
}

/// What this person may do about the job; nothing is shown that would be refused.
export function actions(job) {
  if (!job.control) return "";
  const tell = (verb, done) => async () => {
    await post(`/v1/jobs/${job.id}/${verb}`);
    say(`Job ${job.id} ${done}.`);
    await refresh();
  };
  return h("span", { class: "actions" },
    job.state === "waiting" && action("Hold", tell("hold", "is held"), { title: "Keep it from starting" }),
    job.state === "on-hold" && action("Release", tell("release", "may start"), { title: "Let it start" }),
    job.state !== "leaving" && action("Cancel", tell("cancel", "is being cancelled"), { ask: `Cancel job ${job.id}, ${job.name}?`, kind: "danger" }));
}
