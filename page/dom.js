// Elements as values, and how a container is made to hold new ones without losing focus, scroll place or open details.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "circle", "line", "g", "text", "title"]);

/// h("a", {class: "x", href: "#/jobs/1", onclick: f}, "text", child, …). Attributes that are null, undefined or false are left
/// out, true is the empty text; `style` is an object, and so is `props`: properties that have no attribute, such as {checked: true}. Children that are null or false are left out, lists are taken apart.
/// `key` names the element among its siblings for fill().
export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  element.handlers = {};
  element.styles = {};
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "key") element.key = String(value);
    else if (name.startsWith("on")) element.handlers[name] = element[name] = value;
    else if (name === "style") setStyles(element, value);
    else if (name === "props") element.wants = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  Object.assign(element, element.wants);
  return element;
}

/// By property: the page's policy forbids the attribute.
function setStyles(element, styles) {
  for (const name of Object.keys(element.styles)) if (!(name in styles)) element.style.removeProperty(name);
  for (const [name, value] of Object.entries(styles)) if (element.styles[name] !== value) element.style.setProperty(name, value);
  element.styles = styles;
}

function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child);
  }
}

/// Makes `container` hold these children: what is there already is changed in place where tag and key agree.
export function fill(container, ...children) {
  const wanted = document.createDocumentFragment();
  append(wanted, children);
  patchChildren(container, [...wanted.childNodes]);
}

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.key === b.key;
}

function patchChildren(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.childNodes) if (child.key !== undefined) keyed.set(child.key, child);
  let at = parent.firstChild;
  for (const node of wanted) {
    let found = at;
    if (node.key !== undefined) found = keyed.get(node.key) ?? null;
    else while (found && found.key !== undefined) found = found.nextSibling;
    if (found && same(found, node)) {
      patch(found, node);
      if (found === at) at = at.nextSibling;
      else parent.insertBefore(found, at);
      keyed.delete(node.key);
    } else {
      parent.insertBefore(node, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function patch(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // What the person has opened stays open; what they have typed or chosen stays, too, as it is no attribute.
    if (name !== "style" && !wanted.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of [...wanted.attributes])
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.styles && wanted.styles) setStyles(old, wanted.styles);
  for (const name of Object.keys(old.handlers ?? {})) if (!wanted.handlers?.[name]) old[name] = null;
  for (const [name, f] of Object.entries(wanted.handlers ?? {})) old[name] = f;
  old.handlers = wanted.handlers;
  patchChildren(old, [...wanted.childNodes]);
  for (const [name, value] of Object.entries(wanted.wants ?? {})) if (old[name] !== value) old[name] = value;
}

/// A table: columns of {title, number?, cell(row), head?}, rows with what names each. The first column, or the one that is `head`,
/// names its row. `heading(column)` may put something else than the title at its top: {cell, attributes}.
export function table(caption, columns, rows, keyOf, heading = (c) => ({ cell: c.title })) {
  const names = columns.find((c) => c.head) ?? columns[0];
  return h("table", {},
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, columns.map((c) => {
      const { cell, attributes } = heading(c);
      return h("th", { scope: "col", class: classes(c), ...attributes }, cell);
    }))),
    h("tbody", {}, rows.map((row) =>
      h("tr", { key: keyOf(row) }, columns.map((c) =>
        c === names ? h("th", { scope: "row", class: classes(c) }, c.cell(row))
          : h("td", { class: classes(c), "data-label": c.title }, c.cell(row)))))));
}

function classes(column) {
  return [column.number && "number", column.class].filter(Boolean).join(" ") || null;
}

/// What stands where there is nothing to show: says what to do.
export function empty(title, ...what) {
  return h("div", { class: "empty" }, h("p", { class: "strong" }, title), what.map((w) => (typeof w === "string" ? h("p", {}, w) : w)));
}

export function code(text) {
  return h("code", {}, text);
}

/// A text whose commands stand between backticks.
export const withCode = (text) => text.split("`").map((part, i) => (i % 2 === 1 ? code(part) : part));

/// A state as a dot and a word.
export function badge(word, kind) {
  return h("span", { class: `badge ${kind}` }, word);
}

const STATE_KINDS = {
  running: "good", succeeded: "good", ok: "good", up: "good", waiting: "soft", "on-hold": "warn", leaving: "warn", draining: "warn",
  drained: "warn", off: "soft", cancelled: "soft", skipped: "soft", stopped: "soft", failed: "bad", "time-limit": "bad", "never-fits": "bad",
  "dependency-failed": "bad", refused: "bad", ended: "soft", "needs-approval": "warn", down: "bad", critical: "bad", warning: "warn", firing: "bad", silenced: "warn",
};
export function state(word) {
  return badge(word, STATE_KINDS[word] ?? "soft");
}

/// One figure with its label and what there is to say about it.
export function figure(label, value, unit, note, kind) {
  return h("div", { class: "figure" }, h("div", { class: "label" }, label),
    h("div", { class: `value ${kind ?? ""}` }, value, unit ? h("span", { class: "unit" }, ` ${unit}`) : null),
    h("div", { class: "note" }, note ?? ""));
}

/// A button that asks before it does (`ask` is a question, an element, or makes one), or does at once; while it works it cannot be pressed, and what goes wrong is said.
export function action(label, run, { ask = null, kind = "", title = null } = {}) {
  return h("button", {
    type: "button", class: `button ${kind}`, title,
    onclick: async (event) => {
      const button = event.currentTarget;
      if (ask && !(await confirmed(typeof ask === "function" ? ask() : ask, label))) return;
      button.disabled = true;
      try {
        await run();
      } catch (error) {
        say(error.message, "bad");
      } finally {
        button.disabled = false;
      }
    },
  }, label);
}

/// Asks; @return a promise of whether the answer was yes.
export function confirmed(question, verb) {
  const dialog = h("dialog", { class: "ask", "aria-label": verb }, typeof question === "string" ? h("p", {}, question) : question,
    h("form", { method: "dialog" }, h("button", { class: "button", value: "no" }, "Leave it"),
      h("button", { class: "button primary", value: "yes" }, verb)));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) => {
    dialog.onclose = () => {
      dialog.remove();
      done(dialog.returnValue === "yes");
    };
  });
}

/// What may be wider than the window, to be scrolled by keyboard, too.
export const scroll = (label, inside) => h("div", { class: "scroll", key: label, tabindex: "0", role: "region", "aria-label": label }, inside);

/// A line at the foot of the window for some seconds, read out by screen readers.
export function say(text, kind = "good") {
  const line = document.getElementById("said");
  line.textContent = text;
  line.className = `said ${kind}`;
  clearTimeout(line.timer);
  line.timer = setTimeout(() => {
    line.textContent = "";
    line.className = "said";
  }, 6000);
}
