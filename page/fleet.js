// Every GPU of every machine as a cell: how much of it is held, how busy, full and hot it is.
import { post } from "./api.js";
import { choice } from "./chart.js";
import { action, empty, fill, h, say, state, table } from "./dom.js";
import { bytes, count, finePrice, gpus, money, percent } from "./format.js";
import { live, may, refresh } from "./live.js";

const MODES = { held: "Held", busy: "Busy", memory: "Memory", heat: "Temperature" };

const DENSE_ABOVE = 200;  // GPUs: then cells are small

export function mount(main) {
  let mode = "held";
  let at = null;  // the cell that is looked at: "node/gpu"
  live.wantsGpus = true;
  const modes = h("div");
  const grid = h("div", { class: "grid", role: "grid", "aria-label": "GPUs", onkeydown: walk, onmouseover: look, onclick: open });
  grid.addEventListener("focusin", look);  // which has no property
  const panel = h("aside", { class: "panel", "aria-label": "The GPU looked at" });
  const legend = h("div", { class: "legend" });
  const beside = h("div", { class: "beside" }, grid, panel), none = h("div");
  const nodes = h("section"), replicas = h("section"), services = h("section");
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Fleet"), modes), legend, beside, none, nodes, replicas, services);

  function choose() {
    fill(modes, choice("What the colours show", MODES, mode, (value) => {
      mode = value;
      update();
    }));
  }

  function look(event) {
    const cell = event.target.closest?.("[data-gpu]");
    if (!cell || cell.dataset.gpu === at) return;
    at = cell.dataset.gpu;
    for (const other of grid.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    cell.tabIndex = 0;
    showPanel();
  }

  function open(event) {
    const cell = event.target.closest("[data-gpu]");
    const held = cell && holders().get(cell.dataset.gpu);
    if (held?.length) location.hash = `#/jobs/${held[0].id}`;
  }

  function walk(event) {
    const cells = [...grid.querySelectorAll("[data-gpu]")];
    const i = cells.findIndex((c) => c.dataset.gpu === at);
    if (i < 0) return;
    const row = cells[i].parentElement;
    const column = [...row.children].indexOf(cells[i]);
    const rowAt = (step) => {
      let other = row;
      do other = step > 0 ? other.nextElementSibling : other.previousElementSibling;
      while (other && other.children.length < 2);
      return other?.children[Math.min(column, other.children.length - 1)];
    };
    const next = { ArrowRight: () => cells[i + 1], ArrowLeft: () => cells[i - 1], ArrowDown: () => rowAt(1), ArrowUp: () => rowAt(-1),
      Home: () => cells[0], End: () => cells.at(-1) }[event.key]?.();
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return open({ target: cells[i] });
    }
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  /// "node/gpu" → jobs on it.
  function holders() {
    const found = new Map();
    for (const job of live.board.running)
      for (const task of job.placed)
        for (const gpu of task.gpus) {
          const key = `${task.node}/${gpu}`;
          if (!found.has(key)) found.set(key, []);
          if (!found.get(key).includes(job)) found.get(key).push(job);
        }
    return found;
  }

  /// Of a GPU in this mode: {share: 0…1 or null, words}.
  function reading(node, gpu) {
    if (node.state === "down" || node.state === "off") return { share: null, words: `the machine is ${node.state}` };
    if (mode === "held") {
      if (!node.gpu_milli_held) return { share: null, words: "not shown to you" };
      const milli = node.gpu_milli_held[gpu];
      return { share: milli / 1000, words: milli === 0 ? "free" : milli === 1000 ? "held" : `${percent(milli / 1000)} held` };
    }
    const sample = live.gpus.get(`${node.name}/${gpu}`);
    const value = { busy: sample?.busy, memory: sample?.memory, heat: sample?.celsius }[mode] ?? null;
    if (value === null) return { share: null, words: "not measured" };
    if (mode === "heat") return { share: Math.min(1, Math.max(0, (value - 30) / 60)), words: `${Math.round(value)} °C` };
    return { share: value, words: percent(value) };
  }

  function showPanel() {
    const [name, index] = at ? at.split(/\/(?=\d+$)/) : [];
    const node = live.board.nodes.find((n) => n.name === name);
    if (!node) return fill(panel, h("p", { class: "soft" }, "Point at a GPU, or walk there with the arrow keys, to see what it does."));
    const gpu = Number(index);
    const jobs = holders().get(at) ?? [];
    const sample = live.gpus.get(at);
    const held = node.gpu_milli_held?.[gpu];
    fill(panel, h("h2", {}, `${node.name}, GPU ${gpu}`),
      h("dl", {},
        fact("Model", node.gpu_model),
        fact("Machine", state(node.state)),
        fact("Held", held === undefined ? "not shown to you" : held === 0 ? "by nobody" : percent(held / 1000)),
        fact("Busy", sample?.busy == null ? "not measured" : percent(sample.busy)),
        fact("Memory", [sample?.memory == null ? "not measured" : percent(sample.memory), node.gpu_memory_bytes > 0 && `${sample?.memory == null ? "," : ""} of ${bytes(node.gpu_memory_bytes)}`]),
        fact("Temperature", sample?.celsius == null ? "not measured" : `${Math.round(sample.celsius)} °C`),
        sample?.watts != null && fact("Power", `${Math.round(sample.watts)} W`),
        sample?.source && fact("Measured by", sample.simulated ? "nobody: simulated" : sample.source),
        fact("Price", `${money({ ...node.per_hour, amount: Number(node.per_hour.amount) / node.gpus })}/h`)),
      strangers(sample).map((p) => h("p", { key: `p${p.pid}`, class: "warn" }, `${p.command || "a process"} (${p.pid}) belongs to no job`)),
      jobs.map((job) => h("p", { key: job.id }, h("a", { href: `#/jobs/${job.id}` }, `Job ${job.id}`), ` ${job.name}, ${job.user} (${job.queue})`)));
  }

  function update() {
    const { board } = live;
    choose();
    const withGpus = board.nodes.filter((n) => n.gpus > 0);
    for (const shown of [modes, legend, beside]) shown.hidden = withGpus.length === 0;
    fill(none, withGpus.length === 0 && empty("No machine with a GPU", "Name machines in the daemon's configuration and send it SIGHUP."));
    const held = holders();
    at ??= withGpus.length ? `${withGpus[0].name}/0` : null;
    grid.classList.toggle("dense", withGpus.reduce((sum, n) => sum + n.gpus, 0) > DENSE_ABOVE);
    fill(grid, withGpus.map((node) => h("div", { class: `node ${node.state}`, role: "row", key: node.name },
      h("div", { class: "node-name", role: "rowheader" }, node.name, node.state !== "up" ? h("span", { class: "soft" }, " ", node.state) : null),
      Array.from({ length: node.gpus }, (_, gpu) => {
        const key = `${node.name}/${gpu}`;
        const { share, words } = reading(node, gpu);
        const jobs = held.get(key) ?? [];
        return h("div", {
          key, role: "gridcell", tabindex: key === at ? "0" : "-1", "data-gpu": key,
          class: share === null ? "cell unknown" : mode === "heat" ? "cell heat" : "cell", style: share === null ? {} : { "--share": `${Math.round(share * 100)}%` },
          "aria-label": `${node.name} GPU ${gpu}: ${words}${jobs.length ? `, job ${jobs.map((j) => j.id).join(", ")}` : ""}`,
        });
      }))));
    fill(legend, h("span", {}, mode === "heat" ? "30 °C" : mode === "held" ? "free" : "0 %"), h("span", { class: mode === "heat" ? "ramp heat" : "ramp" }),
      h("span", {}, mode === "heat" ? "90 °C" : mode === "held" ? "held" : "100 %"), h("span", { class: "ramp unknown" }), h("span", {}, mode === "held" ? "not shown, or down" : "not measured"));
    showPanel();
    fill(nodes, h("h2", {}, "Machines"), nodeTable(board));
    fill(replicas, live.replicas.length > 0 && [h("h2", {}, "Services run here"), replicaTable()]);
    fill(services, live.services.length > 0 && [h("h2", {}, "Inference services"), serviceTable()]);
  }

  return { update };
}

const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];

