// Plots, drawn as SVG at the width they have, with labelled axes.

import { drawn } from "./elements.js";
import { count, local } from "./figures.js";

const EDGE = { top: 14, right: 14, bottom: 44, left: 74 };
const LINE = 15; // between two lines of text

// Draw now, and again whenever the width changes.
export function keepDrawn(svg, draw, signal) {
  const observer = new ResizeObserver(() => draw());
  observer.observe(svg.parentElement);
  signal.addEventListener("abort", () => observer.disconnect());
  return draw;
}

// The axes, and where a value lies on them.
function frame(svg, { height, x, y, across, up }) {
  const width = Math.max(svg.parentElement.clientWidth, 240);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const [left, right, top, bottom] = [EDGE.left, width - EDGE.right, EDGE.top, height - EDGE.bottom];
  const scale = (axis, from, to) => {
    const place = axis.log ? Math.log : Number;
    const span = place(axis.to) - place(axis.from) || 1;
    return (value) => from + ((to - from) * (place(value) - place(axis.from))) / span;
  };
  const across_ = scale(x, left, right);
  const up_ = scale(y, bottom, top);
  const most = Math.max(2, Math.floor((right - left) / 80));
  const parts = [];
  for (const { at, text } of ticks(y, 4)) {
    parts.push(drawn("line", { class: "grid", x1: left, x2: right, y1: up_(at), y2: up_(at) }));
    parts.push(drawn("text", { x: left - 8, y: up_(at) + 4, "text-anchor": "end" }, text));
  }
  let free = left - 20; // where the next label may begin
  for (const { at, text } of ticks(x, most)) {
    const place = across_(at);
    const [anchor, before] = place > right - 24 ? ["end", 7.2] : place < left + 12 ? ["start", 0] : ["middle", 3.6]; // of a letter
    if (place - before * text.length < free && place !== left) continue;
    free = place + (7.2 - before) * text.length + 8;
    parts.push(drawn("line", { class: "grid", x1: place, x2: place, y1: bottom, y2: bottom + 4 }));
    parts.push(drawn("text", { x: place, y: bottom + LINE + 2, "text-anchor": anchor }, text));
  }
  parts.push(drawn("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
  parts.push(drawn("line", { class: "axis", x1: left, x2: left, y1: top, y2: bottom }));
  parts.push(drawn("text", { class: "label", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, across));
  const middle = (top + bottom) / 2;
  parts.push(drawn("text", { class: "label", x: 12, y: middle, transform: `rotate(-90 12 ${middle})`, "text-anchor": "middle" }, up));
  svg.replaceChildren(...parts);
  return { x: across_, y: up_, left, right, top, bottom, add: (...more) => svg.append(drawn(...more)) };
}

function ticks(axis, most) {
  if (axis.ticks) return axis.ticks;
  if (axis.times) return times(axis.from, axis.to, most);
  const span = axis.to - axis.from || 1;
  const rough = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map((times) => times * rough).find((each) => span / each <= most);
  const found = [];
  for (let place = Math.ceil(axis.from / step); place * step <= axis.to * (1 + 1e-9); place += 1) {
    const at = Number((place * step).toPrecision(12));
    found.push({ at, text: count(at) });
  }
  return found;
}

// The ends, and what fits between them: hours on one day, else days.
function times(from, to, most) {
  const day = (stamp) => new Date(stamp).toLocaleDateString(undefined, { day: "numeric", month: "short" });
  const seconds = to - from < 600_000 ? "2-digit" : undefined;
  const hour = (stamp) => new Date(stamp).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: seconds });
  const text = day(from) === day(to) ? hour : day;
  const parts = Math.min(Math.max(most - 1, 1), 4);
  const found = [];
  for (let part = 0; part <= parts; part += 1) {
    const at = from + ((to - from) * part) / parts;
    if (found.at(-1)?.text !== text(at)) found.push({ at, text: text(at) });
  }
  return found;
}

const path = (points) => `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

// The margin against epsilon or against the cutoff: the curve, the threshold, and what is chosen.
export function plotMargin(svg, { curve, along, chosen, across, margin, threshold }) {
  const margins = [...curve.map((point) => point.margin), margin];
  const all = [...curve.map((point) => point[along]), chosen];
  const inside = threshold > 0 ? threshold : margin;
  const x = { from: Math.min(...all), to: Math.max(...all), log: true };
  x.ticks = powers(x.from, x.to);
  const y = { from: Math.min(...margins, inside) / 1.3, to: Math.max(...margins, inside) * 1.3, log: true };
  y.ticks = powers(y.from, y.to);
  const area = frame(svg, { height: 200, x, y, across, up: "margin ±" });
  if (threshold > 0) {
    const level = area.y(threshold);
    area.add("line", { class: "bar", x1: area.left, x2: area.right, y1: level, y2: level });
    area.add("text", { class: "note", x: area.right, y: level - 6, "text-anchor": "end" }, `threshold ${count(threshold)}`);
  }
  area.add("path", { class: "curve", d: path(curve.map((point) => [area.x(point[along]), area.y(point.margin)])) });
  const [place, level] = [area.x(chosen), area.y(margin)];
  area.add("circle", { class: "chosen", cx: place, cy: level, r: 6 });
  const end = along === "cutoff" ? place > area.left + 80 : place > (area.left + area.right) / 2; // off the curve
  const note = { class: "note strong", x: place + (end ? -10 : 10), y: level - 8, "text-anchor": end ? "end" : "start" };
  area.add("text", note, `± ${count(Math.ceil(margin))}`);
}

// Labels of a logarithmic axis: powers of ten, with 2 and 5 where there are few.
function powers(from, to) {
  const found = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power += 1) {
    for (const digit of Math.log10(to / from) > 3 ? [1] : [1, 2, 5]) {
      const at = Number((digit * 10 ** power).toPrecision(3));
      if (at >= from * (1 - 1e-9) && at <= to * (1 + 1e-9)) found.push({ at, text: at < 1e6 ? String(at) : at.toExponential(0) });
    }
  }
  return found;
}

export const outcome = (answer) => (answer.above === null ? "lost" : answer.above ? "above" : "below");

const LEVELS = { below: 0, lost: 1, above: 2 };

// Answers against time. In one second they lie one after another.
export function plotAnswers(svg, answers) {
  if (!answers.length) return svg.replaceChildren();
  const stamps = answers.map((answer) => Date.parse(answer.at));
  const room = Math.max((Math.max(...stamps) - Math.min(...stamps)) / 30, 1000);
  const first = Math.min(...stamps) - room;
  const last = Math.max(...stamps) + room;
  const levels = Object.entries(LEVELS).map(([text, at]) => ({ at, text: text === "lost" ? text : text.toUpperCase() }));
  const y = { from: -0.5, to: 2.5, ticks: levels };
  const area = frame(svg, { height: 150, x: { from: first, to: last, times: true }, y, across: "time it was asked", up: "answer" });
  const seen = new Map();
  answers.forEach((answer, place) => {
    const name = outcome(answer);
    const together = seen.get(stamps[place]) ?? 0;
    seen.set(stamps[place], together + 1);
    const x = Math.min(area.x(stamps[place]) + 9 * together, area.right);
    const y = area.y(LEVELS[name]);
    const title = drawn("title", {}, `#${answer.number}, ${local(answer.at)}: ${name.toUpperCase()}`);
    if (name === "lost") area.add("path", { class: name, d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }, title);
    else area.add("circle", { class: name, cx: x, cy: y, r: 5 }, title);
  });
}

