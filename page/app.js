// The page's frame: who is signed in, which view is shown, and the keys that lead to them.
import { askLogin, forget, signIn, signOut, signedIn } from "./api.js";
import { empty, fill, h, say } from "./dom.js";
import { since, zone } from "./format.js";
import { end, live, refresh, start } from "./live.js";
import * as alerts from "./alerts.js";
import * as clients from "./clients.js";
import * as findings from "./findings.js";
import * as fleet from "./fleet.js";
import * as job from "./job.js";
import * as jobs from "./jobs.js";
import * as overview from "./overview.js";
import * as submit from "./submit.js";
import * as timeline from "./timeline.js";

const VIEWS = [
  { path: "overview", title: "Overview", key: "o", view: overview },
  { path: "fleet", title: "Fleet", key: "f", view: fleet },
  { path: "jobs", title: "Jobs", key: "j", view: jobs },
  { path: "timeline", title: "Timeline", key: "t", view: timeline },
  { path: "findings", title: "Findings", key: "s", view: findings },
  { path: "clients", title: "Clients", key: "c", view: clients },
  { path: "alerts", title: "Alerts", key: "a", view: alerts },
];

const body = document.body;
let shown = null;  // {path, page} of the view in the page
let navigation = null;
let notices = null;
let foot = null;

// ── signing in ──

const PLACE = "stint-place";  // where a login through the provider comes back to

async function showLogin(reason) {
  leave();
  end();
  document.title = "Stint: sign in";
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help token-wrong" });
  const wrong = h("p", { id: "token-wrong", class: "bad", role: "alert" }, reason ?? "");
  const form = h("form", {
    class: "login",
    onsubmit: async (event) => {
      event.preventDefault();
      wrong.textContent = "";
      try {
        await signIn(input.value.trim());
        showPage();
      } catch (error) {
        wrong.textContent = error.status === 401 ? "This token is not known, or has expired." : error.message;
        input.select();
      }
    },
  },
  h("img", { src: document.querySelector("link[rel=icon]").href, alt: "", width: 40, height: 40 }),
  h("h1", {}, "Stint"),
  h("label", { for: "token" }, "Token"),
  input,
  h("p", { id: "token-help", class: "soft" }, "The daemon writes its first token to ", h("code", {}, "admin.token"), " in its state folder; ",
    h("code", {}, "stint token make"), " makes more. You stay signed in for 12 hours, in all tabs of this browser."),
  wrong,
  h("button", { class: "button primary", type: "submit" }, "Sign in"));
  body.replaceChildren(h("main", { id: "main", class: "center" }, form));
  input.focus();
  const { provider } = await askLogin().catch(() => ({ provider: null }));
  if (!provider || !form.isConnected) return;
  const link = h("a", { class: "button primary", href: "/login", onclick: () => sessionStorage.setItem(PLACE, location.hash) }, "Log in with ", provider);
  form.querySelector("h1").after(link, h("p", { class: "soft" }, "or with a token"));
  form.querySelector("button").classList.remove("primary");
}

window.addEventListener("stint-unknown", () => {
  if (!navigation) return;
  forget();
  showLogin("You are no longer signed in: your session or token has ended.");
});

// ── the frame ──

function showPage() {
  navigation = h("nav", { id: "views", "aria-label": "Views" });
  notices = h("section", { id: "notices", "aria-label": "Notices" });
  foot = h("footer");
  const menu = h("button", {
    type: "button", class: "button menu", "aria-expanded": "false", "aria-controls": "views",
    onclick: () => openMenu(menu.getAttribute("aria-expanded") !== "true"),
  }, "Menu");
  const openMenu = (open) => {
    menu.setAttribute("aria-expanded", String(open));
    navigation.classList.toggle("open", open);
  };
  navigation.onclick = () => openMenu(false);
  body.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: (e) => { e.preventDefault(); document.getElementById("main").focus(); } }, "Skip to the content"),
    h("header", { class: "top" },
      h("a", { class: "brand", href: "#/overview" }, h("img", { src: document.querySelector("link[rel=icon]").href, alt: "", width: 22, height: 22 }), "Stint"),
      menu, navigation,
      h("div", { class: "tools" },
        h("button", { type: "button", class: "button plain", onclick: switchTheme, "aria-label": "Dark or light", title: "Dark or light" }, "◐"),
        h("button", { type: "button", class: "button plain", onclick: showHelp, "aria-label": "Keys", title: "Keys (?)" }, "?"),
        h("button", { type: "button", class: "button plain", onclick: () => signOut().catch(() => {}).then(() => showLogin()) }, "Sign out"))),
    notices,
    h("main", { id: "main", tabindex: "-1" }),
    foot,
    h("div", { id: "said", class: "said", role: "status" }));
  show();
  start(update);
}

function leave() {
  shown?.page?.unmount?.();
  shown = null;
  navigation = null;
  live.whys = 0;
  live.wantsGpus = false;
}

