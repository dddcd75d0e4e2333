// What the last audit advises, how far the replay bears it out, the commands that apply it, and what was decided on it.
import { get, post, put } from "./api.js";
import { action, badge, code, empty, figure, fill, h, say, table, withCode } from "./dom.js";
import { amount, fullTime, oneDecimal, span, things, when } from "./format.js";
import { may } from "./live.js";
import { unusualDays } from "./unusual.js";

const ASK_AGAIN_MS = 3_000;

const VERDICTS = { survives: ["replayed", "good"], arithmetic: ["arithmetic only", "warn"], rejected: ["rejected by replay", "bad"] };
const verdictOf = (proof) => (proof?.verdict === "survives" && proof.method === "bill" ? ["billed again", "good"] : VERDICTS[proof?.verdict] ?? ["not replayed", "soft"]);
const DECISIONS = { approved: "good", dismissed: "soft" };
const LEVELS = {
  confidence: { high: "good", medium: "warn", low: "bad" }, risk: { low: "good", medium: "warn", high: "bad" }, effort: { low: "good", medium: "warn", high: "bad" },
};

export function mount(main) {
  let answer = null;
  let asked = false;
  let failed = null;
  let timer = null;
  let allDays = false;
  const list = h("div");
  const tools = h("div");
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Findings"), tools), list);

  async function ask() {
    asked = true;
    try {
      answer = await get("/v1/findings");
      failed = null;
    } catch (error) {
      failed = error;
    }
    draw();
  }

  function draw() {
    if (failed) return fill(list, empty(failed.status === 403 ? "Findings are about all clients" : "No findings", failed.message));
    if (!answer) return;
    const decides = may("decideFinding");
    const running = answer.run?.running_since;
    fill(tools, may("beginAudit") && answer.run && (running ? badge("an audit runs", "soft") : action("Audit now", begin)), " ", may("putFindings") && upload());
    if (!answer.audit)
      return fill(list, state(answer.run), empty("No audit is here yet",
        h("p", {}, answer.run?.next ? `The daemon audits what it has recorded by itself, next ${when(answer.run.next)}. ` : "", "An operator may begin one now, or put one here that was made elsewhere:"),
        h("p", {}, code("stint audit --history fleet.db --month 2026-10 --json > audit.json"))));
    const { audit, decisions } = answer;
    const decided = new Map(decisions.map((d) => [d.finding, d]));
    fill(list, state(answer.run), head(audit, answer.written),
      h("section", { key: "findings" }, audit.findings.map((f) => finding(f, decided.get(f.id), audit.currency, decides))),
      audit.rejected.length > 0 && h("section", { key: "rejected" }, h("h2", {}, "Looked at and not advised"), audit.rejected.map((f) => finding(f, decided.get(f.id), audit.currency, false))),
      unusualDays(audit.anomalies, audit.currency, allDays, draw, () => {
        allDays = true;
        draw();
      }),
      audit.notes.length > 0 && h("section", { key: "notes" }, h("h2", {}, "To know"), h("ul", {}, audit.notes.map((n) => h("li", {}, withCode(n))))));
  }

  async function begin() {
    await post("/v1/findings/audit");
    say("An audit has begun; it takes what the jobs leave of the processors.");
    await ask();
  }

  /// How the daemon's own audits go, where that is not what one sees anyway.
  function state(run) {
    if (run?.running_since && !timer) timer = setTimeout(() => {
      timer = null;
      if (main.isConnected) ask();
    }, ASK_AGAIN_MS);
    if (run?.running_since) return h("p", { key: "run", class: "soft" }, `An audit runs since ${when(run.running_since)}${run.by === "daemon" ? "" : `, begun by ${run.by}`}.`);
    if (run?.error) return h("p", { key: "run" }, badge("no new audit", "warn"), ` ${run.error}`);
    return run?.next && answer.audit ? h("p", { key: "run", class: "soft" }, `The next audit is due ${when(run.next)}.`) : null;
  }

  function head(audit, written) {
    const { totals, proof } = audit;
    const replayed = proof?.together;
    const aside = totals.commitments_aside;
    return h("section", { key: "head" }, h("p", { class: "soft" }, `Of ${audit.period.begin.slice(0, 10)} to ${audit.period.end.slice(0, 10)}, written ${when(written)}.`),
      h("div", { class: "figures" },
        figure("Bill a month", totals.bill_per_month === null ? "not known" : amount(totals.bill_per_month), audit.currency, totals.mean_utilization_pct === null ? "use not measured" : `${oneDecimal(totals.mean_utilization_pct)} % used on average`),
        figure("With the plan", totals.plan_per_month === null ? "not known" : amount(totals.plan_per_month), audit.currency, things(audit.findings.length, "finding")),
        figure("Saving a month", totals.saving_per_month === null ? "not known" : amount(totals.saving_per_month), audit.currency,
          totals.bill_per_month ? `${oneDecimal((totals.saving_per_month / totals.bill_per_month) * 100)} % of the bill` : "", "good"),
        figure("Replayed together", replayed?.saving_per_month == null ? "not replayed" : amount(replayed.saving_per_month), replayed?.saving_per_month == null ? "" : audit.currency,
          replayed?.saving_p10 == null ? "" : `${amount(replayed.saving_p10)} to ${amount(replayed.saving_p90)} in 8 of 10 drawings`)),
      aside && h("p", { class: "aside" }, `Not counted, of high risk: commitments that rest on ${things(aside.days, "day")} of use, where ${aside.days_asked} are asked for, `
        + `would take ${amount(aside.saving_per_month)} ${audit.currency} a month off this plan, to ${amount(aside.plan_per_month)}.`));
  }

  function finding(f, decision, currency, decides) {
    const [word, kind] = verdictOf(f.proof);
    return h("details", { class: "finding", key: f.id },
      h("summary", {},
        h("span", { class: "finding-title" }, f.title),
        f.saving_per_month !== 0 && h("span", { class: "finding-amount" }, `${amount(f.saving_per_month)} ${currency}`, h("span", { class: "soft" }, " a month")),
        h("span", { class: "finding-meta" }, h("span", {}, f.id), badge(word, kind),
          ["confidence", "risk", "effort"].map((what) => badge(`${what} ${f[what]}`, LEVELS[what][f[what]])),
          decision && badge(decision.decision, DECISIONS[decision.decision] ?? "soft"))),
      h("div", { class: "inside" },
        h("div", { class: "columns even" },
          h("div", {}, h("h3", {}, "Saving"), h("dl", {},
            fact("Predicted", `${amount(f.saving_per_month)} ${currency} a month, in the plan`),
            fact("Alone", `${amount(f.alone_per_month)} ${currency} a month`),
            fact("Replayed", f.proof?.saving_per_month == null ? (f.proof?.reason || "not replayed") : `${amount(f.proof.saving_per_month)} ${currency} a month`),
            f.proof?.saving_p10 != null && fact("8 of 10 drawings", `${amount(f.proof.saving_p10)} to ${amount(f.proof.saving_p90)} ${currency}`)),
          f.evidence.length > 0 && [h("h3", {}, "Evidence"), h("dl", {}, f.evidence.map((e) => fact(e.label, e.value)))]),
          h("div", {}, effect(f.proof), texts("Arithmetic", f.arithmetic), texts("To be weighed", [...f.caveats, ...(f.proof?.notes ?? [])]))),
        f.apply.length > 0 && commands(f.apply),
        decide(f, decision, decides)));
  }

  function decide(f, decision, decides) {
    const said = decision && h("p", {}, badge(decision.decision, DECISIONS[decision.decision] ?? "soft"), ` by ${decision.by}, `, h("time", { datetime: decision.at, title: fullTime(decision.at) }, when(decision.at)), decision.note ? `: ${decision.note}` : "");
    if (!decides) return h("div", { class: "decide" }, said ?? h("p", { class: "soft" }, "Not decided: an operator may approve or dismiss it."));
    const note = h("input", { type: "text", "aria-label": `Why, for ${f.id}`, placeholder: "Why (kept with the decision)", maxlength: 1000 });
    const send = (what) => async () => {
      const box = document.getElementById(`note-${f.id}`);
      await post(`/v1/findings/${encodeURIComponent(f.id)}/decision`, { decision: what, note: box?.value ?? "" });
      say(`${f.id}: ${what}.`);
      await ask();
    };
    note.id = `note-${f.id}`;
    return h("div", { class: "decide" }, said, h("div", { class: "filters" },
      !decision && note,
      !decision && action("Approve", send("approved"), { kind: "primary" }),
      !decision && action("Dismiss", send("dismissed")),
      decision && action("Take back", send("open"))),
    h("p", { class: "soft" }, "A decision is written to the audit log. It changes nothing by itself: the commands above do."));
  }

  function upload() {
    const input = h("input", {
      type: "file", accept: "application/json,.json", id: "audit-file", class: "unseen", onchange: async () => {
        const file = input.files[0];
        if (!file) return;
        try {
          await put("/v1/findings", await file.text());
          say(`${file.name} is the audit now.`);
          await ask();
        } catch (error) {
          say(error.message, "bad");
        }
      },
    });
    return h("label", { class: "button file" }, input, "Put an audit here");
  }

  return {
    update() {
      if (!asked) ask();
    },
  };
}

