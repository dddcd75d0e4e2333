// Who had which GPU when: a bar for each run in a row for each GPU; machines and groups of them fold to a strip that says how much
// was held. And the queue before it, with the reasons.
import { get } from "./api.js";
import { isArray } from "./arrays.js";
import { axis } from "./axis.js";
import { choice } from "./chart.js";
import { empty, fill, h } from "./dom.js";
import { fullTime, gpuWords, percent, since, span, things } from "./format.js";
import { groupChooser, groupNodes, groupedBy } from "./groups.js";
import { whyCell } from "./jobs.js";
import { live } from "./live.js";
import { keep, kept } from "./url.js";

const HOURS = { 1: "1 h", 6: "6 h", 24: "24 h", 168: "7 d" };
const AGAIN_MS = 5_000;
const MOST_RUNS = 2_000;
const LARGE = 100;  // machines: then more runs are asked for, less often
const COLOURS = 8;
const PIECES = 96;  // of a strip
const OPEN_MACHINES = 8;  // up to so many are open at first
const OPEN_GROUPS = 40;  // machines: up to so many, groups are

export function mount(main) {
  let hours = kept("hours", "1") in HOURS ? kept("hours", "1") : "1";
  let answer = null;
  let asked = 0;
  let at = null;  // the run that is looked at
  const turned = new Set();  // groups and machines that are not as they were at first
  const range = h("div", { class: "filters" });
  const chart = h("div", { class: "gantt" });
  const note = h("p", { class: "soft" });
  const waiting = h("section");
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Timeline"), range), note, chart, waiting);
  live.whys = 20;

  async function ask() {
    asked = Date.now();
    const mine = hours;
    const got = await get(`/v1/timeline?hours=${hours}&limit=${isLarge() ? 5 * MOST_RUNS : MOST_RUNS}`);
    if (mine !== hours || !live.board) return;
    answer = got;
    draw();
  }

  function draw() {
    const { board } = live;
    const machines = board.nodes.filter((n) => n.gpus > 0);
    // It begins when the daemon did, where that is later; at least a minute is shown.
    const to = Date.parse(answer.to);
    const from = Math.min(Math.max(Date.parse(answer.from), Date.parse(board.begins)), to - 60_000);
    const colours = new Map(board.queues.filter((q) => q.parent === "").map((q, i) => [q.path, i % COLOURS]));
    const byNode = new Map(machines.map((n) => [n.name, []]));
    for (const run of answer.runs) byNode.get(run.node)?.push(run);
    if (!answer.runs.some((run) => keyOf(run) === at)) at = answer.runs.length ? keyOf(answer.runs[0]) : null;
    fill(note, answer.runs.length === 0 ? "" : [[...colours].map(([client, c]) => h("span", { class: "swatch", key: client }, h("i", { class: `c${c}` }), client)),
      h("span", { class: "swatch", key: "-stopped" }, h("i", { class: "run-mark stopped" }), "stopped or preempted"), h("span", { class: "swatch", key: "-failed" }, h("i", { class: "run-mark failed" }), "failed"), h("span", { class: "swatch", key: "-strip" }, h("i", { class: "shades" }), "strips: the darker, the more GPUs held"),
      answer.left_out > 0 && ` The latest ${answer.runs.length} runs; ${answer.left_out} older ones are left out.`,
      Date.parse(answer.complete_from) > from && ` Complete from ${fullTime(answer.complete_from)}: jobs that had ended by then have left the daemon's memory.`]);
    if (answer.runs.length === 0) return fill(chart, empty("No job ran in this time", "Choose a longer time, or submit a job."));
    const by = groupedBy(machines, {});
    const frame = { from, to, colours, byNode };
    const groups = groupNodes(machines, by);
    fill(chart, axis(from, to, chart), groups.map(([name, members]) => {
      const open = by === "none" || (machines.length <= OPEN_GROUPS) !== turned.has(`group ${name}`);
      const lanes = open ? members.map((node) => lane(node, (machines.length <= OPEN_MACHINES) !== turned.has(node.name), frame)) : null;
      if (by === "none" || groups.length === 1) return open ? lanes : [header(name, members, open, frame)];
      return h("div", { class: "lane-group", key: `group ${name}` }, header(name, members, open, frame), lanes);
    }));
    const first = chart.querySelector(".run[tabindex='0']") ?? chart.querySelector(".run");
    if (first) first.tabIndex = 0;
  }

  const isLarge = () => live.board.nodes.length > LARGE;
  const fold = (key) => () => {
    if (turned.has(key)) turned.delete(key);
    else turned.add(key);
    draw();
  };
  const folder = (key, open, label, more) => h("button", { type: "button", class: "fold", "aria-expanded": String(open), onclick: fold(key) }, h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), label, more);

  function header(name, members, open, frame) {
    return h("div", { class: "lane group-lane", key: `header ${name}` }, h("div", { class: "lane-name" }, folder(`group ${name}`, open, name, h("span", { class: "soft" }, ` ${members.length}`))), strip(`${name}, ${things(members.length, "machine")}`, members, frame));
  }

  /// How much of these machines' GPUs was held, piece by piece: the darker the more.
  function strip(label, members, { from, to, byNode }) {
    const held = new Array(PIECES).fill(0);
    const length = (to - from) / PIECES;
    for (const node of members)
      for (const run of byNode.get(node.name)) {
        const began = Math.max(Date.parse(run.started), from);
        const ended = run.ended ? Date.parse(run.ended) : to;
        for (let i = Math.floor((began - from) / length); i < PIECES && from + i * length < ended; ++i)
          held[i] += (run.gpu_milli / 1000) * Math.max(0, Math.min(ended, from + (i + 1) * length) - Math.max(began, from + i * length));
      }
    const whole = members.reduce((sum, n) => sum + n.gpus, 0) * length;
    const shares = held.map((h) => Math.min(1, h / whole));
    const steps = [];
    shares.forEach((share, i) => {
      const percents = Math.round(share * 20) * 5;
      if (steps.at(-1)?.percents === percents) steps.at(-1).end = i + 1;
      else steps.push({ percents, begin: i, end: i + 1 });
    });
    const mean = shares.reduce((a, b) => a + b, 0) / PIECES;
    const place = (i) => `${((i / PIECES) * 100).toFixed(2)}%`;
    return h("div", {
      class: "lane-rows strip", role: "img", "aria-label": `${label}: ${percent(mean)} held on average`, title: `${label}: ${percent(mean)} held on average`,
      style: { background: `linear-gradient(90deg, ${steps.map((s) => `color-mix(in oklab, var(--accent) ${s.percents}%, var(--panel)) ${place(s.begin)} ${place(s.end)}`).join(", ")})` },
    });
  }

  function lane(node, open, frame) {
    const { from, to, colours, byNode } = frame;
    const name = h("div", { class: "lane-name" }, folder(node.name, open, node.name));
    if (!open) return h("div", { class: "lane", key: node.name }, name, strip(node.name, [node], frame));
    const place = (time) => `${((Math.max(from, time) - from) / (to - from)) * 100}%`;
    return h("div", { class: "lane", key: node.name }, name,
      h("div", { class: "lane-rows", style: { "--rows": node.gpus } }, byNode.get(node.name).flatMap((run) => stretches(run.gpus).map(([first, length]) => {
        const began = Date.parse(run.started);
        const ended = run.ended ? Date.parse(run.ended) : to;
        const how = run.end === "" || run.end === "ok" ? "" : run.end === "stopped" ? " stopped" : " failed";
        return h("a", {
          key: `${keyOf(run)}.${first}`, href: `#/jobs/${run.job}`, "data-run": keyOf(run), tabindex: keyOf(run) === at && first === run.gpus[0] ? "0" : "-1",
          class: `run c${colours.get(run.queue.split("/")[0])}${how}${run.ended ? "" : " open"}`,
          style: { left: place(began), width: `calc(max(2px, ${((Math.max(ended, from) - Math.max(began, from)) / (to - from)) * 100}%))`,
            top: `calc(${first} * var(--row))`, height: `calc(${length} * var(--row) - 1px)` },
          "aria-label": `Job ${run.job}, ${run.name}, ${run.node} GPU ${run.gpus.join(", ")}, ${fullTime(run.started)}, ${span((ended - began) / 1000)}, ${run.end || "running"}`,
          title: `Job ${run.job} ${run.name} (${run.user}, ${run.queue})\n${gpuWords(run.gpu_milli)}, from ${fullTime(run.started)} for ${span((ended - began) / 1000)}\n${run.end || "running"}`,
        }, h("span", {}, `${run.job} ${run.name}`));
      }))));
  }

  // One stop for the tab key; arrows walk from run to run in time.
  chart.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const here = event.target.closest("[data-run]");
    if (!step || !here) return;
    event.preventDefault();
    const drawn = new Set([...chart.querySelectorAll("[data-run]")].map((link) => link.dataset.run));
    const keys = answer.runs.map(keyOf).filter((key) => drawn.has(key));
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
      fill(range, groupChooser(board.nodes.filter((n) => n.gpus > 0), {}, () => answer && draw()), choice("Time shown", HOURS, hours, (value) => {
        hours = value;
        keep({ hours: value === "1" ? "" : value });
        ask();
      }));
      if (Date.now() - asked > (isLarge() ? 6 * AGAIN_MS : AGAIN_MS)) ask();
      fill(waiting, h("h2", {}, "Waiting"), board.waiting.length === 0 ? h("p", { class: "soft" }, "No job waits.") :
        h("ul", { class: "plain" }, board.waiting.slice(0, 20).map((job) => h("li", { key: job.id },
          h("a", { href: `#/jobs/${job.id}` }, `${isArray(job) ? "Array" : "Job"} ${job.id}`), ` ${job.name}, ${gpuWords(job.gpu_milli)}, for ${since(job.submitted, board.now)}: `,
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
