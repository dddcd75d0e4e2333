// One job: how it stands, what it costs, why it waits, what it prints, and what its GPUs do.
import { get, getRaw } from "./api.js";
import { isArray, jobsOf, standing } from "./arrays.js";
import { choice, curve } from "./chart.js";
import { empty, fill, h, scroll, state, table } from "./dom.js";
import { amount, count, fullTime, gpuWords, money, oneDecimal, percent, sentences, since, span, things, when } from "./format.js";
import { actions, places, ranges } from "./jobs.js";
import { live, may } from "./live.js";

const LOG_SHOWN = 64 * 1024;
const LOG_AGAIN_MS = 3_000;
const AGAIN_MS = 20_000;
const STREAMS = { both: "Both", output: "Output", error: "Errors" };
const WAITS = ["waiting", "on-hold", "needs-approval"];
const WENT_WRONG = ["failed", "time-limit", "dependency-failed"];

/// "trainers: 4 tasks of 8 GPUs, all in one rack; loaders: 2 tasks of 0 GPUs".
const groupsText = (groups) => groups.map((g) => [
  `${g.name}${g.within ? ` within ${g.within}` : ""}`,
  g.tasks && `: ${things(g.tasks, "task")} of ${g.gpu_part || gpuWords(g.gpu_milli)}${g.gpu_models.length ? ` (${g.gpu_models.join(" or ")})` : ""}`,
  g.tasks && g.min_tasks < g.tasks && `, at least ${g.min_tasks} of them`,
  g.required_topology && `, all in one ${g.required_topology}`,
  g.preferred_topology && `, if it fits in one ${g.preferred_topology}`,
].filter(Boolean).join("")).join("; ");