/// Processes on it that no job has started.
const strangers = (sample) => (sample?.processes ?? []).filter((p) => p.job === null);

function serviceTable() {
  const columns = [
    { title: "Service", cell: (s) => s.service },
    { title: "Servers", number: true, cell: (s) => s.servers },
    { title: "Requests per second", number: true, cell: (s) => (s.requests_per_second === null ? "–" : count(s.requests_per_second)) },
    { title: "99 % answered in", number: true, cell: (s) => (s.p99_ms === null ? "–" : `${count(s.p99_ms)} ms`) },
    { title: "Promise headroom", number: true, cell: (s) => (s.promise_headroom === null ? "nothing promised"
      : s.promise_headroom < 0 ? h("strong", { class: "bad" }, `broken: ${percent(-s.promise_headroom)} too much`) : percent(s.promise_headroom)) },
  ];
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Inference services" }, table("Inference services", columns, live.services, (s) => s.service));
}

function replicaTable() {
  const columns = [
    { title: "Service", cell: (s) => s.name },
    { title: "Replicas ready", number: true, cell: (s) => `${s.ready} of ${s.wanted}` },
    { title: "Limits", number: true, cell: (s) => `${s.min} to ${s.max}` },
    { title: "Used of the promise", number: true, cell: (s) => (s.utilization === null ? "–" : percent(s.utilization)) },
    { title: "1,000 requests cost", number: true, cell: (s) => finePrice(s.per_thousand_requests) },
    { title: "So many because of", cell: (s) => s.reason },
    { title: "Replicas", cell: (s) => s.replicas.map((r, i) => [i > 0 && ", ", h("a", { href: `#/jobs/${r.job}` }, r.job), r.state !== "ready" && ` ${r.state}`, !r.current && " (to be replaced)"]), class: "wide" },
    { title: "Trouble", cell: (s) => (s.trouble ? h("strong", { class: "bad" }, s.trouble) : "–"), class: "wide" },
  ];
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Services run here" }, table("Services run here", columns, live.replicas, (s) => s.name));
}

