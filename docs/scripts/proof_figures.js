// Six proofs that failed, a figure each: what the proof overlooked. Sensitivity 1, T = 0, epsilon = 1.
"use strict";
(() => {
  const { alignment, frame, legend, logAbove, logBelow, logDensity, logGiven, logProbability, outcomeLoss, panels } = svt;
  const { picture, rates, rows, scales, shown, span, tightEpsilon } = svt;
  const count = (name, label, value, max, min = 0) => ({ name, label, min, max, step: 1, value });
  const noiseOf = (key, cutoff = 1) => scales(rows[key], { cutoff, epsilon: 1 });
  const hill = (scale) => (z) => Math.exp(-Math.abs(z) / scale);
  const upTo = (n) => Array.from({ length: n + 1 }, (_, at) => at);

  /** A curve that no control changes, computed when it is first drawn. */
  const once = (make) => {
    let made = null;
    return () => (made ??= make());
  };

  const roth = {
    curve: once(() => upTo(30).map((m) => roth.values({ below: m }))),
    title: "Alg. 3: the number that is released says where the threshold noise cannot have been",
    controls: [count("below", "m BELOW before the released number", 10, 30)],
    // D = 0^(m+1), D' = 1^(m+1); m BELOW, then an ABOVE that releases the number 0. So rho <= 0, which the proof drops.
    values({ below: m }) {
      const { threshold, query } = noiseOf("roth-2011");
      const number = logDensity(0, query) - logDensity(-1, query);
      const loss = (limit) => number + logProbability([[0, "below", m]], threshold, query, limit) - logProbability([[1, "below", m]], threshold, query, limit);
      return { kept: loss(0), dropped: loss(Infinity) };
    },
    draw(state, width) {
      const { threshold, query } = noiseOf("roth-2011");
      const key = legend([["ρ = z and m BELOW, on D", "one"], ["the same on D'", "two", "7 4"], ["ruled out by the number", "bad", "area"],
        ["loss", "ink"], ["without what the number rules out", "three", "7 4"]], width);
      const [left, right, bottom] = panels(width, key.height, 230);
      const zs = span(-12, 24);
      const curves = [0, 1].map((q) => zs.map((z) => hill(threshold)(z) * Math.exp(logGiven([[q, "below", state.below]], query, z))));
      const top = Math.max(...curves[0]) * 1.1;
      const one = frame(left, { x: [-12, 24], y: [0, top], xName: "threshold noise z", yTicks: [0] });
      one.band([[0, 0], [24, 0]], [[0, top], [24, top]], { fill: "bad", opacity: 0.18 });
      one.line(zs.map((z, at) => [z, curves[0][at]]), { stroke: "one" });
      one.line(zs.map((z, at) => [z, curves[1][at]]), { stroke: "two", dash: "7 4" });
      const other = frame(right, { x: [0, 30], y: [0, 16], xName: "m, how many BELOW", yName: "privacy loss" });
      other.level(1, { stroke: "faint", width: 1.5 });
      other.note(30, 1.4, "claimed: ε = 1", { anchor: "end" });
      const all = roth.curve();
      other.line(all.map((v, m) => [m, v.kept]), { stroke: "ink" });
      other.line(all.map((v, m) => [m, v.dropped]), { stroke: "three", dash: "7 4" });
      other.point(state.below, all[state.below].kept, "ink");
      return picture(roth.title, width, bottom, [...key.parts, ...one.parts, ...other.parts]);
    },
    says(state) {
      const v = roth.values(state);
      return [`${state.below} BELOW and the number 0: the loss is ${shown(v.kept)}. If the number ruled out nothing, as in the proof, it would be ${shown(v.dropped)}.`];
    },
  };

  const leeClifton = {
    title: "Alg. 4: the BELOWs want the threshold noise shifted up, the ABOVEs down; the proof does both",
    controls: [count("cutoff", "c ABOVE, and as many BELOW as it takes", 2, 10, 1)],
    at({ cutoff: c }, t) {
      const r = rates(rows["lee-clifton-2014"], noiseOf("lee-clifton-2014", c));
      const { rho, below, above } = alignment(2 * c + 1, c, r, "any", t);
      return { below: rho + below, above: rho + above, both: rho + below + above };
    },
    values(state) {
      const at = [-1, 0, 1].map((t) => leeClifton.at(state, t));
      const least = (name) => Math.min(...at.map((each) => each[name]));
      return { below: least("below"), above: least("above"), both: least("both") };
    },
    draw(state, width) {
      const v = leeClifton.values(state);
      const key = legend([["BELOWs alone", "one"], ["ABOVEs alone", "two", "7 4"], ["both, one shift for all", "ink"]], width);
      const top = Math.max(2, 1.4 * v.both);
      const one = frame({ left: 0, top: key.height, width, height: 260 }, { x: [-1.5, 1.5], y: [0, top], xName: "t, the shift of ρ between D and D'", yName: "cost", xTicks: [-1.5, -1, -0.5, 0, 0.5, 1, 1.5] });
      const ts = span(-1.5, 1.5, 120).map((t) => [t, leeClifton.at(state, t)]);
      const drawn = (name, style) => one.line(ts.map(([t, cost]) => [t, cost[name]]), style);
      one.level(1, { stroke: "faint", width: 1.5 });
      one.note(-1.48, 1 + 0.03 * top, "claimed: ε = 1");
      drawn("below", { stroke: "one" });
      drawn("above", { stroke: "two", dash: "7 4" });
      drawn("both", { stroke: "ink" });
      one.point(1, v.below, "one");
      one.point(-1, v.above, "two");
      one.point(1, v.both, "ink");
      return picture(leeClifton.title, width, key.height + 260, [...key.parts, ...one.parts]);
    },
    says(state) {
      const v = leeClifton.values(state);
      return [
        `Alone, the BELOWs cost ${shown(v.below)} (ρ up by 1), and alone the ${state.cutoff} ABOVE${state.cutoff === 1 ? "" : "s"} ${shown(v.above)} (ρ down by 1). `
          + `Together they cost ${shown(v.both)}, because ρ is one number.`,
        `That is (1 + 6c)/4 = ${shown((1 + 6 * state.cutoff) / 4)} at c = ${state.cutoff}.`,
      ];
    },
  };

  const stoddard = {
    title: "Alg. 5: without query noise, BELOW then ABOVE puts the threshold into a window that one neighbour does not have",
    controls: [{ name: "query", label: "scale of the query noise", min: 0, max: 4, step: 0.1, value: 0 }],
    answers: { here: [[0, "below", 1], [1, "above", 1]], there: [[1, "below", 1], [0, "above", 1]] },
    values({ query }) {
      const { threshold } = noiseOf("stoddard-2014");
      const [here, there] = ["here", "there"].map((side) => logProbability(stoddard.answers[side], threshold, query));
      return { here: Math.exp(here), there: Math.exp(there), loss: here - there };
    },
    draw({ query }, width) {
      const { threshold } = noiseOf("stoddard-2014");
      const key = legend([["how likely ρ = z is", "faint", "area"], ["chance of BELOW ABOVE at z, on D = (0, 1)", "one"], ["on D' = (1, 0)", "two", "7 4"]], width);
      const one = frame({ left: 0, top: key.height, width, height: 230 }, { x: [-6, 7], y: [0, 1.05], xName: "threshold noise z", yTicks: [0, 0.5, 1] });
      const zs = span(-6, 7, 520);
      one.area(zs.map((z) => [z, hill(threshold)(z)]), { fill: "faint", opacity: 0.35 });
      const chances = (answers) => zs.map((z) => [z, Math.exp(logGiven(answers, query, z))]);
      one.line(chances(stoddard.answers.here), { stroke: "one" });
      one.line(chances(stoddard.answers.there), { stroke: "two", dash: "7 4", width: 3 });
      return picture(stoddard.title, width, key.height + 230, [...key.parts, ...one.parts]);
    },
    says(state) {
      const v = stoddard.values(state);
      return [`BELOW then ABOVE has probability ${shown(v.here)} on D = (0, 1) and ${v.there ? shown(v.there) : "0"} on D' = (1, 0): a loss of ${shown(v.loss)}.`];
    },
  };

  const chen = {
    curve: once(() => [[0, 0], ...upTo(14).map((at) => [2 * at + 2, chen.values({ half: at + 1 }).both])]),
    title: "Alg. 6: BELOWs and ABOVEs pull the threshold noise apart, so their chances do not multiply",
    controls: [count("half", "m BELOW and m ABOVE", 6, 15, 1)],
    sides: (m, q) => ({ f: [[q, "below", m]], g: [[-q, "above", m]], both: [[q, "below", m], [-q, "above", m]] }),
    values({ half: m }) {
      const { threshold, query } = noiseOf("chen-2015");
      const logs = [0, 1].map((q) => Object.values(chen.sides(m, q)).map((answers) => logProbability(answers, threshold, query)));
      const [f, g, both] = logs[0].map((log, at) => log - logs[1][at]);
      return { f, g, both, joint: Math.exp(logs[0][2]), product: Math.exp(logs[0][0] + logs[0][1]) };
    },
    draw(state, width) {
      const { threshold, query } = noiseOf("chen-2015");
      const key = legend([["ρ = z and m BELOW", "one"], ["ρ = z and m ABOVE", "two", "7 4"], ["all of them", "ink", "area"],
        ["loss of this pair", "ink"], ["worst pair: nε/2", "bad", "2 4"]], width);
      const [left, right, bottom] = panels(width, key.height, 230);
      const zs = span(-10, 10);
      const one = frame(left, { x: [-10, 10], y: [0, 1.05], xName: "threshold noise z, on D", yTicks: [0] });
      const scaled = (answers) => {
        const values = zs.map((z) => hill(threshold)(z) * Math.exp(logGiven(answers, query, z)));
        const top = Math.max(...values);
        return zs.map((z, at) => [z, values[at] / top]);
      };
      const { f, g, both } = chen.sides(state.half, 0);
      one.area(scaled(both), { fill: "ink", opacity: 0.2 });
      one.line(scaled(f), { stroke: "one" });
      one.line(scaled(g), { stroke: "two", dash: "7 4" });
      const other = frame(right, { x: [0, 30], y: [0, 15], xName: "n = 2m questions", yName: "privacy loss" });
      other.level(1, { stroke: "faint", width: 1.5 });
      other.note(30, 0.25, "claimed: ε = 1", { anchor: "end" });
      other.line([[0, 0], [30, tightEpsilon(rows["chen-2015"], { cutoff: 1, epsilon: 1, questions: 30 })]], { stroke: "bad", dash: "2 4" });
      other.line(chen.curve(), { stroke: "ink" });
      other.point(2 * state.half, chen.values(state).both, "ink");
      return picture(chen.title, width, bottom, [...key.parts, ...one.parts, ...other.parts]);
    },
    says(state) {
      const v = chen.values(state);
      return [
        `The ${state.half} BELOWs alone lose ${shown(v.f)} and the ${state.half} ABOVEs alone ${shown(v.g)}, each at most ε/2. All of them lose ${shown(v.both)}.`,
        `On D their joint probability is ${v.joint.toExponential(1)}; the product of the two is ${v.product.toExponential(1)}.`,
      ];
    },
  };

  const gptt = {
    curve: once(() => upTo(39).map((at) => gptt.values({ times: at + 1 }))),
    title: "GPTT: a ratio above 1 everywhere proves nothing; a ratio that stays away from 1 does",
    controls: [count("times", "t, how often each question is asked", 10, 40, 1)],
    // GPTT: 0^t 1^t against 1^t 0^t, BELOW^t ABOVE^t. Alg. 1: 0^t against 1^t, BELOW^t.
    kappa(z) {
      const own = noiseOf("gptt").query;
      const other = noiseOf("lyu-2017").query;
      return {
        gptt: logBelow(z, own) - logBelow(z - 1, own) + logAbove(z - 1, own) - logAbove(z, own),
        first: logBelow(z, other) - logBelow(z - 1, other),
      };
    },
    values({ times: t }) {
      const loss = (key, here, there) => {
        const { threshold, query } = noiseOf(key);
        return logProbability(here, threshold, query) - logProbability(there, threshold, query);
      };
      return {
        gptt: loss("gptt", [[0, "below", t], [1, "above", t]], [[1, "below", t], [0, "above", t]]),
        first: loss("lyu-2017", [[0, "below", t]], [[1, "below", t]]),
      };
    },
    draw(state, width) {
      const key = legend([["GPTT", "bad"], ["Alg. 1, which is private", "one", "7 4"]], width);
      const [left, right, bottom] = panels(width, key.height, 230);
      const one = frame(left, { x: [-20, 30], y: [0, 1], xName: "threshold noise z", yName: "ln κ(z)" });
      const zs = span(-20, 30).map((z) => [z, gptt.kappa(z)]);
      one.line(zs.map(([z, kappa]) => [z, kappa.gptt]), { stroke: "bad" });
      one.line(zs.map(([z, kappa]) => [z, kappa.first]), { stroke: "one", dash: "7 4" });
      one.note(29, 0.53, "ε₂", { anchor: "end", fill: "bad" });
      const other = frame(right, { x: [0, 40], y: [0, 36], xName: "t", yName: "privacy loss" });
      const all = gptt.curve();
      other.line([[0, 0], ...all.map((v, at) => [at + 1, v.gptt])], { stroke: "bad" });
      other.line([[0, 0], ...all.map((v, at) => [at + 1, v.first])], { stroke: "one", dash: "7 4" });
      other.point(state.times, gptt.values(state).gptt, "bad");
      other.point(state.times, gptt.values(state).first, "one");
      return picture(gptt.title, width, bottom, [...key.parts, ...one.parts, ...other.parts]);
    },
    says(state) {
      const v = gptt.values(state);
      return [`At t = ${state.times} the pair loses ${shown(v.gptt)} with GPTT. The same argument turned on Alg. 1 has ${shown(v.first)}, and never more than ε₁ = 0.5.`];
    },
  };

  const HR = "hardt-rothblum-2010";
  const hardtRothblum = {
    title: "Hardt, Rothblum 2010: the noise inside the absolute value is no leak, the number released is one",
    controls: [
      count("below", "m BELOW, then one ABOVE", 12, 40),
      { name: "bar", label: "T + z, the noisy threshold", min: 0.5, max: 10, step: 0.5, value: 6 },
      { name: "error", label: "e − q, the error on D", min: 0, max: 10, step: 0.5, value: 3 },
    ],
    // |e - q + nu| >= T + z on D; on D' the error is 1 less, and z is shifted up by 1.
    tails({ bar, error }, moved) {
      const { query } = noiseOf(HR);
      return Math.exp(logAbove(bar + moved - (error - moved), query)) + Math.exp(logBelow(-(bar + moved) - (error - moved), query));
    },
    values(state) {
      const noise = noiseOf(HR);
      const m = state.below;
      return {
        released: outcomeLoss(m, 1, rows[HR], noise),
        alone: outcomeLoss(m, 1, rows[`${HR}-indicator`], noise),
        whole: tightEpsilon(rows[`${HR}-indicator`], { cutoff: 1, epsilon: 1 }),
        tails: Math.log(hardtRothblum.tails(state, 0) / hardtRothblum.tails(state, 1)),
        twice: 2 / noise.query,
      };
    },
    draw(state, width) {
      const { query } = noiseOf(HR);
      const key = legend([["e − q + ν", "faint", "area"], ["ABOVE: beyond T + z", "two", "area"],
        ["loss with the number", "bad"], ["ABOVE and BELOW alone", "one", "7 4"]], width);
      const [left, right, bottom] = panels(width, key.height, 230);
      const one = frame(left, { x: [-16, 16], y: [0, 1.05], xName: "the noisy error, of either sign", yTicks: [0] });
      const density = (x) => [x, hill(query)(x - state.error)];
      one.area(span(-16, 16).map(density), { fill: "faint", opacity: 0.35 });
      for (const side of [-1, 1]) {
        const beyond = span(state.bar, 16, 80).map((x) => density(side * x));
        one.band(beyond.map(([x]) => [x, 0]), beyond, { fill: "two", opacity: 0.6 });
        one.upright(side * state.bar, { stroke: "ink", width: 1.5, dash: "4 3" });
      }
      const other = frame(right, { x: [0, 40], y: [0, 12], xName: "m, how many BELOW", yName: "privacy loss" });
      const all = upTo(40).map((m) => hardtRothblum.values({ ...state, below: m }));
      other.line(all.map((v, m) => [m, v.released]), { stroke: "bad" });
      other.line(all.map((v, m) => [m, v.alone]), { stroke: "one", dash: "7 4" });
      other.point(state.below, all[state.below].released, "bad");
      other.point(state.below, all[state.below].alone, "one");
      return picture(hardtRothblum.title, width, bottom, [...key.parts, ...one.parts, ...other.parts]);
    },
    says(state) {
      const v = hardtRothblum.values(state);
      return [
        `${state.below} BELOW and an ABOVE cost ${shown(v.alone)}, and however many there are, no more than ${shown(v.whole)}. With the noisy answer released, ${shown(v.released)}.`,
        `On D', with the error 1 less and ρ shifted up by 1, the two tails together are less by e to the ${shown(v.tails)}: at most 2r = ${shown(v.twice)}, as with one tail.`,
      ];
    },
  };

  svt.figures = {
    ...svt.figures, roth, "lee_clifton": leeClifton, stoddard, chen, gptt, "hardt_rothblum": hardtRothblum,
  };
})();