export function mount(main, [id]) {
  let job = null;
  let asked = 0;
  let seen = -1;  // number of the newest event known of this job
  let why = null;
  let gone = false;
  const title = h("h1", { tabindex: "-1" }, `Job ${id}`);
  const doing = h("div");
  const facts = h("section", { class: "facts", "aria-label": "Facts" });
  const reason = h("section");
  const history = h("section");
  const log = logView(id);
  const does = measured();
  const members = jobsOf(actions, places);
  main.append(h("div", { class: "heading" }, title, doing), facts, reason, members.element, does.element, log.element, history);

  async function ask() {
    asked = Date.now();
    try {
      job = await get(`/v1/jobs/${encodeURIComponent(id)}`);
    } catch (error) {
      gone = true;
      return main.replaceChildren(title, empty(error.message, h("p", {}, h("a", { href: "#/jobs" }, "All jobs"))));
    }
    log.element.hidden = isArray(job);
    why = (isArray(job) ? job.ended === null : WAITS.includes(job.state)) ? await get(`/v1/jobs/${job.id}/why`) : null;
    // What went wrong is read from what it printed last: that stands first.
    if (WENT_WRONG.includes(job.state) && job.first_started && facts.nextElementSibling !== log.element) facts.after(log.element);
    draw();
    if (isArray(job)) members.ask(job, live.board.now);
    else does.ask(job);
  }

  function draw() {
    const { board } = live;
    // Of an array the board lists what waits, apart from what runs.
    const active = isArray(job) ? null : [...board.running, ...board.waiting].find((j) => j.id === job.id);
    const shown = active ? { ...job, ...active } : job;
    const ended = shown.ended !== null;
    fill(title, `${isArray(shown) ? "Array" : "Job"} ${shown.id} `, h("span", { class: "soft" }, shown.name));
    fill(doing, h("span", { class: "actions" }, actions(shown), job.control && may("submitJob") && h("a", { class: "button", href: `#/submit?from=${encodeURIComponent(job.id)}` }, "Resubmit")));
    const fact = (name, value) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value));
    fill(facts, h("dl", {},
      isArray(shown) ? fact("Jobs", standing(shown)) : fact("State", [state(shown.state), shown.reason && h("span", { class: "soft" }, ` ${shown.reason}`)]),
      fact(ended ? "Cost" : "Cost so far", money(shown.cost)),
      !ended && shown.placed.length > 0 && fact("Cost per hour", money(job.per_hour)),
      fact("GPU-hours", shown.gpu_hours.toFixed(2)),
      fact(isArray(shown) && !ended ? "Still asks for" : "Asks for", `${shown.gpu_part || gpuWords(shown.gpu_milli)}${shown.tasks > 1 ? ` in ${shown.tasks} tasks${isArray(shown) ? " each" : ""}` : ""}`),
      fact("Queue", h("a", { href: `#/jobs?queue=${encodeURIComponent(shown.queue)}` }, shown.queue)), fact("User", shown.user),
      fact("Submitted", time(shown.submitted)),
      fact(ended ? "Ended" : shown.started ? "Running since" : "Waiting for",
        ended ? time(shown.ended) : shown.started ? time(shown.started) : since(shown.submitted, board.now)),
      ended && shown.started && fact("Ran for", span((Date.parse(shown.ended) - Date.parse(shown.started)) / 1000)),
      fact("Starts", shown.starts === 0 ? "none" : shown.starts),
      shown.placed.length > 0 && fact("On", places(shown)),
      shown.deadline && fact("Deadline", [time(shown.deadline), shown.deferrable && h("span", { class: "soft" }, " may wait for a cheaper hour")]),
      shown.required_topology && fact("All tasks in one", shown.required_topology),
      shown.preferred_topology && fact("If it fits, in one", shown.preferred_topology),
      shown.affinity && fact("Only beside", shown.affinity.join(", ")),
      shown.anti_affinity && fact("Never beside", shown.anti_affinity.join(", ")),
      shown.labels && fact("Labels", Object.entries(shown.labels).map(([k, v]) => `${k}=${v}`).join(", ")),
      shown.groups && fact("Groups", groupsText(shown.groups)),
      shown.shares_with && fact("Shares a GPU with", shown.shares_with),
      shown.work_kind && fact("Kind of work", shown.work_kind),
      shown.max_slowdown_percent !== undefined && fact("Slowed by neighbours", `${shown.max_slowdown_percent} % at most`),
      shown.makes && fact("Makes", shown.makes),
      shown.time_limit_s && fact("Time limit", span(shown.time_limit_s)),
      shown.array && !isArray(shown) && fact("Array", [h("a", { href: `#/jobs/${shown.array.id}` }, shown.array.id), `, ${shown.array.index + 1} of ${shown.array.size}`]),
      shown.trial && fact("Trial of", trialText(shown.trial)),
      shown.after.length > 0 && fact("After", shown.after.map((other, i) => [i > 0 && ", ", h("a", { href: `#/jobs/${other}` }, other)])),
      Object.keys(shown.tags).length > 0 && fact("Tags", Object.entries(shown.tags).map(([k, v]) => `${k}=${v}`).join(", ")),
      fact("Command", h("code", {}, shown.command))));
    fill(reason, why && whySection(shown));
    fill(history, shown.ends.length > 0 && [h("h2", {}, "Launches that ended"),
      scroll("Launches that ended", table("Launches that ended", [
        { title: "Task", cell: (e) => `${e.task}.${e.attempt}` },
        { title: "Machine", cell: (e) => `${e.node}${e.gpus.length ? `:${ranges(e.gpus)}` : ""}` },
        { title: "Started", number: true, cell: (e) => time(e.started) },
        { title: "Ran for", number: true, cell: (e) => span((Date.parse(e.ended) - Date.parse(e.started)) / 1000) },
        { title: "Ended by", cell: (e) => (e.signal ? `signal ${e.signal}` : `exit code ${e.exit_code}`) },
        { title: "Detail", cell: (e) => e.detail || "–" },
      ], [...shown.ends].reverse(), (e) => `${e.task}.${e.attempt}`))]);
    if (!isArray(shown)) log.tell(shown);
  }

  /// Why it waits, and what would start it, each as a sentence.
  function whySection(shown) {
    if (shown.state === "needs-approval")
      return [h("h2", {}, "Why it waits"), h("p", {}, `It needs approval. ${sentences(job.approval?.why ?? "")}`),
        h("p", { class: "soft" }, `${job.approval?.most_cost ? `It can cost ${money(job.approval.most_cost)} at most. ` : ""}${shown.decide ? "Approve or refuse it above." : "An admin of its client or an operator decides."}`)];
    // Of an array the first two lines say how it stands and which job is next.
    const lines = why.text.split("\n").filter((line) => line.trim());
    const next = isArray(shown) ? lines[1].match(/^next is job (\S+):$/)?.[1] : null;
    if (isArray(shown) && !next) return "";
    const [first, ...rest] = isArray(shown) ? lines.slice(2) : lines;
    const ways = rest.filter((line) => /^\s+- /.test(line)).map((line) => line.replace(/^\s+- /, ""));
    const more = rest.filter((line) => !/^\s+- /.test(line));
    return [h("h2", {}, next ? `Why its next job, ${next}, waits` : "Why it waits"),
      h("p", {}, sentences(first.replace(/^Job \S+ at .*? UTC: (\w+)/, "it $1").replace(/^it waits: /, "")), " ", more.map(sentences).join(" ")),
      ways.length > 0 && [h("h3", {}, "What would start it"), h("ul", {}, ways.map((way) => h("li", {}, sentences(way))))]];
  }

  return {
    update() {
      if (gone) return;
      const newest = live.events.find((e) => e.job === (job?.id ?? id) || e.job?.startsWith(`${job?.id ?? id}_`))?.id;
      const active = job && !job.ended;
      if (!job || newest !== seen || (active && Date.now() - asked > AGAIN_MS)) {
        seen = newest;
        ask();
      } else {
        draw();
      }
    },
    unmount() {
      does.close();
      log.close();
    },
  };
}

