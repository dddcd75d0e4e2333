// The marks under a stretch of time: as many as have room, each with its whole label.
import { h } from "./dom.js";
import { exactTime, timeOfDay, when } from "./format.js";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const STEPS = [0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080].map((m) => m * MINUTE);
const MOST = 8;
const BESIDE = 10;  // pixels of a mark beside its label: its line, the gap after it, air before the next

/// Times from `from` to `to` (milliseconds) in `width` pixels with their labels; measure(text) is a label's width in pixels.
export function marks(from, to, width, measure) {
  const step = STEPS.find((s) => (to - from) / s <= MOST) ?? STEPS.at(-1);
  const words = step >= DAY || to - from > DAY ? when : step < MINUTE ? exactTime : timeOfDay;
  const zone = new Date(to).getTimezoneOffset() * MINUTE;
  const out = [];
  for (let time = Math.ceil((from - zone) / step) * step + zone; time < to; time += step) {
    const text = words(time);
    const left = ((time - from) / (to - from)) * width;
    const right = left + measure(text) + BESIDE;
    if (left >= (out.at(-1)?.right ?? 0) && right <= width) out.push({ time, text, left, right });  // they lie evenly, so every second or third is kept
  }
  return out;
}

/// A lane of marks over lanes of the same width; `chart` holds them and says in which letters.
export function axis(from, to, chart) {
  const { fontFamily } = getComputedStyle(chart);
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.font = `${0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize)}px ${fontFamily}`;
  // Before the first lane is drawn the widest name is taken off.
  const width = chart.querySelector(".lane-rows")?.clientWidth || chart.clientWidth * 0.7;
  return h("div", { class: "lane axis", key: "axis", "aria-hidden": "true" }, h("div", { class: "lane-name" }),
    h("div", { class: "lane-rows" }, marks(from, to, width, (text) => canvas.measureText(text).width)
      .map(({ time, text, left }) => h("span", { key: time, style: { left: `${((left / width) * 100).toFixed(3)}%` } }, text))));
}