function nodeTable(board) {
  const columns = [
    { title: "Machine", cell: (n) => n.name },
    { title: "State", cell: (n) => state(n.state) },
    { title: "GPUs", number: true, cell: (n) => n.gpus },
    { title: "Model", cell: (n) => n.gpu_model || "–" },
    { title: "Held", number: true, cell: (n) => (n.gpu_milli_held ? gpus(n.gpu_milli_held.reduce((a, b) => a + b, 0)) : "–") },
    { title: "Jobs", cell: (n) => (n.jobs.length ? [n.jobs.slice(0, 6).map((id, i) => [i > 0 && ", ", h("a", { href: `#/jobs/${id}` }, id)]), n.jobs.length > 6 && ` and ${n.jobs.length - 6} more`] : "–"), class: "wide" },
    { title: "Market", cell: (n) => n.market, class: "wide" },
    { title: "Price per hour", number: true, cell: (n) => money(n.per_hour) },
  ];
  if (may("drainNode"))
    columns.push({ title: "Do", cell: (n) => (n.state === "up"
      ? action("Drain", async () => { await post(`/v1/nodes/${encodeURIComponent(n.name)}/drain`); say(`${n.name} starts nothing new.`); await refresh(); }, { title: "Start nothing new there; what runs goes on" })
      : action(n.state === "off" ? "Switch on" : "Take back", async () => { const { state: now } = await post(`/v1/nodes/${encodeURIComponent(n.name)}/up`); say(now === "up" ? `${n.name} is up.` : `${n.name} is being switched on.`); await refresh(); })) });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Machines" }, table("Machines", columns, board.nodes, (n) => n.name));
}
