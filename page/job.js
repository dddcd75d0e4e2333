// One job: how it stands, what it has cost, why it waits, what it prints, and how busy its GPUs are.
import { get, getRaw } from "./api.js";
import { choice, curve } from "./chart.js";
import { empty, fill, h, state, table } from "./dom.js";
import { fullTime, gpus, money, percent, since, span, when } from "./format.js";
import { actions, places, ranges } from "./jobs.js";
import { live, may } from "./live.js";

const LOG_SHOWN = 64 * 1024;
const LOG_AGAIN_MS = 3_000;
const AGAIN_MS = 5_000;
const STREAMS = { output: "Output", error: "Errors" };

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
  const busy = utilization();
  main.append(h("div", { class: "heading" }, title, doing), facts, reason, busy.element, log.element, history);

  async function ask() {
    asked = Date.now();
    try {
      job = await get(`/v1/jobs/${encodeURIComponent(id)}`);
    } catch (error) {
      gone = true;
      return main.replaceChildren(title, empty(error.message, h("p", {}, h("a", { href: "#/jobs" }, "All jobs"))));
    }
    why = ["waiting", "on-hold", "needs-approval"].includes(job.state) ? await get(`/v1/jobs/${job.id}/why`) : null;
    draw();
    busy.ask(job);
  }

  function draw() {
    const { board } = live;
    const active = [...board.running, ...board.waiting].find((j) => j.id === job.id);
    const shown = active ? { ...job, ...active } : job;
    fill(title, `Job ${shown.id} `, h("span", { class: "soft" }, shown.name));
    fill(doing, actions(shown));
    const fact = (name, value) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value));
    const ended = shown.ended !== null;
    fill(facts, h("dl", {},
      fact("State", [state(shown.state), shown.reason && !ended ? h("span", { class: "soft" }, ` ${shown.reason}`) : null]),
      fact("Cost so far", money(shown.cost)),
      fact("GPU-hours", shown.gpu_hours.toFixed(2)),
      fact("Wants", `${gpus(shown.gpu_milli)} GPUs${shown.tasks > 1 ? ` in ${shown.tasks} tasks` : ""}`),
      fact("Queue", shown.queue), fact("User", shown.user),
      fact("Submitted", time(shown.submitted)),
      fact(ended ? "Ended" : shown.started ? "Runs since" : "Waits for",
        ended ? time(shown.ended) : shown.started ? time(shown.started) : since(shown.submitted, board.now)),
      fact("Started", shown.starts === 0 ? "never" : shown.starts === 1 ? "once" : `${shown.starts} times`),
      shown.placed.length > 0 && fact("On", places(shown)),
      shown.deadline && fact("Deadline", time(shown.deadline)),
      shown.time_limit_s && fact("Time limit", span(shown.time_limit_s)),
      shown.trial && fact("Trial of", trialText(shown.trial)),
      shown.after.length > 0 && fact("After", shown.after.map((other, i) => [i > 0 && ", ", h("a", { href: `#/jobs/${other}` }, other)])),
      Object.keys(shown.tags).length > 0 && fact("Tags", Object.entries(shown.tags).map(([k, v]) => `${k}=${v}`).join(", ")),
      fact("Command", h("code", {}, shown.command))));
    fill(reason, why && [h("h2", {}, "Why it waits"), h("pre", { tabindex: "0" }, why.text)]);
    fill(history, shown.ends.length > 0 && [h("h2", {}, "Launches that ended"),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Launches that ended" }, table("Launches that ended", [
        { title: "Task", cell: (e) => `${e.task}.${e.attempt}` },
        { title: "Machine", cell: (e) => `${e.node}${e.gpus.length ? `:${ranges(e.gpus)}` : ""}` },
        { title: "Started", number: true, cell: (e) => time(e.started) },
        { title: "Ran for", number: true, cell: (e) => span((Date.parse(e.ended) - Date.parse(e.started)) / 1000) },
        { title: "Ended by", cell: (e) => (e.signal ? `signal ${e.signal}` : `exit code ${e.exit_code}`) },
        { title: "What happened", cell: (e) => e.detail || "–" },
      ], [...shown.ends].reverse(), (e) => `${e.task}.${e.attempt}`))]);
    log.tell(shown);
  }

  return {
    update() {
      if (gone) return;
      const newest = live.events.find((e) => e.job === (job?.id ?? id))?.id;
      const active = job && !job.ended;
      if (!job || newest !== seen || (active && Date.now() - asked > AGAIN_MS * 4)) {
        seen = newest;
        ask();
      } else {
        draw();
      }
    },
    unmount() {
      busy.close();
      log.close();
    },
  };
}

