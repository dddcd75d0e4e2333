// Who had which GPU when: a row for each GPU, a bar for each run. And the queue before it, with the reasons.
import { get } from "./api.js";
import { choice } from "./chart.js";
import { empty, fill, h } from "./dom.js";
import { fullTime, gpus, since, span, timeOfDay, when } from "./format.js";
import { whyCell } from "./jobs.js";
import { live } from "./live.js";

const HOURS = { 1: "1 h", 6: "6 h", 24: "24 h", 168: "7 d" };
const AGAIN_MS = 5_000;
const COLOURS = 8;

export function mount(main) {
  let hours = "1";
  let answer = null;
  let asked = 0;
  let at = null;  // the run that is looked at
  const range = h("div");
  const chart = h("div", { class: "gantt" });
  const note = h("p", { class: "soft" });
  const waiting = h("section");
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Timeline"), range), note, chart, waiting);
  live.whys = 20;

  async function ask() {
    asked = Date.now();
    const mine = hours;
    const got = await get(`/v1/timeline?hours=${hours}`);
    if (mine !== hours) return;
    answer = got;
    draw();
  }

  function draw() {
    const { board } = live;
    const from = Date.parse(answer.from);
    const to = Date.parse(answer.to);
    const place = (time) => `${((Math.max(from, time) - from) / (to - from)) * 100}%`;
    const colours = new Map(board.queues.filter((q) => q.parent === "").map((q, i) => [q.path, i % COLOURS]));
    const byNode = new Map(board.nodes.filter((n) => n.gpus > 0).map((n) => [n.name, []]));
    for (const run of answer.runs) byNode.get(run.node)?.push(run);
    const keys = answer.runs.map(keyOf);
    if (!keys.includes(at)) at = keys[0] ?? null;
    fill(note, answer.runs.length === 0 ? "" : [[...colours].map(([client, c]) => h("span", { class: "swatch", key: client }, h("i", { class: `c${c}` }), client)),
      h("span", { class: "swatch", key: "-stopped" }, h("i", { class: "run-mark stopped" }), "told to stop"), h("span", { class: "swatch", key: "-failed" }, h("i", { class: "run-mark failed" }), "failed"),
      answer.left_out > 0 && ` The latest ${answer.runs.length} runs; ${answer.left_out} older ones are left out.`,
      Date.parse(answer.complete_from) > from && ` Complete from ${fullTime(answer.complete_from)}: jobs that had ended by then have left the daemon's memory.`]);
    if (answer.runs.length === 0) return fill(chart, empty("Nothing ran in this time", "Choose a longer time, or submit a job."));
    fill(chart, axis(from, to), board.nodes.filter((n) => n.gpus > 0).map((node) =>
      h("div", { class: "lane", key: node.name },
        h("div", { class: "lane-name" }, node.name),
        h("div", { class: "lane-rows", style: { "--rows": node.gpus } }, byNode.get(node.name).flatMap((run) => stretches(run.gpus).map(([first, length]) => {
          const began = Date.parse(run.started);
          const ended = run.ended ? Date.parse(run.ended) : to;
          const how = run.end === "" || run.end === "ok" ? "" : run.end === "stopped" ? " stopped" : " failed";
          const key = `${keyOf(run)}.${first}`;
          return h("a", {
            key, href: `#/jobs/${run.job}`, "data-run": keyOf(run), tabindex: keyOf(run) === at && first === run.gpus[0] ? "0" : "-1",
            class: `run c${colours.get(run.queue.split("/")[0])}${how}${run.ended ? "" : " open"}`,
            style: { left: place(began), width: `calc(max(2px, ${((Math.max(ended, from) - Math.max(began, from)) / (to - from)) * 100}%))`,
              top: `calc(${first} * var(--row))`, height: `calc(${length} * var(--row) - 1px)` },
            "aria-label": `Job ${run.job}, ${run.name}, ${run.node} GPU ${run.gpus.join(", ")}, ${fullTime(run.started)}, ${span((ended - began) / 1000)}, ${run.end || "running"}`,
            title: `Job ${run.job} ${run.name} (${run.user}, ${run.queue})\n${gpus(run.gpu_milli)} GPUs, from ${fullTime(run.started)} for ${span((ended - began) / 1000)}\n${run.end || "running"}`,
          }, h("span", {}, `${run.job} ${run.name}`));
        }))))));
  }

  // One stop for the tab key; arrows walk from run to run in time.
  chart.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const here = event.target.closest("[data-run]");
    if (!step || !here) return;
    event.preventDefault();
    const keys = answer.runs.map(keyOf);
    const next = keys[keys.indexOf(here.dataset.run) + step];
    const link = next && chart.querySelector(`[data-run="${CSS.escape(next)}"]`);
    if (!link) return;
    at = next;
    here.tabIndex = -1;
    link.tabIndex = 0;
    link.focus();
  };

  return {
    update() {
      const { board } = live;
      fill(range, choice("Time shown", HOURS, hours, (value) => {
        hours = value;
        ask();
      }));
      if (Date.now() - asked > AGAIN_MS) ask();
      fill(waiting, h("h2", {}, "Waiting"), board.waiting.length === 0 ? h("p", { class: "soft" }, "Nobody waits.") :
        h("ul", { class: "plain" }, board.waiting.slice(0, 20).map((job) => h("li", { key: job.id },
          h("a", { href: `#/jobs/${job.id}` }, `Job ${job.id}`), ` ${job.name}, ${gpus(job.gpu_milli)} GPUs, for ${since(job.submitted, board.now)}: `,
          h("span", { class: "soft" }, whyCell(job))))));
    },
  };
}

const keyOf = (run) => `${run.job}.${run.attempt}.${run.task}`;

/// [0, 1, 2, 5] → [[0, 3], [5, 1]].
function stretches(list) {
  const out = [];
  for (const gpu of list) {
    const last = out.at(-1);
    if (last && last[0] + last[1] === gpu) ++last[1];
    else out.push([gpu, 1]);
  }
  return out;
}

function axis(from, to) {
  const steps = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((m) => m * 60_000);
  const step = steps.find((s) => (to - from) / s <= 8) ?? steps.at(-1);
  const marks = [];
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  for (let t = Math.ceil((from - zone) / step) * step + zone; t < to; t += step) marks.push(t);
  return h("div", { class: "lane axis", key: "axis", "aria-hidden": true }, h("div", { class: "lane-name" }),
    h("div", { class: "lane-rows" }, marks.map((t) => h("span", { key: t, class: (t - from) / (to - from) > 0.88 ? "late" : null, style: { left: `${((t - from) / (to - from)) * 100}%` } }, step >= 1440 * 60_000 || to - from > 86_400_000 ? when(t) : timeOfDay(t)))));
}
