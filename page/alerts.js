// Alerts: those that fire, those that have ended, what is silenced, which rules there are, and whether alerts reach their receivers.
import { del, get, post } from "./api.js";
import { choice } from "./chart.js";
import { action, badge, code, empty, fill, h, say, scroll, state, table } from "./dom.js";
import { count, fullTime, since, span, when } from "./format.js";
import { live, may } from "./live.js";

const WHICH = { firing: "Firing", all: "Also ended" };
const LENGTHS = { "1h": "1 hour", "8h": "8 hours", "24h": "a day", "168h": "a week" };
const AGAIN_MS = 15_000;

export function mount(main) {
  let which = "firing";
  let answer = null;
  let silences = [];
  let asked = 0;
  let newest = -1;
  const tools = h("div");
  const list = h("div");
  main.append(h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, "Alerts"), tools), list);

  async function ask() {
    asked = Date.now();
    const mine = which;
    const [alerts, quiet] = await Promise.all([get(`/v1/alerts?state=${which}`), get("/v1/silences")]);
    if (mine !== which) return;
    answer = alerts;
    silences = quiet.silences;
    draw();
  }

  function draw() {
    const silencer = may("makeSilence");
    const columns = [
      { title: "State", cell: (a) => state(a.state) },
      { title: "Severity", cell: (a) => badge(a.severity, a.severity === "critical" ? "bad" : "warn") },
      { title: "Alert", cell: (a) => a.rule },
      { title: "Of", cell: about },
      { title: "What", class: "why", cell: (a) => a.annotations.summary ?? "" },
      { title: "Since", number: true, cell: (a) => h("time", { datetime: a.since, title: fullTime(a.since) }, a.ended ? when(a.since) : since(a.since, live.board.now)) },
      which === "all" && { title: "Ended", number: true, cell: (a) => (a.ended ? when(a.ended) : "–") },
      silencer && { title: "Actions", cell: (a) => (a.state === "firing" ? h("button", { type: "button", class: "button", onclick: () => askSilence(a) }, "Silence") : "") },
    ].filter(Boolean);
    fill(list,
      answer.alerts.length === 0 ? empty(which === "all" ? "No alert has fired" : "No alert fires", "The daemon evaluates the rules below all the time, lists what they find here, and sends it to the receivers.")
        : scroll("Alerts", table("Alerts", columns, answer.alerts, (a) => a.id)),
      silences.length > 0 && h("section", { key: "silences", class: "below" }, h("h2", {}, "Silences"), scroll("Silences", table("Silences", [
        { title: "Of alerts with", cell: (s) => s.matchers.join(", ") },
        { title: "State", cell: (s) => (s.holds ? badge("holds", "warn") : badge("over", "soft")) },
        { title: "Until", number: true, cell: (s) => when(s.until) },
        { title: "By", cell: (s) => s.by },
        { title: "Why", class: "why", cell: (s) => s.comment },
        ...(silencer ? [{ title: "Actions", cell: (s) => (s.holds ? action("End", async () => { await del(`/v1/silences/${encodeURIComponent(s.id)}`); say("The silence has ended."); await ask(); }) : "") }] : []),
      ], silences, (s) => s.id))),
      answer.receivers.length > 0 && h("section", { key: "receivers", class: "below" }, h("h2", {}, "Receivers"), scroll("Receivers", table("Receivers", [
        { title: "Receiver", cell: (r) => r.name },
        { title: "Kind", cell: (r) => r.kind },
        { title: "Delivered", number: true, cell: (r) => count(r.delivered) },
        { title: "Waiting", number: true, cell: (r) => count(r.waiting) },
        { title: "Failed", number: true, cell: (r) => count(r.failed) },
        { title: "Last delivered", number: true, cell: (r) => when(r.last_delivered) },
        { title: "Last error", class: "why", cell: (r) => r.last_error || "–" },
      ], answer.receivers, (r) => r.name))),
      h("section", { key: "rules", class: "below" }, h("h2", {}, `Rules (${count(answer.rules.length)})`), answer.rules.length === 0 ? h("p", { class: "soft" }, "The configuration has no rules.") : scroll("Rules", table("Rules", [
        { title: "Rule", cell: (r) => r.name },
        { title: "Severity", cell: (r) => badge(r.severity, r.severity === "critical" ? "bad" : r.severity === "warning" ? "warn" : "soft") },
        { title: "For each", cell: (r) => r.scope },
        { title: "Fires when", cell: (r) => h("span", { class: "condition" }, r.condition) },
        { title: "Over", number: true, cell: (r) => span(r.window_s) },
        { title: "Held for", number: true, cell: (r) => (r.hold_s > 0 ? span(r.hold_s) : "–") },
        { title: "Says", class: "why", cell: (r) => r.summary },
        { title: "Now", cell: (r) => firing(r) },
      ], answer.rules, (r) => r.name))));
  }

  function firing(rule) {
    const n = answer.alerts.filter((a) => a.rule === rule.name && a.state !== "ended").length;
    return n > 0 ? badge(`${count(n)} firing`, "bad") : badge("quiet", "good");
  }

  function askSilence(alert) {
    let length = "8h";
    const labels = Object.entries(alert.labels).filter(([name]) => name !== "severity");
    const dialog = h("dialog", { class: "ask", "aria-labelledby": "silence-title" });
    const comment = h("input", { type: "text", id: "silence-why", maxlength: 1000 });
    const lengths = h("div");
    const choose = () => fill(lengths, choice("For how long", LENGTHS, length, (value) => {
      length = value;
      choose();
    }));
    choose();
    dialog.append(h("h2", { id: "silence-title" }, `Silence ${alert.rule}`), h("p", { class: "soft" }, labels.map(([name, value]) => `${name}=${value}`).join(", ")),
      h("p", {}, lengths), h("label", { for: "silence-why" }, "Why"), comment,
      h("form", { method: "dialog" }, h("button", { class: "button", value: "no" }, "Back"), h("button", { class: "button primary", value: "yes" }, "Silence")));
    dialog.onclose = async () => {
      dialog.remove();
      if (dialog.returnValue !== "yes") return;
      await post("/v1/silences", { matchers: labels.map(([name, value]) => `${name}=${value}`), for: length, comment: comment.value });
      say("Silenced.");
      await ask();
    };
    document.body.append(dialog);
    dialog.showModal();
  }

  return {
    update() {
      if (!may("listAlerts")) return fill(list, empty("This daemon evaluates no alert rules", h("p", {}, "Export them to Prometheus: ", code("stint alerts export --prometheus"))));
      fill(tools, choice("Which alerts", WHICH, which, (value) => {
        which = value;
        ask();
      }));
      const told = live.events.find((e) => e.kind.startsWith("alert."))?.id;
      if (told !== newest || Date.now() - asked > AGAIN_MS) {
        newest = told;
        ask();
      }
    },
  };
}

function about(alert) {
  const { job, node, gpu, queue, client } = alert.labels;
  if (job) return h("a", { href: `#/jobs/${job}` }, `job ${job}`);
  return gpu ?? node ?? queue ?? client ?? "the daemon";
}
