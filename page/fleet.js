// The fleet in groups of machines: how much of it is held, how busy, full and hot it is. A cell is a GPU; of a large fleet a machine.
import { post } from "./api.js";
import { choice } from "./chart.js";
import { action, empty, fill, h, say, scroll, state, table } from "./dom.js";
import { bytes, count, finePrice, gpus, money, percent, things, when } from "./format.js";
import { groupChooser, groupNodes, groupedBy, rackOf, sortGroups } from "./groups.js";
import { live, may, refresh } from "./live.js";
import { inOrder, sortable } from "./tables.js";
import { keep, kept } from "./url.js";

const MODES = { held: "Held", busy: "Busy", memory: "Memory", heat: "Temperature" };
const ALSO_BY = { client: "Client" };
const DENSE_ABOVE = 200;  // GPUs: then cells are small
const MACHINES_ABOVE = 2_000;  // GPUs: then a cell is a machine
const ROWS = 50;

export function mount(main) {
  let mode = kept("show", "held") in MODES ? kept("show", "held") : "held";
  let at = null;  // the cell that is looked at: "node/gpu", or "node/" of a machine
  let all = false;
  const closed = new Set();  // groups
  live.wantsGpus = true;
  const modes = h("div", { class: "filters" });
  const groups = h("div", { class: "groups", onkeydown: walk, onmouseover: look, onclick: open });
  groups.addEventListener("focusin", look);  // which has no property
  const panel = h("aside", { class: "panel", "aria-label": "The GPU looked at" });
  const legend = h("div", { class: "legend" });
  const beside = h("div", { class: "beside" }, groups, panel), none = h("div");
  const search = h("input", {
    type: "search", size: 22, placeholder: "Name, model, state", "aria-label": "Show machines of this name, model or state", props: { value: kept("q") },
    oninput: () => {
      keep({ q: search.value.trim() });
      update();
    },
  });
  const strangers = h("section"), heldBack = h("section"), nodes = h("section"), machines = h("div"), replicas = h("section"), services = h("section");
  nodes.append(h("div", { class: "heading" }, h("h2", {}, "Machines"), search), machines);
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Fleet"), modes), legend, beside, none, strangers, heldBack, nodes, replicas, services);

  function look(event) {
    const cell = event.target.closest?.("[data-gpu]");
    if (!cell || cell.dataset.gpu === at) return;
    at = cell.dataset.gpu;
    for (const other of groups.querySelectorAll("[data-gpu][tabindex='0']")) other.tabIndex = -1;
    cell.tabIndex = 0;
    showPanel();
  }

  function open(event) {
    const cell = event.target.closest("[data-gpu]");
    const held = cell && jobsAt(cell.dataset.gpu, holders());
    if (held?.length) location.hash = `#/jobs/${held[0].id}`;
  }

  function walk(event) {
    const cells = [...groups.querySelectorAll("[data-gpu]")];
    const i = cells.findIndex((c) => c === event.target);
    if (i < 0) return;
    const row = cells[i].parentElement;
    const column = [...row.children].indexOf(cells[i]);
    const rows = [...groups.querySelectorAll("[role=row]")];
    // Of machines a row of the screen is one of the grid; of GPUs a machine is.
    const above = cells.slice(0, i).findLast((c) => c.offsetTop < cells[i].offsetTop && c.offsetLeft <= cells[i].offsetLeft);
    const below = cells.slice(i + 1).find((c) => c.offsetTop > cells[i].offsetTop && c.offsetLeft >= cells[i].offsetLeft);
    const rowAt = (step) => {
      if (row.classList.contains("machines")) return step > 0 ? below : above;
      const other = rows[rows.indexOf(row) + step];
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

  /// Of a GPU, or of all of a machine ("node/").
  function jobsAt(key, held) {
    if (!key.endsWith("/")) return held.get(key) ?? [];
    const node = live.board.nodes.find((n) => `${n.name}/` === key);
    return [...new Set(Array.from({ length: node?.gpus ?? 0 }, (_, gpu) => held.get(key + gpu) ?? []).flat())];
  }

  /// Of a GPU in this mode: {share: 0…1 or null, words}.
  function reading(node, gpu) {
    if (node.state === "down" || node.state === "off") return { share: null, words: `the machine is ${node.state}` };
    if (mode === "held") {
      if (!node.gpu_milli_held) return { share: null, words: "not shown to you" };
      const milli = node.gpu_milli_held[gpu];
      return { share: milli / 1000, words: milli === 0 ? "idle" : milli === 1000 ? "held" : `${percent(milli / 1000)} held` };
    }
    const sample = live.gpus.get(`${node.name}/${gpu}`);
    const value = { busy: sample?.busy, memory: sample?.memory, heat: sample?.celsius }[mode] ?? null;
    if (value === null) return { share: null, words: "not measured" };
    if (mode === "heat") return { share: Math.min(1, Math.max(0, (value - 30) / 60)), words: `${Math.round(value)} °C` };
    return { share: value, words: percent(value) };
  }

  /// Of several GPUs: their mean, of heat the hottest.
  function readingOf(node, list) {
    const known = list.map((gpu) => reading(node, gpu)).filter((r) => r.share !== null);
    if (known.length === 0) return reading(node, list[0]);
    const share = mode === "heat" ? Math.max(...known.map((r) => r.share)) : known.reduce((sum, r) => sum + r.share, 0) / known.length;
    const words = mode === "held" ? `${gpus(list.reduce((sum, gpu) => sum + node.gpu_milli_held[gpu], 0))} of ${things(list.length, "GPU")} held` : mode === "heat" ? `at most ${Math.round(30 + share * 60)} °C` : percent(share);
    return { share, words };
  }

  function showPanel() {
    const [name, index] = at ? at.split(/\/(?=\d*$)/) : [];
    const node = live.board.nodes.find((n) => n.name === name);
    if (!node) return fill(panel, h("p", { class: "soft" }, "Point at a GPU, or walk there with the arrow keys, to see what it does."));
    const jobs = jobsAt(at, holders());
    const links = jobs.slice(0, 12).map((job) => h("p", { key: job.id }, h("a", { href: `#/jobs/${job.id}` }, `Job ${job.id}`), ` ${job.name}, ${job.user} (${job.queue})`));
    const rack = rackOf(node);
    if (index === "") {
      const list = Array.from({ length: node.gpus }, (_, gpu) => gpu);
      return fill(panel, h("h2", {}, node.name), h("dl", {}, fact("GPUs", `${node.gpus} × ${node.gpu_model}`), fact("State", stateWithReason(node)), rack && fact("Rack", rack),
        fact(MODES[mode], readingOf(node, list).words), fact("Price", `${money(node.per_hour)}/h`)), links, jobs.length > links.length && h("p", { key: "more" }, `and ${jobs.length - links.length} more`));
    }
    const gpu = Number(index);
    const sample = live.gpus.get(at);
    const held = node.gpu_milli_held?.[gpu];
    fill(panel, h("h2", {}, `${node.name}, GPU ${gpu}`),
      h("dl", {},
        fact("Model", node.gpu_model),
        fact("Machine", stateWithReason(node)),
        rack && fact("Rack", rack),
        fact("Held", held === undefined ? "not shown to you" : held === 0 ? "idle" : percent(held / 1000)),
        fact("Busy", sample?.busy == null ? "not measured" : percent(sample.busy)),
        fact("Memory", [sample?.memory == null ? "not measured" : percent(sample.memory), node.gpu_memory_bytes > 0 && `${sample?.memory == null ? "," : ""} of ${bytes(node.gpu_memory_bytes)}`]),
        fact("Temperature", sample?.celsius == null ? "not measured" : `${Math.round(sample.celsius)} °C`),
        sample?.watts != null && fact("Power", `${Math.round(sample.watts)} W`),
        sample?.source && fact("Source", sample.simulated ? "simulated" : sample.source),
        fact("Price", `${money({ ...node.per_hour, amount: Number(node.per_hour.amount) / node.gpus })}/h`)),
      sample?.heldBack && h("p", { key: "held", class: "warn" }, `Gets no job: ${sample.heldBack}`),
      (sample?.strangers ?? []).map((p) => h("p", { key: `p${p.pid}`, class: "warn" }, `${p.command || "a process"} (${p.pid}) ${belongs(p)}`)), links);
  }

  /// [[name, [[node, GPUs]]]]
  function grouped(list, by, held) {
    const every = (node) => Array.from({ length: node.gpus }, (_, gpu) => gpu);
    if (by !== "client") return groupNodes(list, by).map(([name, members]) => [name, members.map((node) => [node, every(node)])]);
    const found = new Map();
    for (const node of list) {
      const parts = new Map();
      for (const gpu of every(node)) {
        const job = held.get(`${node.name}/${gpu}`)?.[0];
        const name = job ? job.queue.split("/")[0] : !node.gpu_milli_held ? "Not shown to you" : node.gpu_milli_held[gpu] > 0 ? "Stopping" : "Idle";
        parts.set(name, [...(parts.get(name) ?? []), gpu]);
      }
      for (const [name, part] of parts) found.set(name, [...(found.get(name) ?? []), [node, part]]);
    }
    return sortGroups([...found]);
  }

  function cell(key, { share, words }, label, jobs) {
    return h("div", {
      key, role: "gridcell", tabindex: key === at ? "0" : "-1", "data-gpu": key,
      class: share === null ? "cell unknown" : mode === "heat" ? "cell heat" : "cell", style: share === null ? {} : { "--share": `${Math.round(share * 100)}%` },
      "aria-label": `${label}: ${words}${jobs.length ? `, ${jobs.length === 1 ? "job" : "jobs"} ${jobs.slice(0, 4).map((j) => j.id).join(", ")}` : ""}`,
    });
  }

  function group([name, members], held, machinesOnly) {
    const gpuCount = members.reduce((sum, [, list]) => sum + list.length, 0);
    const perHour = members.reduce((sum, [node, list]) => sum + (Number(node.per_hour.amount) / node.gpus) * list.length, 0);
    const readings = members.flatMap(([node, list]) => list.map((gpu) => reading(node, gpu).share)).filter((share) => share !== null);
    const mean = readings.length ? readings.reduce((a, b) => a + b, 0) / readings.length : null;
    const words = mean === null ? "not measured" : mode === "heat" ? `${Math.round(30 + mean * 60)} °C on average` : `${percent(mean)} ${mode === "held" ? "held" : mode === "busy" ? "busy" : "of memory used"}`;
    return h("details", {
      class: "group", key: name, open: !closed.has(name), ontoggle: (event) => {
        if (event.target.open === !closed.has(name)) return;
        if (event.target.open) closed.delete(name);
        else closed.add(name);
        update();
      },
    },
    h("summary", {}, h("span", { class: "group-name" }, name), h("span", { class: "soft" }, `${things(members.length, "machine")}, ${things(gpuCount, "GPU")}`),
      mean !== null && mode !== "heat" && h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${mean * 100}%` } })), h("span", { class: "soft" }, words),
      h("span", { class: "soft price" }, `${money({ amount: perHour, currency: members[0][0].per_hour.currency })}/h`)),
    closed.has(name) ? null : h("div", { class: "grid", role: "grid", "aria-label": name }, machinesOnly
      ? h("div", { class: "machines", role: "row" }, members.map(([node, list]) => cell(`${node.name}/`, readingOf(node, list), node.name, [])))
      : members.map(([node, list]) => h("div", { class: `node ${node.state}`, role: "row", key: node.name },
        h("div", { class: "node-name", role: "rowheader" }, node.name, node.state !== "up" ? h("span", { class: "soft" }, " ", node.state) : null),
        list.map((gpu) => cell(`${node.name}/${gpu}`, reading(node, gpu), `${node.name} GPU ${gpu}`, held.get(`${node.name}/${gpu}`) ?? []))))));
  }

  function update() {
    const { board } = live;
    const withGpus = board.nodes.filter((n) => n.gpus > 0);
    const total = withGpus.reduce((sum, n) => sum + n.gpus, 0);
    const machinesOnly = total > MACHINES_ABOVE;
    for (const shown of [modes, legend, beside]) shown.hidden = withGpus.length === 0;
    fill(none, withGpus.length === 0 && empty("No machine with a GPU", "Name machines in the daemon's configuration and send it SIGHUP."));
    fill(modes, groupChooser(withGpus, ALSO_BY, update), choice("What the colours show", MODES, mode, (value) => {
      mode = value;
      keep({ show: value === "held" ? "" : value });
      update();
    }));
    const held = holders();
    const list = grouped(withGpus, groupedBy(withGpus, ALSO_BY), held);
    const [first] = list.find(([name]) => !closed.has(name))?.[1] ?? [];
    if (first && (at === null || at.endsWith("/") !== machinesOnly)) at = machinesOnly ? `${first[0].name}/` : `${first[0].name}/${first[1][0]}`;
    groups.classList.toggle("dense", total > DENSE_ABOVE);
    fill(groups, list.map((one) => group(one, held, machinesOnly)));
    fill(legend, h("span", {}, mode === "heat" ? "30 °C" : mode === "held" ? "idle" : "0 %"), h("span", { class: mode === "heat" ? "ramp heat" : "ramp" }),
      h("span", {}, mode === "heat" ? "90 °C" : mode === "held" ? "held" : "100 %"), h("span", { class: "pair" }, h("span", { class: "ramp unknown" }), mode === "held" ? "down, or not shown" : "not measured"),
      h("span", { class: "of" }, machinesOnly ? "A square is a machine." : "A square is a GPU."));
    showPanel();
    for (const [part, content] of [[strangers, strangerTable()], [heldBack, heldBackTable()]]) {
      part.hidden = !content;
      fill(part, content);
    }
    fill(machines, nodeTable(board));
    fill(replicas, live.replicas.length > 0 && [h("h2", {}, "Services run here"), replicaTable()]);
    fill(services, live.services.length > 0 && [h("h2", {}, "Inference services"), serviceTable()]);
  }

  function nodeTable(board) {
    const words = kept("q").toLowerCase();
    const list = board.nodes.filter((n) => !words || [n.name, n.gpu_model, n.state, n.market, rackOf(n) ?? ""].some((t) => t.toLowerCase().includes(words)));
    if (list.length === 0) return empty("No machine matches", "Search for a part of its name, model or state.");
    const columns = [
      { title: "Machine", sort: (n) => n.name, cell: (n) => n.name },
      { title: "State", sort: (n) => n.state, cell: (n) => [stateWithReason(n), stillRuns(n) && h("div", { class: "soft" }, stillRuns(n))] },
      { title: "GPUs", number: true, sort: (n) => n.gpus, cell: (n) => n.gpus },
      { title: "Model", sort: (n) => n.gpu_model, cell: (n) => n.gpu_model || "–" },
      board.nodes.some((n) => rackOf(n) !== null) && { title: "Rack", sort: rackOf, cell: (n) => rackOf(n) ?? "–" },
      { title: "Held", number: true, sort: heldMilli, cell: (n) => (n.gpu_milli_held ? gpus(heldMilli(n)) : "–") },
      { title: "Jobs", cell: (n) => (n.jobs.length ? [n.jobs.slice(0, 4).map((id, i) => [i > 0 && ", ", h("a", { href: `#/jobs/${id}` }, id)]), n.jobs.length > 4 && ` and ${n.jobs.length - 4} more`] : "–"), class: "wide" },
      { title: "Market", sort: (n) => n.market, cell: (n) => n.market, class: "wide" },
      { title: "Price per hour", number: true, sort: (n) => Number(n.per_hour.amount), cell: (n) => money(n.per_hour) },
      may("drainNode") && { title: "Actions", cell: nodeAction },
    ].filter(Boolean);
    const shown = all ? list : inOrder(columns, list).slice(0, ROWS);
    return [sortable("Machines", columns, shown, (n) => n.name, update), shown.length < list.length && h("p", { class: "after", key: "all" }, h("button", {
      type: "button", class: "button", onclick: () => {
        all = true;
        update();
      },
    }, `Show all ${count(list.length)}`))];
  }

  return { update };
}

const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];

const heldMilli = (n) => (n.gpu_milli_held ? n.gpu_milli_held.reduce((a, b) => a + b, 0) : null);

/// Why it takes no work, and until when it is there.
const stateWithReason = (n) => {
  const why = [n.detail, n.until && `gone ${when(n.until)}`].filter(Boolean).join(", ");
  return [state(n.state), why && h("div", { class: "soft" }, why)];
};

/// What is still on a machine that takes no more.
const stillRuns = (n) => n.state === "draining" && n.jobs.length > 0 && `${things(n.jobs.length, "job")} still ${n.jobs.length === 1 ? "runs" : "run"}`;

function nodeAction(n) {
  const path = `/v1/nodes/${encodeURIComponent(n.name)}`;
  if (n.state === "up") return action("Drain", async () => {
    const now = await post(`${path}/drain`);
    say(`${n.name} starts no new job.${now.jobs.length ? ` ${things(now.jobs.length, "job")} still ${now.jobs.length === 1 ? "runs" : "run"} there: ${now.jobs.slice(0, 6).join(", ")}.` : " No job runs there."}`);
    await refresh();
  }, { ask: () => drainQuestion(n) });
  return action(n.state === "off" ? "Switch on" : "Take back", async () => {
    const { state: now } = await post(`${path}/up`);
    say(now === "up" ? `${n.name} takes jobs again.` : `${n.name} is being switched on.`);
    await refresh();
  });
}

function drainQuestion(n) {
  const on = live.board.running.filter((j) => j.placed.some((t) => t.node === n.name));
  return h("div", {}, h("p", {}, h("strong", {}, `Drain ${n.name}?`), " It starts no new job; what runs there goes on."),
    n.jobs.length === 0 ? h("p", {}, "No job runs there now.") : [h("p", {}, `${things(n.jobs.length, "job")} still ${n.jobs.length === 1 ? "runs" : "run"} there:`),
      h("ul", { class: "plain" }, n.jobs.slice(0, 10).map((id) => {
        const job = on.find((j) => j.id === id);
        return h("li", {}, `${id}${job ? ` ${job.name}, ${job.user}` : ""}`);
      }), n.jobs.length > 10 && h("li", {}, `and ${n.jobs.length - 10} more`))]);
}

/// Of a process on a GPU that no job gave it.
const belongs = (p) => (p.job === null ? "belongs to no job" : `is of job ${p.job}, which was not given this GPU`);

const gpuNamed = (key) => `${key.slice(0, key.lastIndexOf("/"))}, GPU ${key.slice(key.lastIndexOf("/") + 1)}`;

function strangerTable() {
  const list = [...live.gpus].flatMap(([gpu, { strangers }]) => strangers.map((p) => ({ gpu, ...p })));
  return list.length > 0 && [h("h2", { key: "strangers" }, "Processes on GPUs that no job gave them"), scroll("Processes on GPUs that no job gave them", table("Processes on GPUs that no job gave them", [
    { title: "GPU", cell: (p) => gpuNamed(p.gpu) },
    { title: "Process", cell: (p) => `${p.command || "a process"} (${p.pid})` },
    { title: "Account that bills charge", cell: (p) => p.account ?? "not known" },
    { title: "Memory", number: true, cell: (p) => (p.memory_used_bytes === null ? "not told" : bytes(p.memory_used_bytes)) },
    { title: "What it is", cell: (p) => h("strong", { class: "bad" }, belongs(p)) },
  ], list, (p) => `${p.gpu} ${p.pid}`))];
}

function heldBackTable() {
  const list = [...live.gpus].filter(([, { heldBack }]) => heldBack);
  return list.length > 0 && [h("h2", { key: "held-back" }, "GPUs that get no job"), scroll("GPUs that get no job", table("GPUs that get no job", [
    { title: "GPU", cell: ([key]) => gpuNamed(key) },
    { title: "Why", cell: ([, { heldBack }]) => heldBack, class: "wide" },
  ], list, ([key]) => key))];
}

function serviceTable() {
  return scroll("Inference services", table("Inference services", [
    { title: "Service", cell: (s) => s.service },
    { title: "Servers", number: true, cell: (s) => s.servers },
    { title: "Requests per second", number: true, cell: (s) => (s.requests_per_second === null ? "–" : count(s.requests_per_second)) },
    { title: "p99 latency", number: true, cell: (s) => (s.p99_ms === null ? "–" : `${count(s.p99_ms)} ms`) },
    { title: "Headroom to the latency goal", number: true, cell: (s) => (s.promise_headroom === null ? "no goal"
      : s.promise_headroom < 0 ? h("strong", { class: "bad" }, `missed: ${percent(-s.promise_headroom)} too much`) : percent(s.promise_headroom)) },
  ], live.services, (s) => s.service));
}

function replicaTable() {
  return scroll("Services run here", table("Services run here", [
    { title: "Service", cell: (s) => s.name },
    { title: "Replicas ready", number: true, cell: (s) => `${s.ready} of ${s.wanted}` },
    { title: "Limits", number: true, cell: (s) => `${s.min} to ${s.max}` },
    { title: "Load, of what meets the goal", number: true, cell: (s) => (s.utilization === null ? "–" : percent(s.utilization)) },
    { title: "Per 1,000 requests", number: true, cell: (s) => finePrice(s.per_thousand_requests) },
    { title: "Why this many", cell: (s) => s.reason },
    { title: "Replicas", cell: (s) => s.replicas.map((r, i) => [i > 0 && ", ", h("a", { href: `#/jobs/${r.job}` }, r.job), r.state !== "ready" && ` ${r.state}`, !r.current && " (to be replaced)"]), class: "wide" },
    { title: "Trouble", cell: (s) => (s.trouble ? h("strong", { class: "bad" }, s.trouble) : "–"), class: "wide" },
  ], live.replicas, (s) => s.name));
}
