// How many machines are shown at once: in groups by model, rack or client, as the person chooses.
import { h } from "./dom.js";
import { keep, kept } from "./url.js";

const isRack = (label) => /(^|[./])rack$/i.test(label);
export const rackOf = (node) => Object.entries(node.labels ?? {}).find(([label]) => isRack(label))?.[1] ?? null;

/// The ways there are for these machines: {value: words}.
function ways(nodes, more) {
  return { model: "Model", ...(nodes.some((n) => rackOf(n) !== null) ? { rack: "Rack" } : {}), ...more, none: "None" };
}

/// A chooser; what is chosen stands in the address. `more` are ways beside model and rack.
export function groupChooser(nodes, more, update) {
  const options = ways(nodes, more);
  return h("label", { class: "by" }, "Grouped by ", h("select", {
    props: { value: groupedBy(nodes, more) }, onchange: (event) => {
      keep({ group: event.target.value === "model" ? "" : event.target.value });
      update();
    },
  }, Object.entries(options).map(([value, words]) => h("option", { value }, words))));
}

export function groupedBy(nodes, more) {
  const wanted = kept("group", "model");
  return wanted in ways(nodes, more) ? wanted : "model";
}

/// [[name, machines]], the largest group first.
export function groupNodes(nodes, by) {
  if (by === "none") return [["All machines", nodes]];
  const groups = new Map();
  for (const node of nodes) {
    const name = by === "rack" ? rackOf(node) ?? "No rack" : node.gpu_model;
    groups.set(name, [...(groups.get(name) ?? []), node]);
  }
  return sortGroups([...groups]);
}

export const sortGroups = (groups) => groups.toSorted((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0], "en", { numeric: true }));
