// What runs, what waits and why, and what has ended; with what may be done about it, one by one or many at once.
import { get, post } from "./api.js";
import { asOne, called, isArray, jobsIn, stateCell } from "./arrays.js";
import { action, code, confirmed, empty, fill, h, say } from "./dom.js";
import { count, fullTime, gpus, money, sentences, since, span, things, when } from "./format.js";
import { live, may, refresh } from "./live.js";
import { inOrder, sortable } from "./tables.js";
import { keep, kept } from "./url.js";

const STATES = {
  "": "Active", waiting: "Waiting", "needs-approval": "Needs approval", "on-hold": "On hold", running: "Running", ended: "Ended",
  succeeded: "Succeeded", failed: "Failed", cancelled: "Cancelled",
};
const WAITING = ["waiting", "needs-approval", "on-hold"];
const ENDED = ["ended", "succeeded", "failed", "cancelled"];
const PAGE = 100;
const WHYS = 20;
const ROWS = 100;

export function mount(main) {
  let ended = null;
  let next = null;
  let asked = "";  // what `ended` answers
  let all = false;  // rows beyond the first ROWS, too
  const chosen = new Set();
  const tools = h("div", { class: "filters" });
  const search = h("input", {
    type: "search", size: 22, placeholder: "Name, user, number", "aria-label": "Show jobs of this name, user or number", props: { value: kept("q") },
    oninput: () => {
      keep({ q: search.value.trim() });
      update();
    },
  });
  const lists = h("div");
  const bulk = h("div", { class: "bulk", role: "region", "aria-label": "Chosen jobs", hidden: true });
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Jobs"), h("div", { class: "filters" }, search, tools)), lists, bulk);
  live.whys = WHYS;

  function matches(job) {
    const words = kept("q").toLowerCase();
    const queue = kept("queue");
    return (!words || [job.name, job.user, String(job.id)].some((t) => t.toLowerCase().includes(words)))
      && (!queue || job.queue === queue || job.queue.startsWith(`${queue}/`));
  }

  async function more() {
    const mine = `${kept("state")} ${kept("queue")}`;
    if (asked !== mine) ended = next = null;
    asked = mine;
    const queue = kept("queue");
    const page = await get(`/v1/jobs?arrays=as-one&state=${kept("state")}&limit=${PAGE}${queue ? `&queue=${encodeURIComponent(queue)}` : ""}${next ? `&cursor=${next}` : ""}`);
    if (asked !== mine) return;
    ended = [...(ended ?? []), ...page.jobs];
    next = page.next;
    update();
  }

  const set = (name) => (event) => {
    keep({ [name]: event.target.value });
    chosen.clear();
    update();
  };
  const select = (label, name, options) => h("select", { "aria-label": label, onchange: set(name), props: { value: kept(name) } },
    Object.entries(options).map(([value, words]) => h("option", { value }, words)));

  function update() {
    const { board } = live;
    if (!board) return;
    fill(tools, select("State", "state", STATES),
      select("Queue", "queue", { "": "All queues", ...Object.fromEntries(board.queues.map((q) => [q.path, q.path])) }),
      may("submitJob") && h("a", { class: "button primary", href: "#/submit" }, "Submit a job"));
    const wanted = kept("state");
    if (ENDED.includes(wanted)) {
      if (asked !== `${wanted} ${kept("queue")}`) more();
      showBulk([]);
      return fill(lists, endedList());
    }
    const running = wanted === "" || wanted === "running" ? asOne(board.running.filter(matches)) : [];
    const waiting = wanted !== "running" ? board.waiting.filter((j) => matches(j) && (wanted === "" || jobsIn(j, wanted) > 0)).map((j) => (isArray(j) ? { ...j, listed: wanted ? jobsIn(j, wanted) : jobsIn(j, ...WAITING) } : j)) : [];
    showBulk([...waiting, ...running]);
    if (running.length + waiting.length === 0)
      return fill(lists, kept("q") || kept("queue") || wanted ? empty("No active job matches", h("p", {}, action("Show all active jobs", async () => {
        search.value = "";
        keep({ q: "", queue: "", state: "" });
        update();
      }))) : empty("No job runs and none waits", h("p", {}, "Submit one here, or on the command line: ", code("stint submit --queue QUEUE --gpus 1 -- COMMAND"))));
    fill(lists,
      waiting.length > 0 && h("section", { key: "waiting" }, h("h2", {}, `Waiting (${count(listed(waiting))}${board.more_waiting ? ", the newest" : ""})`), jobTable("Waiting jobs", [
        ...who(),
        { title: "Waited", number: true, sort: (j) => -Date.parse(j.submitted), cell: (j) => since(j.submitted, board.now) },
        { title: "Why", class: "why", cell: whyCell },
        { title: "Actions", cell: actions },
      ], waiting), rest(waiting)),
      running.length > 0 && h("section", { key: "running" }, h("h2", {}, `Running (${count(listed(running))}${board.more_running ? ", the newest" : ""})`), jobTable("Running jobs", [
        ...who(),
        { title: "Ran for", number: true, sort: (j) => (j.started ? -Date.parse(j.started) : null), cell: (j) => (j.started ? since(j.started, board.now) : "–") },
        { title: "Where", class: "wide", sort: places, cell: places },
        { title: "Cost so far", number: true, sort: (j) => Number(j.cost.amount), cell: (j) => money(j.cost) },
        { title: "Actions", cell: actions },
      ], running), rest(running)));
  }

  /// With a box before each job that this person may do something about.
  function jobTable(title, columns, jobs) {
    const shown = all ? jobs : inOrder(columns, jobs).slice(0, ROWS);
    const theirs = shown.filter((j) => verbsOf(j).length > 0);
    const tick = (list, on) => {
      for (const j of list) on ? chosen.add(j.id) : chosen.delete(j.id);
      update();
    };
    const pick = {
      title: "", class: "pick",
      cell: (j) => (verbsOf(j).length === 0 ? "" : h("input", { type: "checkbox", "aria-label": `Choose ${called(j)}`, props: { checked: chosen.has(j.id) }, onchange: (e) => tick([j], e.target.checked) })),
    };
    const every = theirs.length > 0 && theirs.every((j) => chosen.has(j.id));
    return sortable(title, theirs.length > 0 ? [pick, ...columns] : columns, shown, (j) => j.id, update, {
      heading: (c) => (c === pick ? h("input", { type: "checkbox", "aria-label": `Choose all ${title.toLowerCase()}`, props: { checked: every, indeterminate: !every && theirs.some((j) => chosen.has(j.id)) }, onchange: (e) => tick(theirs, e.target.checked) }) : null),
    });
  }

  function showBulk(jobs) {
    const picked = [...new Map(jobs.map((j) => [j.id, j])).values()].filter((j) => chosen.has(j.id));  // an array can wait and run
    for (const id of chosen) if (!picked.some((j) => j.id === id)) chosen.delete(id);
    bulk.hidden = picked.length === 0;
    if (picked.length === 0) return fill(bulk);
    fill(bulk, h("strong", {}, things(picked.length, "job")), " chosen ",
      VERBS.map((verb) => [verb, picked.filter((j) => verbsOf(j).includes(verb))]).filter(([, list]) => list.length > 0).map(([verb, list]) =>
        h("button", { type: "button", key: verb.path, class: `button ${verb.kind}`, onclick: () => doAll(verb, list) }, `${verb.label} ${list.length}`)),
      h("button", { type: "button", class: "button plain", onclick: () => {
        chosen.clear();
        update();
      } }, "Choose none"));
  }

  async function doAll(verb, jobs) {
    if (verb.ask && !(await confirmed(`${verb.label} ${things(jobs.length, "job")}: ${jobs.slice(0, 8).map((j) => j.id).join(", ")}${jobs.length > 8 ? " …" : ""}?`, verb.label))) return;
    const failures = [];
    for (const job of jobs) {
      try {
        await post(`/v1/jobs/${job.id}/${verb.path}`, verb.body);
        chosen.delete(job.id);
      } catch (error) {
        failures.push(`${job.id}: ${error.message}`);
      }
    }
    const done = jobs.length - failures.length;
    say(`${things(done, "job")} ${verb.done}.${failures.length ? ` ${failures.length} not: ${failures[0]}` : ""}`, failures.length ? "bad" : "good");
    await refresh();
  }

  const rest = (list) => !all && list.length > ROWS && h("p", { class: "after" }, h("button", {
    type: "button", class: "button", onclick: () => {
      all = true;
      update();
    },
  }, `Show all ${count(list.length)}`));

  function endedList() {
    if (ended === null) return h("p", { class: "soft" }, "Loading…");
    const list = ended.filter(matches);
    if (list.length === 0) return empty(kept("q") ? "No job among these matches" : "No such job yet", next ? h("p", {}, action("Look further back", more)) : "");
    return [sortable("Ended jobs", [
      ...who(),
      { title: "Ended", number: true, sort: (j) => Date.parse(j.ended), cell: (j) => (j.ended ? h("time", { datetime: j.ended, title: fullTime(j.ended) }, when(j.ended)) : "–") },
      { title: "Ran for", number: true, sort: ranFor, cell: (j) => (ranFor(j) === null ? "–" : span(ranFor(j))) },
      { title: "GPU-hours", number: true, class: "wide", sort: (j) => j.gpu_hours, cell: (j) => j.gpu_hours.toFixed(2) },
      { title: "Cost", number: true, sort: (j) => Number(j.cost.amount), cell: (j) => money(j.cost) },
      may("submitJob") && { title: "Actions", cell: (j) => h("a", { class: "button", href: `#/submit?from=${encodeURIComponent(j.id)}` }, "Resubmit") },
    ].filter(Boolean), list, (j) => j.id, update), next && h("p", { key: "more" }, action("Older ones", more))];
  }

  return { update };
}

