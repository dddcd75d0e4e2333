// What the page knows: the board (all that is so now), kept up to date by the stream of events, and by asking again every ten
// seconds for what no event tells (money, telemetry). Views ask here and are told when something is new.
import { follow, get } from "./api.js";

export const live = {
  board: null,
  events: [],  // the last ones, newest first
  line: false,  // the stream of events stands
  error: null,  // why the last question was not answered
  whys: 0,  // of so many waiting jobs the view shown wants to know why
  wantsGpus: false,  // the view shown wants to know what each GPU does
  services: [],  // inference services, as their servers tell of them
  replicas: [],  // services whose replicas are jobs here
  gpus: new Map(),  // "node/index" → what it does now, as far as that is measured
};

/// Whether this person may ask for that (an operationId of the API) at all, and this daemon has it.
export const may = (operation) => live.board.me.may.includes(operation);

const EVENTS_KEPT = 60;
const ASK_AGAIN_MS = 10_000;
const LEAST_PAUSE_MS = 1_500;

let tell = () => {};
let run = null;  // what this start is known by; null = not started
let stream = null;  // ends the stream of events
let asked = 0;
let timer = null;
let frame = null;  // the views are told with the next one

/// @param listener  called after every change. Ends an earlier start.
export async function start(listener) {
  end();
  tell = listener;
  run = {};
  await refresh();
}

/// The stream of events, from the last one known. Only while the page is looked at: a browser has six lines to one daemon for all
/// its tabs together.
function listen() {
  const own = new AbortController();
  stream = own;
  follow(live.events[0]?.id, EVENTS_KEPT, (event) => {
    if (own !== stream) return;
    live.events.unshift(event.data);
    if (live.events.length > EVENTS_KEPT) live.events.length = EVENTS_KEPT;
    soon();
    frame ??= requestAnimationFrame(() => {
      frame = null;
      tell();
    });
  }, (open) => {
    if (own !== stream) return;
    live.line = open;
    tell();
  }, own.signal);
}

/// Shares of 1, °C and W; null = not measured, or not for this person to see.
function reading(gpu) {
  const v = gpu.values;
  const total = v.memory_total ?? gpu.memory_bytes;
  return {
    busy: v.utilization === undefined ? null : v.utilization / 100,
    memory: v.memory_used === undefined || !total ? null : v.memory_used / total,
    celsius: v.temperature ?? null,
    watts: v.power ?? null,
    simulated: gpu.simulated,
    source: gpu.source,
    strangers: (gpu.processes ?? []).filter((p) => p.job === null || !gpu.holders.some((holder) => holder.job === p.job)),
    heldBack: gpu.held_back,
  };
}

export function end() {
  stream?.abort();
  stream = run = null;
  clearTimeout(timer);
  Object.assign(live, { board: null, events: [], services: [], replicas: [], gpus: new Map(), line: false, error: null });
}

/// Asks now.
export async function refresh() {
  const mine = run;
  clearTimeout(timer);
  asked = Date.now();
  try {
    const also = (operation, path) => (live.wantsGpus && live.board && may(operation) ? get(path) : null);
    const [board, gpus, services] = await Promise.all([get(`/v1/board?why=${live.whys}`), also("listGpus", "/v1/gpus"), also("listServices", "/v1/services")]);
    if (mine !== run) return;
    live.board = board;
    if (gpus) live.services = gpus.services;
    if (services) live.replicas = services.services;
    if (gpus) live.gpus = new Map(gpus.gpus.filter((g) => g.index !== null && g.mig_profile === "").map((g) => [`${g.node}/${g.index}`, reading(g)]));
    live.error = null;
    if (!stream && !document.hidden) listen();
  } catch (error) {
    if (mine !== run) return;
    live.error = error.message;
  }
  if (!run) return;
  if (!document.hidden) timer = setTimeout(refresh, ASK_AGAIN_MS);
  tell();
}

/// Asks soon: however much happens, not again at once, and not while the page is hidden.
export function soon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, Math.max(150, asked + LEAST_PAUSE_MS - Date.now()));
}

document.addEventListener("visibilitychange", () => {
  if (!run) return;
  if (!document.hidden) return refresh();
  stream?.abort();
  stream = null;
  live.line = false;
});
