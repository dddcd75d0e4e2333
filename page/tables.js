// Tables that can be sorted by their columns; the order stands in the address.
import { h, scroll, table } from "./dom.js";
import { keep, kept } from "./url.js";

const nameOf = (column) => column.title.toLowerCase().replace(/\W+/g, "-");

function compare(a, b) {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;  // what is not known stands last
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

/// The rows in the order that the address asks for. Columns with `sort(row)` can be asked for, `-` before the name turns it round.
export function inOrder(columns, rows, parameter = "sort") {
  const wanted = kept(parameter);
  const down = wanted.startsWith("-");
  const column = columns.find((c) => c.sort && nameOf(c) === wanted.replace(/^-/, ""));
  if (!column) return rows;
  return rows.toSorted((a, b) => {
    const x = column.sort(a);
    const y = column.sort(b);
    return (x === null || x === undefined || y === null || y === undefined ? 1 : down ? -1 : 1) * compare(x, y);
  });
}

/// As dom.js's table, in a frame that scrolls; columns with `sort` have a button at their top. `update` draws anew.
export function sortable(caption, columns, rows, keyOf, update, { parameter = "sort", heading = () => null } = {}) {
  const wanted = kept(parameter);
  const choose = (value) => {
    keep({ [parameter]: value });
    update();
  };
  const top = (c) => {
    const own = heading(c);
    if (own) return { cell: own };
    if (!c.sort) return { cell: c.title };
    const name = nameOf(c);
    const now = wanted === name ? "ascending" : wanted === `-${name}` ? "descending" : null;
    const first = c.number ? `-${name}` : name;  // what is most stands first
    const second = c.number ? name : `-${name}`;
    return {
      attributes: { "aria-sort": now },
      cell: h("button", { type: "button", class: "sort", onclick: () => choose(wanted === first ? second : wanted === second ? "" : first) },
        c.title, h("span", { "aria-hidden": "true" }, now === "ascending" ? " ↑" : now === "descending" ? " ↓" : "")),
    };
  };
  const sorts = columns.filter((c) => c.sort);
  return [
    // On a phone a table has no heads: there one chooses here.
    rows.length > 1 && h("label", { class: "sort-by", key: `sort ${caption}` }, "Sorted by ", h("select", {
      props: { value: wanted }, onchange: (event) => choose(event.target.value),
    }, h("option", { value: "" }, "the usual order"), sorts.flatMap((c) => [
      h("option", { value: nameOf(c) }, `${c.title}, ${c.number ? "least" : "A"} first`), h("option", { value: `-${nameOf(c)}` }, `${c.title}, ${c.number ? "most" : "Z"} first`)]))),
    scroll(caption, table(caption, columns, inOrder(columns, rows, parameter), keyOf, top)),
  ];
}