/// #/jobs/12 → the job's view with ["12"].
function place() {
  const [path = "overview", ...rest] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/").filter(Boolean).map(decodeURIComponent);
  if (path === "jobs" && rest.length > 0) return { path, title: `Job ${rest[0]}`, view: job, rest };
  if (path === "submit") return { path, title: "Submit a job", view: submit, rest };
  return { ...(VIEWS.find((v) => v.path === path) ?? VIEWS[0]), rest };
}

function show() {
  if (!signedIn()) return showLogin();
  const at = place();
  shown?.page?.unmount?.();
  live.whys = 0;
  live.wantsGpus = false;
  const main = document.getElementById("main");
  main.replaceChildren();
  shown = { at, page: at.view.mount(main, at.rest) };
  document.title = `${at.title} · Stint`;
  fill(navigation, VIEWS.map((v) => h("a", { href: `#/${v.path}`, key: v.path, "aria-current": v.path === at.path || (at.path === "submit" && v.path === "jobs") ? "page" : null }, v.title)));
  update();
  if ((live.whys > 0 || live.wantsGpus) && live.board) refresh();
}

function update() {
  if (!shown || !navigation) return;
  const { board } = live;
  fill(notices,
    live.error && h("p", { class: "notice bad", key: "error", role: "alert" }, live.error, board ? " What you see is as of " + since(board.now, new Date()) + " ago." : ""),
    board?.read_only && h("p", { class: "notice bad", key: "read-only" }, "The daemon takes no command now: ", board.read_only),
    board?.notes.filter((note) => !dismissed().includes(note)).map((note) => h("p", { class: "notice", key: note }, h("span", {}, note),
      h("button", { type: "button", class: "button plain", "aria-label": `Dismiss: ${note}`, title: "Dismiss", onclick: () => dismiss(note) }, "×"))));
  if (board) {
    shown.page.update();
    fill(foot, h("span", {}, "stint ", board.version), h("span", {}, board.me.user, " (", board.me.roles.join(", ") || "no role", ")"),
      h("span", {}, "Times in ", zone()), h("span", { class: live.line ? "badge good" : "badge warn" }, live.line ? "live" : "connecting"));
  } else if (live.error) {
    document.getElementById("main").replaceChildren(empty("Nothing to show", live.error));
  }
}

// ── notices that were read ──

const DISMISSED = "stint-dismissed";
const MOST_DISMISSED = 50;

function dismissed() {
  try {
    return JSON.parse(localStorage.getItem(DISMISSED) ?? "[]");
  } catch {
    return [];
  }
}

function dismiss(note) {
  try {
    localStorage.setItem(DISMISSED, JSON.stringify([...dismissed(), note].slice(-MOST_DISMISSED)));
  } catch {
    // Nothing may be kept here: it comes back, then.
  }
  update();
  document.querySelector("#main h1")?.focus();
}

window.addEventListener("hashchange", () => {
  if (!navigation) return;
  if (location.hash === "#main") return;
  show();
  window.scrollTo(0, 0);
  document.querySelector("#main h1")?.focus();
});

// ── colours and keys ──

function switchTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("stint-theme", document.documentElement.dataset.theme);
  } catch {
    // Not kept beyond this page, then.
  }
  window.dispatchEvent(new Event("stint-theme"));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("stint-theme")));

function showHelp() {
  const keys = [...VIEWS.map((v) => [`g ${v.key}`, v.title]), ["g n", "Submit a job"], ["/", "Search in this view"], ["d", "Dark or light"], ["arrows, enter", "Walk the fleet and the timeline, open a job"], ["?", "This list"]];
  const dialog = h("dialog", { class: "help", "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, keys.map(([k, what]) => [h("dt", {}, k.split(", ").map((part, i) => [i > 0 && ", ", part.split(" ").map((p, n) => [n > 0 && " ", h("kbd", {}, p)])])), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", { class: "button" }, "Close")));
  dialog.onclose = () => dialog.remove();
  body.append(dialog);
  dialog.showModal();
}

let awaited = 0;  // until when a key after g leads to a view
document.addEventListener("keydown", (event) => {
  if (!navigation || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=radio]), textarea, select, dialog")) return;
  if (Date.now() < awaited) {
    awaited = 0;
    const view = event.key === "n" ? { path: "submit" } : VIEWS.find((v) => v.key === event.key);
    if (view) {
      event.preventDefault();
      location.hash = `#/${view.path}`;
    }
    return;
  }
  if (event.key === "g") awaited = Date.now() + 1500;
  else if (event.key === "?") showHelp();
  else if (event.key === "d") switchTheme();
  else if (event.key === "/") {
    const search = document.querySelector("#main input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
  }
});

window.addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name !== "ApiError" && event.reason?.status === undefined) return;
  event.preventDefault();
  if (navigation) say(event.reason.message, "bad");
});

/// Back from the provider: to the view from which the login began.
function restorePlace() {
  const place = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  if (place && !location.hash) history.replaceState(null, "", place);
}

if (!signedIn()) await askLogin().catch(() => {});
if (signedIn()) {
  restorePlace();
  showPage();
} else {
  showLogin();
}
