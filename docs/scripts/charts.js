// Charts as SVG text: a frame with two axes, and what is drawn into it. Colours are variables of figures.css.
"use strict";
(() => {
  const LETTER = 7; // about the width of one at 12 px
  const round = (x) => String(Math.round(x * 100) / 100);
  const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const colour = (name) => `var(--figure-${name})`;

  /** A number for a reader: four decimals, or the sign of infinity. */
  function shown(x, digits = 4) {
    if (x === Infinity) return "∞";
    return Math.abs(x) > 0 && Math.abs(x) < 1e-3 ? x.toExponential(1) : x.toFixed(digits);
  }

  function words(x, y, text, { anchor = "start", fill = "ink", size = 12, weight = 400, turn = false } = {}) {
    const place = turn ? `transform="translate(${round(x)} ${round(y)}) rotate(-90)"` : `x="${round(x)}" y="${round(y)}"`;
    return `<text ${place} text-anchor="${anchor}" fill="${colour(fill)}" font-size="${size}" font-weight="${weight}">${escape(text)}</text>`;
  }

  function path(points, { stroke = "ink", width = 2, dash = "", fill = null, opacity = 1 } = {}) {
    const drawn = points.map(([x, y], at) => `${at ? "L" : "M"}${round(x)} ${round(y)}`).join("");
    const paint = fill ? `fill="${colour(fill)}" fill-opacity="${opacity}" stroke="none"`
      : `fill="none" stroke="${colour(stroke)}" stroke-width="${width}" stroke-opacity="${opacity}"`;
    return `<path d="${drawn}${fill ? "Z" : ""}" ${paint}${dash ? ` stroke-dasharray="${dash}"` : ""}/>`;
  }

  function rectangle(x, y, width, height, { fill, opacity = 1, stroke = null }) {
    const edge = stroke ? ` stroke="${colour(stroke)}" stroke-width="3"` : "";
    return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${colour(fill)}" fill-opacity="${round(opacity)}"${edge}/>`;
  }

  const dot = (x, y, fill, radius = 4) => `<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" fill="${colour(fill)}"/>`;

  /** Round numbers that cut the range into about `wanted` parts. */
  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
    const first = Math.ceil(low / step - 1e-9);
    const found = [];
    for (let at = first; at * step <= high + 1e-9 * step; at += 1) found.push(Number((at * step).toPrecision(12)));
    return found;
  }

  /** The pieces of a line between two heights: it ends where it leaves, and is not bent. */
  function within(points, low, high) {
    const pieces = [];
    let last = null; // where the piece before ended, if at a point of the line
    for (let at = 1; at < points.length; at += 1) {
      const [[x0, y0], [x1, y1]] = [points[at - 1], points[at]];
      const ends = y0 === y1 ? [0, 1] : [(low - y0) / (y1 - y0), (high - y0) / (y1 - y0)];
      const [from, to] = [Math.max(0, Math.min(...ends)), Math.min(1, Math.max(...ends))];
      if (from > to || Math.max(y0, y1) < low || Math.min(y0, y1) > high) continue;
      const place = (s) => [x0 + s * (x1 - x0), y0 + s * (y1 - y0)];
      if (last !== at - 1) pieces.push([place(from)]);
      pieces[pieces.length - 1].push(place(to));
      last = to === 1 ? at : null;
    }
    return pieces;
  }

  /** A frame in the box (left, top, width, height) whose axes have these ranges; `log` is for the horizontal one. */
  function frame(box, { x, y, xName, yName, xTicks = null, yTicks = null, log = false }) {
    const inner = { left: box.left + (yName ? 52 : 36), right: box.left + box.width - 10, top: box.top + 6, bottom: box.top + box.height - 40 };
    const bent = log ? Math.log : (v) => v;
    const X = (v) => inner.left + ((bent(v) - bent(x[0])) / (bent(x[1]) - bent(x[0]))) * (inner.right - inner.left);
    const Y = (v) => inner.bottom - ((v - y[0]) / (y[1] - y[0])) * (inner.bottom - inner.top);
    const parts = [];
    for (const v of xTicks ?? ticks(x[0], x[1], Math.max(3, (inner.right - inner.left) / 70))) {
      parts.push(path([[X(v), inner.bottom], [X(v), inner.bottom + 4]], { width: 1 }), words(X(v), inner.bottom + 17, v, { anchor: "middle" }));
    }
    for (const v of yTicks ?? ticks(y[0], y[1], 4)) {
      parts.push(path([[inner.left, Y(v)], [inner.right, Y(v)]], { stroke: "grid", width: 1 }), words(inner.left - 5, Y(v) + 4, v, { anchor: "end" }));
    }
    parts.push(path([[inner.left, inner.bottom], [inner.right, inner.bottom]], { width: 1 }));
    if (xName) parts.push(words((inner.left + inner.right) / 2, inner.bottom + 34, xName, { anchor: "middle" }));
    if (yName) parts.push(words(box.left + 12, (inner.top + inner.bottom) / 2, yName, { anchor: "middle", turn: true }));
    const clipped = (v) => Math.min(Math.max(v, y[0]), y[1]);
    return {
      inner, X, Y, parts,
      line: (points, style) => parts.push(...within(points, ...y).map((piece) => path(piece.map(([a, b]) => [X(a), Y(b)]), style))),
      area: (points, style) => parts.push(path([[X(points[0][0]), Y(0)], ...points.map(([a, b]) => [X(a), Y(clipped(b))]), [X(points[points.length - 1][0]), Y(0)]], style)),
      band: (lower, upper, style) => parts.push(path([...upper, ...lower.slice().reverse()].map(([a, b]) => [X(a), Y(clipped(b))]), style)),
      level: (v, style) => parts.push(path([[inner.left, Y(v)], [inner.right, Y(v)]], style)),
      upright: (v, style) => parts.push(path([[X(v), inner.top], [X(v), inner.bottom]], style)),
      point: (a, b, fill) => { if (b >= y[0] && b <= y[1]) parts.push(dot(X(a), Y(b), fill)); }, // beyond the frame there is none
      note: (a, b, text, style) => parts.push(words(X(a), Y(b), text, style)),
    };
  }

  /** What the lines are, above them: entries are [words, colour, dash or "area"], set in as many rows as they need. */
  function legend(entries, width, left = 10, top = 8) {
    const parts = [];
    let [x, y] = [left, top + 8];
    for (const [text, name, dash = ""] of entries) {
      const wide = 30 + text.length * LETTER + 12;
      if (x > left && x + wide > width) [x, y] = [left, y + 18];
      parts.push(dash === "area" ? rectangle(x, y - 6, 22, 12, { fill: name, opacity: 0.45 })
        : path([[x, y], [x + 22, y]], { stroke: name, width: 2.5, dash }));
      parts.push(words(x + 28, y + 4, text));
      x += wide;
    }
    return { parts, height: y + 14 };
  }

  /** Two boxes side by side, or one below the other where there is no room. */
  function panels(width, top, height) {
    if (width < 560) {
      return [{ left: 0, top, width, height }, { left: 0, top: top + height + 10, width, height }, top + 2 * height + 10];
    }
    const half = Math.floor(width / 2);
    return [{ left: 0, top, width: half - 6, height }, { left: half + 6, top, width: half - 6, height }, top + height];
  }

  /** The whole picture. Its words are those of `name`, for whoever does not see it. */
  function picture(name, width, height, parts) {
    const label = escape(name).replace(/"/g, "&quot;");
    return `<svg xmlns="http://www.w3.org/2000/svg" class="svt-picture" role="img" aria-label="${label}" viewBox="0 0 ${round(width)} ${round(height)}" width="${round(width)}" height="${round(height)}" font-family="system-ui, sans-serif">`
      + `${rectangle(0, 0, width, height, { fill: "ground" })}${parts.join("")}</svg>`;
  }

  const span = (low, high, count = 240) => Array.from({ length: count + 1 }, (_, at) => low + ((high - low) * at) / count);

  globalThis.svt = { ...globalThis.svt, shown, words, path, rectangle, dot, frame, legend, panels, picture, span };
})();