const time = (t) => h("time", { datetime: t, title: fullTime(t) }, when(t));

const MOST_GPUS = 16;

/// What the GPUs of its last launches did, minute by minute, and what they cost.
function measured() {
  const charts = {
    busy: curve("GPU busy, % on average", { max: 1, height: 130 }),
    memory: curve("GPU memory in use, all its GPUs together", { height: 130 }),
    power: curve("Power, W, all its GPUs together", { height: 130 }),
    cost: curve("Cost per hour", { height: 130, stepped: true }),
  };
  const costTitle = h("h3", {}, "Cost per hour");
  const note = h("p", { class: "soft" });
  const places = Object.fromEntries(Object.entries({ busy: "GPU busy, %", memory: "GPU memory in use, GiB", power: "Power, W" })
    .map(([name, title]) => [name, h("div", { hidden: true }, h("h3", {}, title), charts[name].element)]));
  places.cost = h("div", { hidden: true }, costTitle, charts.cost.element);
  const element = h("section", { hidden: true }, h("h2", {}, "What its GPUs do"), note, h("div", { class: "charts" }, Object.values(places)));

  /// {node, gpu, from, to} of what it has now, else of what it had last.
  function stretches(job) {
    const now = job.placed.flatMap((t) => t.gpus.map((gpu) => ({ node: t.node, gpu, from: t.started, to: null })));
    if (now.length > 0) return now;
    const last = Math.max(...job.ends.map((e) => Date.parse(e.started)));
    return job.ends.filter((e) => Date.parse(e.started) === last).flatMap((e) => e.gpus.map((gpu) => ({ node: e.node, gpu, from: e.started, to: e.ended })));
  }

  /// Every launch with its part of its machine's price as it is now.
  function rates(job) {
    const priced = (node, milli, from, to) => {
      const machine = live.board.nodes.find((n) => n.name === node);
      return machine && machine.gpus > 0 ? [{ from: Date.parse(from) / 1000, to: to ? Date.parse(to) / 1000 : null, rate: (Number(machine.per_hour.amount) / machine.gpus) * (milli / 1000) }] : [];
    };
    return [...job.ends.flatMap((e) => priced(e.node, e.gpu_milli, e.started, e.ended)),
      ...job.placed.flatMap((t) => priced(t.node, t.gpu_milli || t.gpus.length * 1000, t.started, null))];
  }

  function costCurve(job) {
    const launches = rates(job);
    if (launches.length === 0) return null;
    const now = Date.parse(live.board.now) / 1000;
    const times = [...new Set(launches.flatMap((l) => [l.from, l.to ?? now]))].sort((a, b) => a - b);
    const at = (t) => launches.filter((l) => l.from <= t && t < (l.to ?? Infinity)).reduce((sum, l) => sum + l.rate, 0);
    return [times, times.map((t, i) => at(i + 1 < times.length ? t : t - 0.001))];
  }

  async function ask(job) {
    if (!job.first_started || job.gpu_milli === 0) return;
    element.hidden = false;
    const list = may("gpuMinutes") ? stretches(job).slice(0, MOST_GPUS) : [];
    const answers = await Promise.all(list.map(async ({ node, gpu, from }) => {
      try {
        return await get(`/v1/gpus/${encodeURIComponent(`${node}:${gpu}`)}/minutes?from=${encodeURIComponent(from)}`);
      } catch {
        return { minutes: [] };  // a GPU of which nothing is known
      }
    }));
    const sums = { utilization: new Map(), memory_used: new Map(), power: new Map() };
    answers.forEach((answer, i) => {
      const to = list[i].to ? Date.parse(list[i].to) : Infinity;
      for (const minute of answer.minutes) {
        const at = Date.parse(minute.begin);
        if (!(minute.metric in sums) || at >= to) continue;
        const [sum, n] = sums[minute.metric].get(at / 1000) ?? [0, 0];
        sums[minute.metric].set(at / 1000, [sum + minute.mean, n + 1]);
      }
    });
    const known = {};
    const put = (name, metric, value, speak, tick) => {
      const times = [...sums[metric].keys()].sort((a, b) => a - b);
      if (times.length > 1) known[name] = [times, times.map((t) => value(...sums[metric].get(t))), speak, tick];
    };
    put("busy", "utilization", (sum, n) => sum / n / 100, percent);
    put("memory", "memory_used", (sum) => sum / 2 ** 30, (v) => `${oneDecimal(v)} GiB`, oneDecimal);
    put("power", "power", (sum) => sum, (w) => `${Math.round(w)} W`, (w) => count(w));
    const cost = costCurve(job);
    if (cost) known.cost = [...cost, (v) => `${amount(v)} ${job.cost.currency}/h`, amount];
    const few = sums.utilization.size === 1;
    note.textContent = known.busy ? "" : `Their load is not measured${live.board.backend === "simulated" ? ": they are simulated." : few ? " for longer than a minute yet." : "."}`;
    costTitle.textContent = `Cost, ${job.cost.currency} per hour`;
    for (const [name, place] of Object.entries(places)) {
      place.hidden = !known[name];
      if (known[name]) charts[name].set(...known[name]);
    }
  }

  return { element, ask, close: () => Object.values(charts).forEach((chart) => chart.close()) };
}