const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];

const texts = (title, list) => list.length > 0 && [h("h3", {}, title), h("ul", {}, list.map((t) => h("li", {}, withCode(t))))];

/// What the change does to the work, in the replay without and with it.
function effect(proof) {
  if (proof?.latency_pct) {
    const range = (f) => `${oneDecimal(f.mean)} % (${oneDecimal(f.p10)} to ${oneDecimal(f.p90)} %)`;
    return [h("h3", {}, `What it does to requests (${things(proof.services, "service")}, ${things(proof.weeks, "week")})`), h("dl", {},
      fact("p99, of what it is without, where it suffers most", range(proof.latency_pct)),
      fact("Answered in time, of those that are without", range(proof.throughput_pct)))];
  }
  if (!proof?.before || !proof.after) return null;
  const rows = [
    ["Mean wait", span(proof.before.waiting_mean_s), span(proof.after.waiting_mean_s)],
    ["Mean time to the end", span(proof.before.completion_mean_s), span(proof.after.completion_mean_s)],
    ["19 of 20 end within", span(proof.before.completion_p95_s), span(proof.after.completion_p95_s)],
    ["GPU-hours done twice", oneDecimal(proof.before.lost_gpu_hours), oneDecimal(proof.after.lost_gpu_hours)],
  ];
  return [h("h3", {}, `What it does to the work (${things(proof.jobs, "job")}, ${things(proof.weeks, "week")}, ${things(proof.seeds, "drawing")})`), table("Effect on the work", [
    { title: "In the replay", cell: (r) => r[0] },
    { title: "without", number: true, cell: (r) => r[1] },
    { title: "with", number: true, cell: (r) => r[2] },
  ], rows, (r) => r[0])];
}

function commands(lines) {
  const text = lines.join("\n");
  return h("div", {}, h("div", { class: "heading" }, h("h3", {}, "To apply it"), action("Copy", async () => {
    if (!navigator.clipboard) throw new Error("Browsers copy over TLS and on this machine only: mark the text instead.");
    await navigator.clipboard.writeText(text);
    say("Copied.");
  })), h("pre", { tabindex: "0", "aria-label": "Commands that apply it" }, text));
}
