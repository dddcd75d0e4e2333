// Arrays: many jobs under one id, in a list one line, and their jobs on a separate page.
import { get } from "./api.js";
import { action, fill, h, state } from "./dom.js";
import { count, gpus, money, since, span, things, when } from "./format.js";
import { sortable } from "./tables.js";

const PAGE = 1000;

/// What stands for an array, not for a job of it.
export const isArray = (job) => Boolean(job.array) && job.array.index === undefined;

/// "array agency-17" or "job agency-17_3".
export const called = (job) => `${isArray(job) ? "array" : "job"} ${job.id}`;

/// How many jobs in these states it stands for.
export const jobsIn = (job, ...states) => (isArray(job) ? states.reduce((sum, name) => sum + (job.array.jobs[name] ?? 0), 0) : Number(states.includes(job.state)));

/// "3 running, 5 waiting".
export const standing = (job) => Object.entries(job.array.jobs).map(([name, jobs]) => `${count(jobs)} ${name.replaceAll("-", " ")}`).join(", ");

/// State in a list: of an array also how many of its jobs the list is about (`listed`), else how all of them stand.
export function stateCell(job) {
  if (!isArray(job)) return state(job.state);
  return job.listed ? [state(job.state), " ", h("span", { class: "soft" }, `${count(job.listed)} of ${count(job.array.size)}`)] : standing(job);
}

/// Jobs of an array that run, as one line; each other job as it is.
export function asOne(jobs) {
  const lines = new Map();
  for (const job of jobs) {
    const key = job.array ? job.array.id : job.id;
    const line = lines.get(key);
    if (!line) {
      lines.set(key, job.array ? { ...job, id: key, array: { id: key, size: job.array.size, jobs: {} }, listed: 1, placed: [...job.placed] } : job);
      continue;
    }
    ++line.listed;
    line.gpu_milli += job.gpu_milli;
    line.placed.push(...job.placed);
    line.cost = { ...line.cost, amount: String(Number(line.cost.amount) + Number(job.cost.amount)) };
    if (job.started && (!line.started || job.started < line.started)) line.started = job.started;
    if (job.state === "running") line.state = job.state;
  }
  return [...lines.values()];
}

/// The jobs of an array, with what may be done about each. @param actions  of a job, @param places  of a job.
export function jobsOf(actions, places) {
  const element = h("section");
  let jobs = [];
  let next = null;
  let array = null;
  let now = null;

  async function ask(whole, at) {
    array = whole;
    now = at;
    const page = await get(`/v1/jobs?array=${encodeURIComponent(whole.id)}&limit=${PAGE}`);
    const known = new Set(page.jobs.map((j) => j.id));
    jobs = [...page.jobs, ...jobs.filter((j) => !known.has(j.id))];
    next = jobs.length < whole.array.size ? jobs.at(-1).id : null;
    draw();
  }

  async function older() {
    const page = await get(`/v1/jobs?array=${encodeURIComponent(array.id)}&limit=${PAGE}&cursor=${encodeURIComponent(next)}`);
    jobs = [...jobs, ...page.jobs];
    next = page.next;
    draw();
  }

  const ranFor = (j) => (j.started ? (Date.parse(j.ended ?? now) - Date.parse(j.started)) / 1000 : null);

  function draw() {
    const rows = jobs.map((j) => ({ ...j, control: array.control, decide: array.decide && j.state === "needs-approval" })).reverse();
    fill(element, h("h2", {}, `Its ${things(array.array.size, "job")}`), sortable("Jobs of this array", [
      { title: "Job", head: true, sort: (j) => j.array.index, cell: (j) => h("a", { href: `#/jobs/${j.id}` }, j.id) },
      { title: "State", sort: (j) => j.state, cell: (j) => state(j.state) },
      { title: "GPUs", number: true, sort: (j) => j.gpu_milli, cell: (j) => gpus(j.gpu_milli) },
      { title: "Started", number: true, sort: (j) => (j.started ? Date.parse(j.started) : null), cell: (j) => (j.started ? when(j.started) : "–") },
      { title: "Ran for", number: true, sort: ranFor, cell: (j) => (!j.started ? "–" : j.ended ? span(ranFor(j)) : since(j.started, now)) },
      { title: "Where", class: "wide", sort: places, cell: places },
      { title: "Cost", number: true, sort: (j) => Number(j.cost.amount), cell: (j) => money(j.cost) },
      { title: "Actions", cell: actions },
    ], rows, (j) => j.id, draw), next && h("p", { key: "more" }, action("Those before", older)));
  }

  return { element, ask };
}
