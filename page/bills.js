// Bills of a calendar month (UTC): what each client has to pay, line by line, and as a file.
import { download, get } from "./api.js";
import { action, fill, h, scroll, table } from "./dom.js";
import { amount, count, money, oneDecimal } from "./format.js";
import { may } from "./live.js";

/// The section of bills. `ask()` asks again, for the month that is chosen; who may see no bills sees no section.
export function bills() {
  const place = h("section", { key: "bills" });
  let answer = null;
  let month = "";

  async function ask() {
    if (!may("getBills")) return;
    answer = await get(`/v1/bills${month ? `?month=${month}` : ""}`);
    draw();
  }

  function draw() {
    const chooser = h("select", {
      id: "bill-month", "aria-label": "Month", onchange: () => {
        month = document.getElementById("bill-month").value;
        ask();
      },
    }, answer.months.map((m) => h("option", { value: m, selected: m === answer.month }, m)));
    fill(place, h("div", { class: "heading" }, h("h2", {}, "Bills"), chooser),
      answer.problems.map((problem) => h("p", { class: "bad", role: "alert" }, `These bills may be wrong: ${problem}.`)),
      answer.bills.length === 0 ? h("p", { class: "soft" }, `No run has been posted for ${answer.month}.`) : summary(),
      answer.bills.filter((b) => b.lines.length > 0).map(lines),
      h("p", { class: "soft" }, "A run is posted when it ends. Over a month's end it is paid in both, by its time in each."));
  }

  const summary = () => scroll("Bills", table(`Bills of ${answer.month}`, [
    { title: "Client", cell: (b) => b.client },
    { title: "Runs", number: true, cell: (b) => count(b.runs) },
    { title: "GPU-hours", number: true, cell: (b) => oneDecimal(b.gpu_hours) },
    { title: "To pay", number: true, cell: (b) => h("strong", {}, money(b.total)) },
    { title: "Runs still, not posted", number: true, cell: (b) => money(b.running) },
  ], answer.bills, (b) => b.client));

  const lines = (bill) => h("details", { class: "lines", key: bill.client },
    h("summary", {}, `${bill.client}: ${count(bill.lines.length)} ${bill.lines.length === 1 ? "line" : "lines"}, ${money(bill.total)}`),
    scroll(`Lines of ${bill.client}`, table(`Bill of ${bill.client}, ${answer.month}`, [
      { title: "Queue", cell: (l) => l.queue },
      { title: "Machine", cell: (l) => l.node },
      { title: "Runs", number: true, cell: (l) => count(l.runs) },
      { title: "GPU-hours", number: true, cell: (l) => oneDecimal(l.gpu_hours) },
      { title: `Amount, ${bill.total.currency}`, number: true, cell: (l) => amount(l.amount) },
    ], bill.lines, (l) => `${l.queue} ${l.node}`)),
    action("Download as CSV", () => download(`/v1/bills/${encodeURIComponent(bill.client)}/csv?month=${answer.month}`, `bill-${bill.client}-${answer.month}.csv`)));

  return { place, ask };
}