const time = (t) => h("time", { datetime: t, title: fullTime(t) }, when(t));

const MOST_GPUS = 16;

/// How busy the GPUs of its last launches were, on average, minute by minute.
function utilization() {
  const chart = curve("How busy its GPUs are", { max: 1, height: 150 });
  const element = h("section");
  let drawn = false;

  /// [node, gpu, from, to] of what it has now, else of what it had last.
  function stretches(job) {
    const now = job.placed.flatMap((t) => t.gpus.map((gpu) => [t.node, gpu, t.started, null]));
    if (now.length > 0) return now;
    const last = Math.max(...job.ends.map((e) => Date.parse(e.started)));
    return job.ends.filter((e) => Date.parse(e.started) === last).flatMap((e) => e.gpus.map((gpu) => [e.node, gpu, e.started, e.ended]));
  }

  async function ask(job) {
    if (!job.first_started || job.gpu_milli === 0) return fill(element);
    const list = may("gpuMinutes") ? stretches(job).slice(0, MOST_GPUS) : [];
    const answers = await Promise.all(list.map(async ([node, gpu, from]) => {
      try {
        return await get(`/v1/gpus/${encodeURIComponent(`${node}:${gpu}`)}/minutes?metric=utilization&from=${encodeURIComponent(from)}`);
      } catch {
        return { minutes: [] };  // a GPU of which nothing is known
      }
    }));
    const sums = new Map();
    let simulated = false;
    answers.forEach((answer, i) => {
      const to = list[i][3] ? Date.parse(list[i][3]) : Infinity;
      simulated ||= Boolean(live.gpus.get(`${list[i][0]}/${list[i][1]}`)?.simulated);
      for (const minute of answer.minutes) {
        const at = Date.parse(minute.begin) / 1000;
        if (at * 1000 >= to) continue;
        const [sum, n] = sums.get(at) ?? [0, 0];
        sums.set(at, [sum + minute.mean, n + 1]);
      }
    });
    const times = [...sums.keys()].sort((a, b) => a - b);
    const title = h("h2", {}, "Utilisation");
    if (times.length < 2) {
      drawn = false;
      return fill(element, title, h("p", { class: "soft" }, "Not measured",
        live.board.backend === "simulated" ? ": its GPUs are simulated." : times.length === 1 ? " for longer than a minute yet." : "."));
    }
    if (!drawn) element.replaceChildren(title, chart.element);
    drawn = true;
    chart.set(times, times.map((t) => sums.get(t)[0] / sums.get(t)[1] / 100), percent);
  }

  return { element, ask, close: chart.close };
}

/// What the job prints: its last pieces, followed while it runs.
function logView(id) {
  let stream = "output";
  let next = -LOG_SHOWN;
  let timer = null;
  let over = false;
  let started = false;
  const text = h("pre", { class: "log", tabindex: "0", "aria-label": "What it prints" });
  const tools = h("div");
  const note = h("p", { class: "soft" });
  const element = h("section", {}, h("div", { class: "heading" }, h("h2", {}, "What it prints"), tools), text, note);

  async function ask() {
    clearTimeout(timer);
    const mine = stream;
    try {
      const answer = await getRaw(`/v1/jobs/${encodeURIComponent(id)}/logs?stream=${stream}&offset=${next}`);
      const piece = await answer.text();
      if (mine !== stream) return;
      next = Number(answer.headers.get("stint-log-next"));
      const end = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
      if (piece) text.append(piece);
      if (end) text.scrollTop = text.scrollHeight;
      over = answer.headers.get("stint-log-complete") === "true";
      note.textContent = text.textContent ? (over ? "" : "Followed while it runs.") : over ? "It printed nothing." : "Nothing printed yet.";
      text.hidden = !text.textContent;
    } catch (error) {
      text.hidden = true;
      note.textContent = error.message;
      over = true;
    }
    if (!over) timer = setTimeout(() => (document.hidden ? (timer = setTimeout(ask, LOG_AGAIN_MS)) : ask()), LOG_AGAIN_MS);
  }

  function choose() {
    fill(tools, choice("Which of the two", STREAMS, stream, (value) => {
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
