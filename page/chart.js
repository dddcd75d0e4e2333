// Curves, drawn by uPlot in the page's colours.
import { h } from "./dom.js";
import { exactTime, timeOfDay, when } from "./format.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/// A curve over time. `element` goes into the page; set(times in seconds, values, say, tick) draws, where say(value) is a value in
/// words and tick(value) one at the axis; close() when it leaves the page. Values that are null are gaps: not measured.
export function curve(label, { height = 180, max = null, stepped = false } = {}) {
  const box = h("div", { class: "curve" });
  const words = h("p", { class: "unseen" });
  const element = h("figure", { class: "chart", role: "group", "aria-label": label }, box, words);
  let chart = null;
  let data = null;
  let speak = String;
  let mark = String;

  const draw = () => {
    chart?.destroy();
    chart = null;
    if (!data || box.clientWidth === 0) return;
    const ink = colour("--soft");
    const line = colour("--line");
    const accent = colour("--accent");
    const axis = { stroke: ink, font: "12px system-ui, sans-serif", grid: { stroke: line, width: 1 }, ticks: { show: false } };
    const length = data[0].at(-1) - data[0][0];
    const clock = length > 86_400 ? when : length < 600 ? exactTime : timeOfDay;
    chart = new window.uPlot({
      width: box.clientWidth, height, padding: [8, 40, 0, 0],  // half of the widest mark at the axis
      legend: { show: false },
      cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
      scales: { x: { time: true }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), max ?? Math.max(high ?? 0, 1e-6) * 1.08] } },
      axes: [
        { ...axis, grid: { show: false }, size: 32, space: 70, values: (_, ticks) => ticks.map((t) => clock(t * 1000)) },
        { ...axis, size: 56, space: 36, values: (_, ticks) => ticks.map((v) => mark(v)) },
      ],
      series: [{}, {
        stroke: accent, width: 1.75, fill: accent + "1f", points: { show: false },
        paths: stepped ? window.uPlot.paths.stepped({ align: 1 }) : undefined,
      }],
      hooks: { setCursor: [showTip], destroy: [() => tip.remove()] },
    }, data, box);
    chart.over.append(tip);
  };

  const tip = h("div", { class: "tip", "aria-hidden": true });
  const showTip = (u) => {
    const i = u.cursor.idx;
    tip.hidden = i === null || i === undefined || u.cursor.left < 0;
    if (tip.hidden) return;
    const value = u.data[1][i];
    tip.textContent = `${when(u.data[0][i] * 1000)}  ${value === null ? "not measured" : speak(value)}`;
    const right = u.cursor.left > u.over.clientWidth / 2;
    tip.style.left = right ? "auto" : `${u.cursor.left + 12}px`;
    tip.style.right = right ? `${u.over.clientWidth - u.cursor.left + 12}px` : "auto";
  };

  const resized = new ResizeObserver(() => {
    if (chart && box.clientWidth > 0 && chart.width !== box.clientWidth) chart.setSize({ width: box.clientWidth, height });
    else if (!chart) draw();
  });
  resized.observe(box);
  window.addEventListener("stint-theme", draw);

  return {
    element,
    set(times, values, say, tick = say) {
      speak = say;
      mark = tick;
      const first = data === null;
      data = [times, values];
      const known = values.filter((v) => v !== null);
      words.textContent = known.length === 0 ? "Nothing measured." :
        `${label}, from ${when(times[0] * 1000)}: now ${say(known.at(-1))}, least ${say(Math.min(...known))}, most ${say(Math.max(...known))}.`;
      if (first || !chart) draw();
      else chart.setData(data);
    },
    close() {
      resized.disconnect();
      window.removeEventListener("stint-theme", draw);
      chart?.destroy();
    },
  };
}

/// One of several, by buttons: {value: words}. The buttons are radio buttons to keyboard and screen reader.
export function choice(label, options, chosen, onChoose) {
  const name = `choice-${label.replaceAll(/\W/g, "-")}`;
  return h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, label),
    Object.entries(options).map(([value, words]) =>
      h("label", { key: value }, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onChoose(value) }), h("span", {}, words))));
}
