// Statements of past months: each client's page, to print or send, and an operator's order to write a month's.
import { download, get, post } from "./api.js";
import { action, badge, fill, h, say, scroll, table } from "./dom.js";
import { money, when } from "./format.js";
import { may } from "./live.js";

const ASK_AGAIN_MS = 2_000;

/// The section of statements. `ask()` asks again; without any, those who may write them see it and how.
export function statements() {
  const place = h("section", { key: "statements" });
  let answer = null;
  let timer = null;

  async function ask() {
    if (!may("listStatements")) return;
    answer = await get("/v1/statements");
    draw();
  }

  function draw() {
    const writes = may("writeStatements");
    if (answer.months.length === 0 && !writes) return fill(place);
    fill(place, h("div", { class: "heading" }, h("h2", {}, "Statements"), writes && writer()), run(answer.run),
      answer.months.length === 0 && h("p", { class: "soft" }, "None is written yet. A statement is what a client is charged for a month, imported bills included, with how shared cost was split."),
      answer.months.map((m) => h("details", { class: "lines", key: m.month, open: m === answer.months[0] },
        h("summary", {}, `${m.month}, written ${when(m.written)}`),
        scroll(`Statements of ${m.month}`, table(`Statements of ${m.month}`, [
          { title: "Client", cell: (s) => s.client },
          { title: "Total", number: true, cell: (s) => money(s.total) },
          { title: "Page", cell: (s) => action("Download", () => download(`/v1/statements/${m.month}/${encodeURIComponent(s.client)}`, `statement-${s.client}-${m.month}.html`)) },
        ], m.statements, (s) => s.client)))));
  }

  function run(state) {
    if (state?.running_since && !timer) timer = setTimeout(() => {
      timer = null;
      if (place.isConnected) ask();
    }, ASK_AGAIN_MS);
    if (state?.running_since) return h("p", { class: "soft" }, `Statements are written since ${when(state.running_since)}.`);
    if (state?.error) return h("p", {}, badge("not written", "warn"), ` ${state.error}`);
    return state?.next ? h("p", { class: "soft" }, `The next are due ${when(state.next)}.`) : null;
  }

  /// For the month before this one, or one that is given.
  function writer() {
    const now = new Date();
    const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
    return h("span", {}, h("input", { id: "statement-month", type: "text", "aria-label": "Month to write", value: before, size: 7, maxlength: 7, pattern: "[0-9]{4}-[0-9]{2}" }), " ",
      action("Write statements", async () => {
        const month = document.getElementById("statement-month").value.trim();
        await post("/v1/statements", { month });
        say(`The statements of ${month} are being written.`);
        await ask();
      }));
  }

  return { place, ask };
}