/// What the job prints: its last pieces, followed while it runs.
function logView(id) {
  let stream = Object.keys(STREAMS)[0];
  let next = -LOG_SHOWN;
  let timer = null;
  let over = false;
  let started = false;
  const text = h("pre", { class: "log", tabindex: "0", "aria-label": "Its output" });
  const tools = h("div");
  const note = h("p", { class: "soft" });
  const title = h("h2", {}, "Output");
  const element = h("section", {}, h("div", { class: "heading" }, title, tools), text, note);

  async function ask() {
    clearTimeout(timer);
    const mine = stream;
    try {
      const answer = await getRaw(`/v1/jobs/${encodeURIComponent(id)}/logs?stream=${stream}&offset=${next}`);
      const piece = await answer.text();
      if (mine !== stream) return;
      const first = next < 0;
      next = Number(answer.headers.get("stint-log-next"));
      const end = first || text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
      if (piece) text.append(piece);
      const gone = !piece && Number(answer.headers.get("stint-log-gone")) > 0;
      text.hidden = !text.textContent;
      if (end) text.scrollTop = text.scrollHeight;
      over = answer.headers.get("stint-log-complete") === "true";
      note.textContent = text.textContent ? (over ? "" : "Followed while it runs.") : gone
        ? "What it printed is gone: logs of ended jobs are kept only so long."
        : over ? "It printed nothing." : "Nothing printed yet.";
    } catch (error) {
      text.hidden = true;
      note.textContent = error.message;
      over = true;
    }
    if (!over) timer = setTimeout(() => (document.hidden ? (timer = setTimeout(ask, LOG_AGAIN_MS)) : ask()), LOG_AGAIN_MS);
  }

  function choose() {
    fill(tools, choice("Which stream", STREAMS, stream, (value) => {
      stream = value;
      next = -LOG_SHOWN;
      text.textContent = "";
      over = false;
      ask();
    }));
  }

  return {
    element,
    /// How the job stands now: what has never started prints nothing.
    tell(job) {
      title.textContent = WENT_WRONG.includes(job.state) ? "The last lines it printed" : "Output";
      if (started) return;
      choose();
      if (!job.first_started) {
        text.hidden = true;
        note.textContent = "It has not started.";
        return;
      }
      started = true;
      ask();
    },
    close: () => clearTimeout(timer),
  };
}

/// Which study, and how far the trial has come.
function trialText({ study, rungs, reports }) {
  const last = reports.at(-1);
  return `${study}: ${last ? `rung ${last.rung} of ${rungs.length - 1}, loss ${last.loss}` : "nothing reported yet"}`;
}