// What was spent or reserved against time, and how much was allowed.
export function plotSpending(svg, entries, part) {
  const now = Math.max(Date.now(), Date.parse(entries.at(-1).at));
  const first = Math.min(Date.parse(entries[0].at), now - 1000);
  const [spent, allowed] = [[], []];
  let [used, budget] = [0, 0];
  for (const entry of entries) {
    const at = Date.parse(entry.at);
    spent.push([at, used]);
    allowed.push([at, budget]);
    const size = Number(entry.epsilon);
    if (entry.kind === "budget") budget = size; // an entry says the new budget, not what was added
    else used += entry.kind === "refund" ? -size : size;
    spent.push([at, used]);
    allowed.push([at, budget]);
  }
  spent.push([now, used]);
  allowed.push([now, budget]);
  const top = Math.max(budget, ...spent.map((point) => point[1]), 1e-9);
  const area = frame(svg, {
    height: 220,
    x: { from: first, to: now, times: true },
    y: { from: 0, to: top * 1.1 },
    across: "time",
    up: part,
  });
  const line = (points) => path(points.map(([at, size]) => [area.x(at), area.y(size)]));
  area.add("path", { class: "filled", d: `${line(spent)}V${area.bottom}H${area.left}Z` });
  area.add("path", { class: "curve", d: line(spent) });
  area.add("path", { class: "bar", d: line(allowed.filter(([, size]) => size > 0)) });
  area.add("text", { class: "note", x: area.right, y: area.y(budget) - 6, "text-anchor": "end" }, "budget");
  area.add("text", { class: "note strong", x: area.right, y: area.y(used) - 6, "text-anchor": "end" }, "spent or reserved");
}
