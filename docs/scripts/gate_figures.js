// The figures about the gate itself. A figure is a table entry: its controls, its numbers (`values`), its picture and
// its words, each a function of the state of the controls alone. Sensitivity 1, threshold T = 0, epsilon = 1 unless said.
"use strict";
(() => {
  const { alignment, closed, frame, legend, logDensity, logGiven, logProbability, margin, outcomeLoss, panels, path } = svt;
  const { picture, rates, reachable, rectangle, rows, scales, shown, span, tightEpsilon, words } = svt;
  const STANDARD = rows.standard;
  const percent = (x) => `${Math.round(100 * x)} %`;
  const split = { name: "share", label: "ε₁, the share of the threshold noise", min: 0.05, max: 0.95, step: 0.01, unit: percent };
  const cutoff = (value, max = 10) => ({ name: "cutoff", label: "c, the cutoff", min: 1, max, step: 1, value });
  const oneWay = (value) => ({ name: "monotonic", label: "counts: all answers move one way", kind: "check", value });
  const noise = ({ share, cutoff: c = 1, monotonic = false, epsilon = 1 }, row = STANDARD) =>
    scales(row, { cutoff: c, epsilon, monotonic, allocation: (1 - share) / share });

  const below = {
    title: "m BELOW on two neighbours: the chance given the threshold noise, and the loss against m",
    controls: [
      { name: "below", label: "m, how many BELOW", min: 1, max: 30, step: 1, value: 6 },
      { name: "place", label: "where the answers lie on D", min: -10, max: 30, step: 1, value: 3 },
      { ...split, value: 0.5 },
    ],
    loss(m, { place, share }) {
      const { threshold, query } = noise({ share });
      const [here, there] = [place, place + 1].map((q) => logProbability([[q, "below", m]], threshold, query));
      return { here: Math.exp(here), there: Math.exp(there), loss: here - there };
    },
    values(state) {
      const { query } = noise(state);
      return { ...below.loss(state.below, state), alone: state.below / query, limit: Math.min(state.below / query, state.share) };
    },
    draw(state, width) {
      const { threshold, query } = noise(state);
      const key = legend([["how likely ρ = z is", "faint", "area"], ["chance of m BELOW at z, on D", "one"], ["on D'", "two", "7 4"],
        ["loss of m BELOW", "ink"], ["if each paid for itself", "bad", "2 4"]], width);
      const [left, right, bottom] = panels(width, key.height, 230);
      const zs = span(-14, 34);
      const one = frame(left, { x: [-14, 34], y: [0, 1.05], xName: "threshold noise z", yTicks: [0, 0.5, 1] });
      one.area(zs.map((z) => [z, Math.exp(logDensity(z, threshold) - logDensity(0, threshold))]), { fill: "faint", opacity: 0.35 });
      one.line(zs.map((z) => [z, Math.exp(logGiven([[state.place, "below", state.below]], query, z))]), { stroke: "one" });
      one.line(zs.map((z) => [z, Math.exp(logGiven([[state.place + 1, "below", state.below]], query, z))]), { stroke: "two", dash: "7 4" });
      const other = frame(right, { x: [0, 30], y: [0, 1.05], xName: "m, how many BELOW", yName: "privacy loss" });
      const counts = span(1, 30, 29).map(Math.round);
      other.line([[0, 0], [30, 30 / query]], { stroke: "bad", dash: "2 4" });
      other.level(state.share, { stroke: "three", dash: "7 4" });
      other.note(30, state.share + 0.03, "ε₁", { anchor: "end", fill: "three" });
      other.line([[0, 0], ...counts.map((m) => [m, below.loss(m, state).loss])], { stroke: "ink" });
      other.point(state.below, below.values(state).loss, "ink");
      return picture(below.title, width, bottom, [...key.parts, ...one.parts, ...other.parts]);
    },
    says(state) {
      const v = below.values(state);
      return [
        `Pr[${state.below} BELOW] is ${shown(v.here)} on D and ${shown(v.there)} on D', where every answer is 1 higher: a loss of ${shown(v.loss)}.`,
        `No place of the answers makes it more than ${shown(v.limit)}. If each BELOW paid for itself, it would be ${shown(v.alone)}.`,
      ];
    },
  };

  const MOVES = { any: "either way", up: "all up", down: "all down" };
  const shifted = {
    title: "What a transcript costs for each shift t of the threshold noise, in three parts",
    controls: [
      { name: "below", label: "m, how many BELOW", min: 0, max: 30, step: 1, value: 6 },
      { name: "above", label: "k, how many ABOVE", min: 0, max: 30, step: 1, value: 2 },
      cutoff(2),
      { ...split, value: 0.33 },
      { name: "moves", label: "answers move from D to D'", kind: "choice", options: MOVES, value: "any" },
      { name: "shift", label: "t, the shift of ρ", min: -1.5, max: 1.5, step: 0.05, value: 1 },
    ],
    at(state, t) {
      const r = rates(STANDARD, noise({ ...state, monotonic: state.moves !== "any" }));
      const parts = alignment(state.below, state.above, r, state.moves, t);
      return { ...parts, total: parts.rho + parts.below + parts.above };
    },
    values(state) {
      const whole = Object.fromEntries([-1, 0, 1].map((t) => [t, shifted.at(state, t).total]));
      return { whole, least: Math.min(...Object.values(whole)), chosen: shifted.at(state, state.shift) };
    },
    draw(state, width) {
      const v = shifted.values(state);
      const key = legend([["ρ itself: ε₁|t|", "faint", "area"], ["the BELOWs", "one", "area"], ["the ABOVEs", "two", "area"]], width);
      const most = Math.max(...[-1.5, 0, 1.5].map((t) => shifted.at(state, t).total));
      const top = Math.max(1.2, Math.min(6 * v.least, 1.05 * most));
      const box = { left: 0, top: key.height, width, height: 260 };
      const one = frame(box, { x: [-1.5, 1.5], y: [0, top], xName: "t, the shift of ρ between D and D'", yName: "cost", xTicks: [-1.5, -1, -0.5, 0, 0.5, 1, 1.5] });
      const at = span(-1.5, 1.5, 120).map((t) => [t, shifted.at(state, t)]);
      one.band(at.map(([t]) => [t, 0]), at.map(([t, c]) => [t, c.rho]), { fill: "faint", opacity: 0.45 });
      one.band(at.map(([t, c]) => [t, c.rho]), at.map(([t, c]) => [t, c.rho + c.below]), { fill: "one", opacity: 0.45 });
      one.band(at.map(([t, c]) => [t, c.rho + c.below]), at.map(([t, c]) => [t, c.total]), { fill: "two", opacity: 0.45 });
      one.line(at.map(([t, c]) => [t, c.total]), { stroke: "ink" });
      one.level(v.least, { stroke: "three", dash: "7 4" });
      one.note(-1.48, v.least + 0.02 * top, `L = ${shown(v.least)}`, { weight: 600 });
      one.upright(state.shift, { stroke: "ink", width: 1, dash: "2 3" });
      one.point(state.shift, v.chosen.total, "ink");
      return picture(shifted.title, width, key.height + 260, [...key.parts, ...one.parts]);
    },
    says(state) {
      const v = shifted.values(state);
      const c = v.chosen;
      return [
        `At t = ${state.shift}: ρ costs ${shown(c.rho)}, the ${state.below} BELOWs ${shown(c.below)}, the ${state.above} ABOVEs ${shown(c.above)}; together ${shown(c.total)}.`,
        `At t = −1, 0 and 1: ${[-1, 0, 1].map((t) => shown(v.whole[t])).join(", ")}. The least of them is the exact loss, L(${state.below}, ${state.above}) = ${shown(v.least)}`
          + `${state.moves === "any" ? "." : ", for answers that move this way."}`
          + `${state.above > state.cutoff ? ` A gate that closes after ${state.cutoff} ABOVE never says so many; a two-sided one does.` : ""}`,
      ];
    },
  };

  const pair = {
    title: "One transcript on two neighbours: where the threshold noise must have been, on each",
    controls: [
      { name: "below", label: "m, how many BELOW", min: 0, max: 20, step: 1, value: 4 },
      { name: "high", label: "where the answers of the BELOWs lie on D", min: -20, max: 60, step: 1, value: 8 },
      { name: "above", label: "k, how many ABOVE", min: 0, max: 10, step: 1, value: 1 },
      { name: "low", label: "where those of the ABOVEs lie on D", min: -60, max: 20, step: 1, value: 0 },
      cutoff(1),
      { ...split, value: 0.5 },
    ],
    fix: (state) => ({ ...state, above: Math.min(state.above, state.cutoff) }),
    answers: ({ below: m, high, above: k, low }, moved) => [[high + moved, "below", m], [low - moved, "above", k]],
    values(state) {
      const { threshold, query } = noise(state);
      const [here, there] = [0, 1].map((moved) => logProbability(pair.answers(state, moved), threshold, query));
      return { here, there, loss: here - there, limit: outcomeLoss(state.below, state.above, STANDARD, { threshold, query }) };
    },
    draw(state, width) {
      const { threshold, query } = noise(state);
      const reach = [Math.min(-12, state.low - 8), Math.max(12, state.high + 12)];
      const zs = span(...reach, 300);
      const logs = [0, 1].map((moved) => zs.map((z) => logDensity(z, threshold) + logGiven(pair.answers(state, moved), query, z)));
      const most = logs[0].reduce((one, other) => Math.max(one, other), -Infinity);
      const key = legend([["ρ = z and the transcript, on D", "one"], ["the same on D'", "two", "7 4"], ["ρ = z", "faint", "area"]], width);
      const one = frame({ left: 0, top: key.height, width, height: 240 }, { x: reach, y: [0, 1.05], xName: "threshold noise z", yTicks: [0, 0.5, 1] });
      one.area(zs.map((z) => [z, Math.exp(-Math.abs(z) / threshold)]), { fill: "faint", opacity: 0.25 });
      one.area(zs.map((z, at) => [z, Math.exp(logs[0][at] - most)]), { fill: "one", opacity: 0.25 });
      one.line(zs.map((z, at) => [z, Math.exp(logs[0][at] - most)]), { stroke: "one" });
      one.line(zs.map((z, at) => [z, Math.exp(logs[1][at] - most)]), { stroke: "two", dash: "7 4" });
      return picture(pair.title, width, key.height + 240, [...key.parts, ...one.parts]);
    },
    says(state) {
      const v = pair.values(state);
      return [
        `ln Pr on D is ${shown(v.here)}, on D' ${shown(v.there)}: the areas differ by a factor of e to the ${shown(v.loss)}, the exact loss of this pair.`,
        `No pair of neighbours loses more than L(${state.below}, ${state.above}) = ${shown(v.limit)} with this transcript.`,
      ];
    },
  };

  const SPLITS = { "1:1": "1:1", "1:3": "1:3", "1:c": "1:c", optimal: "1:(2c)^⅔, or 1:c^⅔ for counts" };
  const bars = {
    title: "The exact loss of every row against what it claims",
    controls: [
      { name: "epsilon", label: "ε, what each claims", min: 0.1, max: 2, step: 0.1, value: 1 },
      cutoff(3, 50),
      { name: "questions", label: "n, the most questions", min: 1, max: 200, step: 1, value: 40 },
      { name: "endless", label: "no limit on questions", kind: "check", value: false },
      oneWay(false),
      { name: "split", label: "ε₁:ε₂", kind: "choice", options: { published: "as published", ...SPLITS }, value: "published" },
    ],
    leaks: (loss, { epsilon }) => loss > epsilon * (1 + 1e-9),
    values(state) {
      const { cutoff: c, epsilon, monotonic, endless, questions } = state;
      const options = { cutoff: c, epsilon, monotonic, questions: endless ? null : questions, allocation: state.split === "published" ? null : state.split };
      return Object.fromEntries(Object.values(rows).map((row) => [row.key, tightEpsilon(row, options)]));
    },
    draw(state, width) {
      const losses = bars.values(state);
      const wide = width >= 560;
      const [left, step, right] = [wide ? 216 : 8, wide ? 23 : 38, width - 58];
      const most = 200 * state.epsilon;
      const least = state.epsilon / 50;
      const X = (v) => left + (Math.log(Math.min(Math.max(v, least), most) / least) / Math.log(most / least)) * (right - left);
      const parts = Object.values(rows).flatMap((row, at) => {
        const [y, loss] = [26 + at * step, losses[row.key]];
        const leaks = bars.leaks(loss, state);
        const top = wide ? y : y + 17;
        return [
          words(wide ? left - 8 : left, wide ? y + 13 : y + 12, row.key, { anchor: wide ? "end" : "start" }),
          rectangle(left, top, Math.max(X(loss) - left, 1), 16, { fill: leaks ? "bad" : "one", opacity: 0.75 }),
          words(X(loss) + 5, top + 13, shown(loss, 3), { weight: leaks ? 700 : 400 }),
        ];
      });
      const height = 26 + Object.keys(rows).length * step + 8;
      parts.unshift(path([[X(state.epsilon), 18], [X(state.epsilon), height - 6]], { stroke: "ink", width: 1.5, dash: "4 3" }));
      parts.push(words(X(state.epsilon), 13, `claimed: ε = ${state.epsilon}`, { anchor: "middle", weight: 600 }), words(width - 8, 13, "log scale", { anchor: "end" }));
      return picture(bars.title, width, height, parts);
    },
    says(state) {
      const losses = bars.values(state);
      const over = Object.keys(losses).filter((key) => bars.leaks(losses[key], state));
      const asked = state.endless ? "without a limit on questions" : `within ${state.questions} question${state.questions === 1 ? "" : "s"}`;
      const list = over.map((key) => `${key} ${shown(losses[key], 3)}`).join(", ");
      return [`${over.length || "None"} of ${Object.keys(losses).length} lose${over.length === 1 ? "s" : ""} more than ε = ${state.epsilon} ${asked}${over.length ? `: ${list}` : ""}.`];
    },
  };

  const budget = {
    title: "The margin of a gate against the share of the threshold noise",
    controls: [
      { ...split, min: 0.02, max: 0.98, value: 0.1 },
      cutoff(25, 100),
      { name: "epsilon", label: "ε", min: 0.1, max: 2, step: 0.1, value: 0.5 },
      oneWay(true),
    ],
    margins(state, share) {
      const options = { ...state, share };
      return { laplace: margin(noise(options), false), exponential: margin(noise(options, rows["exponential-gap"]), true) };
    },
    values(state) {
      const best = 1 / (1 + (state.monotonic ? state.cutoff : 2 * state.cutoff) ** (2 / 3));
      return { ...budget.margins(state, state.share), best, atBest: budget.margins(state, best) };
    },
    draw(state, width) {
      const v = budget.values(state);
      const shares = span(0.02, 0.98, 96);
      const all = shares.map((share) => budget.margins(state, share));
      const top = 3 * v.atBest.laplace;
      const key = legend([["Laplace noise (standard)", "one"], ["exponential noise (what a gate has)", "two", "7 4"], ["1:(2c)^⅔, or 1:c^⅔ for counts", "three", "2 3"]], width);
      const one = frame({ left: 0, top: key.height, width, height: 250 }, { x: [0, 100], y: [0, top], xName: "ε₁ in % of ε", yName: "margin at 95 %" });
      one.line(shares.map((share, at) => [100 * share, all[at].laplace]), { stroke: "one" });
      one.line(shares.map((share, at) => [100 * share, all[at].exponential]), { stroke: "two", dash: "7 4" });
      one.upright(100 * v.best, { stroke: "three", width: 1.5, dash: "2 3" });
      one.point(100 * state.share, v.laplace, "one");
      one.point(100 * state.share, v.exponential, "two");
      return picture(budget.title, width, key.height + 250, [...key.parts, ...one.parts]);
    },
    says(state) {
      const v = budget.values(state);
      return [
        `At ε₁ = ${percent(state.share)} of ε an answer must lie ${v.laplace} from the threshold to be answered rightly with 95 %; with exponential noise ${v.exponential}.`,
        `At 1:${state.monotonic ? "c" : "(2c)"}^⅔, where the variance is least, ε₁ = ${(100 * v.best).toFixed(1)} %: ${v.atBest.laplace} and ${v.atBest.exponential}.`,
      ];
    },
  };

  const GATES = { standard: "Laplace noise (standard)", "two-sided": "two-sided", "exponential-gap": "exponential noise with gaps (what a gate has)" };
  const said = (state, letter) => [...state.answers].filter((each) => each === letter).length;
  const meter = {
    title: "What every transcript of a gate has cost: m BELOW to the right, k ABOVE upward, and the way of this one",
    controls: [
      { name: "row", label: "gate", kind: "choice", options: GATES, value: "standard" },
      cutoff(3, 6),
      oneWay(false),
      { name: "answers", kind: "hidden", value: "BBBABBBBAB" },
      { name: "below", label: "BELOW", kind: "button", press: (state) => meter.add(state, "B") },
      { name: "above", label: "ABOVE", kind: "button", press: (state) => meter.add(state, "A") },
      { name: "back", label: "Take one back", kind: "button", press: (state) => ({ ...state, answers: state.answers.slice(0, -1) }) },
      { name: "anew", label: "Start again", kind: "button", press: (state) => ({ ...state, answers: "" }) },
    ],
    most: 60, // answers, so that a key held down does not draw without end
    full: (state) => state.answers.length >= meter.most,
    add: (state, letter) => (meter.values(state).closed || meter.full(state) ? state : { ...state, answers: state.answers + letter }),
    // A gate that closes earlier than the one before keeps the answers that it would have given.
    fix(state) {
      let kept = "";
      for (const letter of state.answers) {
        if (closed(rows[state.row], state.cutoff, said({ answers: kept }, "B"), said({ answers: kept }, "A"))) break;
        kept += letter;
      }
      return { ...state, answers: kept };
    },
    cost({ row, cutoff: c, monotonic }, m, k) {
      return outcomeLoss(m, k, rows[row], scales(rows[row], { cutoff: c, epsilon: 1, monotonic }), monotonic);
    },
    values(state) {
      const [m, k] = [said(state, "B"), said(state, "A")];
      const cost = meter.cost(state, m, k);
      return { m, k, cost, back: Math.max(0, 1 - cost), closed: closed(rows[state.row], state.cutoff, m, k) };
    },
    draw(state, width, title = meter.title) {
      const row = rows[state.row];
      const v = meter.values(state);
      const columns = Math.max(width >= 560 ? 20 : 9, v.m + 2);
      const lines = Math.max(row.closes === "rarer" ? 9 : state.cutoff + 1, v.k + 1);
      const [left, side, tall] = [34, (width - 44) / columns, Math.max(10, Math.min(26, 400 / lines))];
      const [X, Y] = [(m) => left + m * side, (k) => 8 + (lines - 1 - k) * tall];
      const parts = [];
      const costs = [];
      for (let m = 0; m < columns; m += 1) {
        for (let k = 0; k < lines; k += 1) {
          if (!reachable(row, state.cutoff, m, k)) continue;
          const cost = meter.cost(state, m, k);
          parts.push(rectangle(X(m) + 1, Y(k) + 1, side - 2, tall - 2, { fill: "two", opacity: 0.06 + 0.6 * cost }));
          if (side > 26 && tall > 16) costs.push(words(X(m) + side / 2, Y(k) + tall / 2 + 4, cost.toFixed(2).replace(/^0/, ""), { anchor: "middle", size: 11 }));
        }
      }
      let [m, k] = [0, 0];
      const way = [[m, k], ...[...state.answers].map((letter) => (letter === "B" ? [m += 1, k] : [m, k += 1]))];
      parts.push(path(way.map(([a, b]) => [X(a) + side / 2, Y(b) + tall / 2]), { stroke: "one", width: 9, opacity: 0.4 }));
      parts.push(rectangle(X(v.m) + 1, Y(v.k) + 1, side - 2, tall - 2, { fill: "one", opacity: 0, stroke: "one" }), ...costs);
      const every = side < 20 ? 5 : 1;
      for (let a = 0; a < columns; a += every) parts.push(words(X(a) + side / 2, Y(-1) + 13, a, { anchor: "middle", size: 11 }));
      for (let b = 0; b < lines; b += tall < 14 ? 5 : 1) parts.push(words(left - 6, Y(b) + tall / 2 + 4, b, { anchor: "end", size: 11 }));
      parts.push(words(left + (columns * side) / 2, Y(-1) + 30, "m, how many BELOW", { anchor: "middle" }));
      parts.push(words(11, Y((lines - 1) / 2) + tall / 2, "ABOVE", { anchor: "middle", turn: true }));
      return picture(title, width, Y(-1) + 38, parts);
    },
    says(state) {
      const v = meter.values(state);
      const stretches = state.answers.match(/A+|B+/g) ?? [];
      const told = stretches.map((each) => each.length + (each[0] === "A" ? " ABOVE" : " BELOW")).join(", ");
      return [
        state.answers ? `Said: ${told}.` : "Nothing was asked.",
        `${v.m} BELOW and ${v.k} ABOVE have cost ${shown(v.cost)} of ε = 1. ${v.closed ? "The gate is closed, and" : "Closed now, it"} gives back ${shown(v.back)}.${!v.closed && meter.full(state) ? ` The picture ends at ${meter.most} answers.` : ""}`,
      ];
    },
  };

  // The same, as it begins for a reader who has only the still picture.
  const begins = { row: "two-sided", answers: "AAABAAAAABA" };
  const twoSided = {
    ...meter,
    title: "What every transcript of a two-sided gate has cost: it does not tell ABOVE and BELOW apart",
    controls: meter.controls.map((control) => ({ ...control, value: begins[control.name] ?? control.value })),
    draw: (state, width) => meter.draw(state, width, twoSided.title),
  };

  svt.figures = { ...svt.figures, below, shifted, pair, bars, budget, meter, "two_sided": twoSided };
})();