/// Jobs in a list whose arrays are one line each.
const listed = (list) => list.reduce((sum, j) => sum + (j.listed ?? 1), 0);

const ranFor = (j) => (j.started && j.ended ? (Date.parse(j.ended) - Date.parse(j.started)) / 1000 : null);

/// Why it waits as sentences, as far as that was asked for.
export function whyCell(job) {
  if (job.state === "on-hold") return "On hold until it is released.";
  if (!job.why) return job.state === "needs-approval" ? "It needs approval." : h("a", { href: `#/jobs/${job.id}` }, "Show why");
  return [job.state === "needs-approval" ? "It needs approval. " : "", sentences(job.why), job.starts_at && ` Expected to start by ${when(job.starts_at)}.`];
}

function who() {
  return [
    { title: "Job", head: true, sort: (j) => j.id, cell: (j) => h("a", { href: `#/jobs/${j.id}` }, j.id) },
    { title: "Name", sort: (j) => j.name, cell: (j) => h("span", { class: "name" }, j.name) },
    { title: "State", sort: (j) => j.state, cell: stateCell },
    { title: "Queue", class: "wide", sort: (j) => j.queue, cell: (j) => j.queue },
    { title: "User", class: "wide", sort: (j) => j.user, cell: (j) => j.user },
    { title: "GPUs", number: true, sort: (j) => j.gpu_milli, cell: (j) => (j.gpu_milli === 0 && j.gpu_part ? j.gpu_part : gpus(j.gpu_milli)) },
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

const VERBS = [
  { path: "approve", label: "Approve", done: "approved", kind: "primary", when: (j) => j.decide },
  { path: "refuse", label: "Refuse", done: "refused", kind: "danger", when: (j) => j.decide, body: {}, ask: true },
  { path: "hold", label: "Hold", done: "on hold", kind: "", when: (j) => j.control && jobsIn(j, "waiting") > 0 },
  { path: "release", label: "Release", done: "released", kind: "", when: (j) => j.control && jobsIn(j, "on-hold") > 0 },
  { path: "cancel", label: "Cancel", done: "being cancelled", kind: "danger", when: (j) => j.control && !j.ended && j.state !== "leaving", ask: true },
];
const verbsOf = (job) => VERBS.filter((verb) => verb.when(job));

/// What this person may do about the job; nothing is shown that would be refused.
export function actions(job) {
  const verbs = verbsOf(job).filter((verb) => !(verb.path === "cancel" && job.decide));  // refusing ends it, too
  return verbs.length === 0 ? "" : h("span", { class: "actions" }, verbs.map((verb) => action(verb.label, async () => {
    await post(`/v1/jobs/${job.id}/${verb.path}`, verb.body);
    say(`${called(job).replace(/^./, (c) => c.toUpperCase())} is ${verb.done}.`);
    await refresh();
  }, { kind: verb.kind, ask: verb.ask ? `${verb.label} ${isArray(job) ? `all that has not ended of ${called(job)}` : called(job)}, ${job.name}?` : null })));
}
