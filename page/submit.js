// The form that submits a job, empty or filled with what an earlier job asked for.
import { get, post } from "./api.js";
import { empty, fill, h, say } from "./dom.js";
import { bytes, money, things } from "./format.js";
import { live, may, refresh } from "./live.js";
import { kept } from "./url.js";

/// One command line taken apart as a shell does it: quotes and backslashes, no variables. @return null: a quote is open.
export function splitWords(line) {
  const words = [];
  let word = null;
  let quote = null;
  for (let i = 0; i < line.length; ++i) {
    const c = line[i];
    if (quote === "'" ? c !== "'" : quote === '"' ? c !== '"' : false) {
      if (c === "\\" && quote === '"' && '"\\$`'.includes(line[i + 1] ?? "")) word += line[++i];
      else word += c;
    } else if (quote) {
      quote = null;
    } else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (c === "\\" && i + 1 < line.length) {
      word = (word ?? "") + line[++i];
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (quote) return null;
  if (word !== null) words.push(word);
  return words;
}

/// The other way: so that a shell, and splitWords(), read the same words.
export const joinWords = (words) => words.map((w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(" ");

const pairs = (object) => Object.entries(object ?? {}).map(([k, v]) => `${k}=${v}`).join("\n");
/// 7200 → "2h".
const span = (s) => (s === undefined ? "" : s % 3600 === 0 ? `${s / 3600}h` : s % 60 === 0 ? `${s / 60}m` : `${s}s`);

/// "a=1\nb=2" → {a: "1", b: "2"}.
function objectOf(text, what) {
  const found = {};
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const equals = line.indexOf("=");
    if (equals < 1) throw new Error(`${what}: write one NAME=VALUE a line, not “${line}”.`);
    found[line.slice(0, equals).trim()] = line.slice(equals + 1).trim();
  }
  return found;
}

export function mount(main) {
  const from = kept("from");
  const title = from ? `Resubmit job ${from}` : "Submit a job";
  const place = h("div");
  main.append(h("h1", { tabindex: "-1" }, title), place);
  let base = null;  // the request that is submitted again, with fields that the form does not show
  let drawn = false;

  async function draw() {
    if (drawn) return;
    drawn = true;
    if (!may("submitJob")) return fill(place, empty("You may not submit jobs", "An admin of your client can give you the role submitter."));
    try {
      base = from ? await get(`/v1/jobs/${encodeURIComponent(from)}/request`) : {};
    } catch (error) {
      return fill(place, empty("This job cannot be submitted again", error.message));
    }
    if (main.isConnected) fill(place, form());
  }

  function form() {
    const { board } = live;
    const models = [...new Set(board.nodes.filter((n) => n.gpus > 0).map((n) => n.gpu_model))].sort();
    const field = (id, label, input, help) => h("div", { class: "field" }, h("label", { for: id }, label), input, help && h("p", { class: "soft", id: `${id}-help` }, help));
    const text = (id, value, more = {}) => h("input", { type: "text", id, autocomplete: "off", spellcheck: "false", props: { value: value ?? "" }, ...more });
    const whole = base.gpus ?? (base.gpu_milli || base.gpu_memory || base.mig_profile || base.groups ? 0 : 1);
    const inputs = {
      queue: h("select", { id: "queue", required: true, props: { value: base.queue ?? board.queues.find((q) => !board.queues.some((o) => o.parent === q.path))?.path ?? "" } },
        board.queues.map((q) => h("option", { value: q.path }, q.path))),
      name: text("name", base.name, { maxlength: 200, placeholder: "finetune-7b" }),
      command: h("textarea", { id: "command", rows: 4, required: true, spellcheck: "false", placeholder: "python3 train.py --epochs 10", "aria-describedby": "command-help",
        props: { value: base.script ?? (base.command ? joinWords(base.command) : "") } }),
      gpus: h("input", { type: "number", id: "gpus", min: 0, max: 64, required: true, props: { value: String(whole) }, oninput: estimate }),
      model: h("select", { id: "model", onchange: estimate, props: { value: base.gpu_models?.length === 1 ? base.gpu_models[0] : "" } },
        h("option", { value: "" }, base.gpu_models?.length > 1 ? base.gpu_models.join(" or ") : "Any that fits"), models.map((m) => h("option", { value: m }, `${m}${memoryOf(m)}`))),
      tasks: h("input", { type: "number", id: "tasks", min: 1, max: 4096, required: true, props: { value: String(base.tasks ?? 1) }, oninput: estimate }),
      limit: text("limit", span(base.time_limit), { placeholder: "12h", "aria-describedby": "limit-help" }),
      priority: h("input", { type: "number", id: "priority", min: 0, max: 1000, props: { value: String(base.priority ?? "") } }),
      preemptible: h("input", { type: "checkbox", id: "preemptible", props: { checked: base.preemptible ?? true } }),
      hold: h("input", { type: "checkbox", id: "hold" }),
      folder: text("folder", base.folder),
      after: text("after", "", { placeholder: "agency-17, agency-18" }),
      deadline: h("input", { type: "datetime-local", id: "deadline" }),
      deferrable: h("input", { type: "checkbox", id: "deferrable" }),
      together: text("together", base.required_topology, { placeholder: "rack", "aria-describedby": "together-help" }),
      near: text("near", base.affinity?.join(" "), { placeholder: "app=cache@rack", "aria-describedby": "near-help" }),
      apart: text("apart", base.anti_affinity?.join(" "), { placeholder: "app=train@node" }),
      labels: text("labels", pairs(base.labels).replaceAll("\n", " "), { placeholder: "app=train" }),
      makes: text("makes", base.makes, { maxlength: 200, placeholder: "features-v1", "aria-describedby": "makes-help" }),
      retries: h("input", { type: "number", id: "retries", min: 0, max: 1000, props: { value: String(base.retries ?? "") } }),
      tags: h("textarea", { id: "tags", rows: 3, spellcheck: "false", placeholder: "project=vision", props: { value: pairs(base.tags) } }),
      environment: h("textarea", { id: "environment", rows: 3, spellcheck: "false", placeholder: "SEED=7", props: { value: pairs(base.environment) } }),
      lasts: text("lasts", span(base.simulated_duration) || "10m"),
    };
    const price = h("p", { class: "soft", role: "status" });
    const wrong = h("p", { class: "bad", id: "submit-wrong", role: "alert" });
    const simulated = board.backend === "simulated";

    /// At the cheapest price for which there is such a GPU.
    function estimate() {
      const wanted = Number(inputs.gpus.value) * Number(inputs.tasks.value);
      const fits = board.nodes.filter((n) => n.gpus > 0 && (!inputs.model.value || n.gpu_model === inputs.model.value));
      if (!(wanted > 0) || fits.length === 0) return fill(price);
      const each = fits.map((n) => Number(n.per_hour.amount) / n.gpus);
      const of = (one) => money({ amount: one * wanted, currency: fits[0].per_hour.currency });
      const [low, high] = [Math.min(...each), Math.max(...each)];
      fill(price, `Costs ${low === high ? of(low) : `${of(low)} to ${of(high)}, depending on the GPU,`} per hour while it runs.`);
    }

    function request() {
      const body = { ...base };
      const put = (name, value, absent) => {
        if (absent) delete body[name];
        else body[name] = value;
      };
      put("queue", inputs.queue.value);
      put("name", inputs.name.value.trim(), !inputs.name.value.trim());
      delete body.script;
      delete body.command;
      if (inputs.command.value.startsWith("#!")) {
        body.script = inputs.command.value;
      } else {
        body.command = splitWords(inputs.command.value);
        if (body.command === null) throw new Error("Command: a quote is not closed.");
      }
      if (Number(inputs.gpus.value) !== whole) for (const other of ["gpu_milli", "gpu_memory", "mig_profile", "shares_with", "work_kind", "max_slowdown_percent"]) delete body[other];
      put("gpus", Number(inputs.gpus.value), inputs.gpus.value === "0");
      if (inputs.model.value || !(base.gpu_models?.length > 1)) put("gpu_models", [inputs.model.value], !inputs.model.value);
      put("tasks", Number(inputs.tasks.value), inputs.tasks.value === "1");
      put("time_limit", inputs.limit.value.trim(), !inputs.limit.value.trim());
      put("priority", Number(inputs.priority.value), inputs.priority.value === "");
      put("retries", Number(inputs.retries.value), inputs.retries.value === "");
      put("preemptible", inputs.preemptible.checked);
      put("on_hold", true, !inputs.hold.checked);
      put("folder", inputs.folder.value.trim(), !inputs.folder.value.trim());
      put("after", inputs.after.value.split(/[\s,]+/).filter(Boolean), !inputs.after.value.trim());
      put("deadline", inputs.deadline.value && new Date(inputs.deadline.value).toISOString(), !inputs.deadline.value);
      put("deferrable", true, !inputs.deferrable.checked);
      put("required_topology", inputs.together.value.trim(), !inputs.together.value.trim());
      const words = (input) => input.value.split(/\s+/).filter(Boolean);
      put("affinity", words(inputs.near), words(inputs.near).length === 0);
      put("anti_affinity", words(inputs.apart), words(inputs.apart).length === 0);
      put("labels", objectOf(words(inputs.labels).join("\n"), "Labels"), words(inputs.labels).length === 0);
      put("makes", inputs.makes.value.trim(), !inputs.makes.value.trim());
      put("tags", objectOf(inputs.tags.value, "Tags"), !inputs.tags.value.trim());
      put("environment", objectOf(inputs.environment.value, "Environment"), !inputs.environment.value.trim());
      put("simulated_duration", inputs.lasts.value.trim(), !simulated || !inputs.lasts.value.trim());
      return body;
    }

    const submit = h("button", { type: "submit", class: "button primary" }, "Submit");
    estimate();
    return h("form", {
      class: "form", "aria-describedby": "submit-wrong", onsubmit: async (event) => {
        event.preventDefault();
        wrong.textContent = "";
        submit.disabled = true;
        try {
          const job = await post("/v1/jobs", request());
          say(job.array ? `Array ${job.id} of ${things(job.array.size, "job")} is submitted.` : `Job ${job.id} is submitted.`);
          refresh();
          location.hash = `#/jobs/${job.id}`;
        } catch (error) {
          wrong.textContent = error.message;
          submit.disabled = false;
        }
      },
    },
    h("div", { class: "field-row" }, field("queue", "Queue", inputs.queue), field("name", "Name", inputs.name)),
    field("command", "Command or script", inputs.command, "One command line, or a script whose first line is such as #!/bin/bash."),
    h("div", { class: "field-row" },
      field("gpus", "GPUs per task", inputs.gpus), field("model", "GPU model", inputs.model), field("tasks", "Tasks", inputs.tasks),
      field("limit", "Time limit", inputs.limit, "Such as 90m or 12h. It is stopped then.")),
    simulated && field("lasts", "Simulated run time", inputs.lasts, "This daemon simulates its machines: the job ends after this time."),
    price,
    h("details", { class: "more" }, h("summary", {}, "More: priority, tags, environment, order, neighbours"),
      h("div", { class: "field-row" }, field("priority", "Priority, 0 to 1000", inputs.priority), field("retries", "Retries", inputs.retries),
        field("after", "After jobs", inputs.after), field("deadline", "Deadline", inputs.deadline)),
      h("div", { class: "field-row" }, field("tags", "Tags", inputs.tags), field("environment", "Environment", inputs.environment)),
      h("p", {}, h("label", { class: "tick" }, inputs.deferrable, " It may wait for cheaper hours as long as it can end by its deadline; needs a time limit")),
      h("div", { class: "field-row" }, field("together", "All tasks in one", inputs.together, "A label of machines such as rack, zone or gpu_model."),
        field("labels", "Labels of its tasks", inputs.labels)),
      h("div", { class: "field-row" }, field("near", "Only beside", inputs.near, "Tasks of your client with these labels, and where: KEY=VALUE@LABEL."),
        field("apart", "Never beside", inputs.apart)),
      field("makes", "Makes", inputs.makes, "What it leaves, in a word: skipped when a job with the same word has succeeded."),
      field("folder", "Folder it runs in", inputs.folder)),
    h("p", {}, h("label", { class: "tick" }, inputs.preemptible, " Preemptible: it may be stopped for jobs that are guaranteed the GPUs, and starts again later")),
    h("p", {}, h("label", { class: "tick" }, inputs.hold, " Hold: it starts once it is released")),
    wrong,
    h("div", { class: "actions" }, submit, h("a", { class: "button", href: "#/jobs" }, "Back to the jobs")));
  }

  const memoryOf = (model) => {
    const size = live.board.nodes.find((n) => n.gpu_model === model)?.gpu_memory_bytes;
    return size ? `, ${bytes(size)}` : "";
  };

  return { update: () => live.board && draw() };
}
