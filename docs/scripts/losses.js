// The tight privacy loss of every row, in closed form: what src/sparsegate/gates/bounds.py has, without numeric
// answers and in floats. Its docstring has the proofs; tests/pages/test_svt_figures.py compares the numbers.
"use strict";
(() => {
  const MOVES = { any: [1, -1], up: [1, 0], down: [0, -1] };
  const SHIFTS = { any: [0, 1, -1], up: [0, 1], down: [0, -1] };

  const times = (count, cost) => (count ? count * cost : 0); // 0 * Infinity is nothing here

  /** The part r of a split eps1 : eps2 = 1 : r. */
  function ratio(allocation, cutoff, monotonic) {
    if (typeof allocation === "number") return allocation;
    return { "1:1": 1, "1:3": 3, "1:c": cutoff, optimal: (monotonic ? cutoff : 2 * cutoff) ** (2 / 3) }[allocation];
  }

  /** The noise scales of a row, in units of the sensitivity; null where there is no such noise. */
  function scales(row, { cutoff, epsilon, monotonic = false, allocation = null }) {
    const share = epsilon / (1 + ratio(allocation ?? row.allocation, cutoff, monotonic));
    const multiple = ([factor, perCutoff]) => factor * (perCutoff ? cutoff : 1);
    const bar = multiple(row.threshold);
    const query = multiple(monotonic ? row.queryMonotonic : row.query);
    return { threshold: bar ? bar / share : null, query: query ? query / (epsilon - share) : null };
  }

  /** e1 and r: what a shift of rho, and of one comparison, by the sensitivity costs; and the traits of the row. */
  function rates(row, { threshold, query }) {
    const { inside, oneSided, gap } = row;
    return { threshold: threshold ? 1 / threshold : Infinity, query: 1 / query, inside, oneSided, gap };
  }

  const thresholdCost = (r, t) => times(Math.abs(t), r.oneSided && t < 0 ? Infinity : r.threshold);

  function belowCost(r, d, t) {
    if ((r.oneSided && d > t) || (r.inside && t < 0)) return Infinity;
    return times(r.oneSided ? 0 : Math.max(d - t, 0), r.query);
  }

  function aboveCost(r, d, t) {
    if (r.gap && r.oneSided && d > t) return Infinity;
    return times(r.gap ? Math.abs(t - d) : Math.max(t - d, 0), r.query);
  }

  /** What m BELOW and k ABOVE cost where rho on D is aligned with rho + t on D', in its three parts. */
  function alignment(m, k, r, direction, t) {
    const [high, low] = MOVES[direction];
    return { rho: thresholdCost(r, t), below: times(m, belowCost(r, high, t)), above: times(k, aboveCost(r, low, t)) };
  }

  /** The supremum of the loss of m BELOW and k ABOVE under one rho: h of the positives make the highest move. */
  function roundLoss(m, k, r, direction) {
    const [high, low] = MOVES[direction];
    let largest = 0;
    for (let h = 0; h <= (r.gap ? k : 0); h += 1) {
      const costs = SHIFTS[direction].map((t) => thresholdCost(r, t) + times(m, belowCost(r, high, t))
        + times(h, aboveCost(r, high, t)) + times(k - h, aboveCost(r, low, t)));
      largest = Math.max(largest, Math.min(...costs));
    }
    return largest;
  }

  const directions = (row, monotonic) => (monotonic && row.comparesAnswer ? ["up", "down"] : ["any"]);

  /** L(m,k) of a row that never draws rho again. */
  function outcomeLoss(m, k, row, noise, monotonic = false) {
    if (noise.query === null) return m + k ? Infinity : 0;
    if (row.releasesNoisy) return (m + k) / noise.query;
    return Math.max(...directions(row, monotonic).map((way) => roundLoss(m, k, rates(row, noise), way)));
  }

  /** Rounds that end in an ABOVE are independent: their losses add, and n questions are shared out among them. */
  function redrawn(r, direction, cutoff, questions) {
    const useful = 1 + Math.ceil(r.threshold / r.query);
    if (questions === null || questions >= cutoff * (useful + 1)) return cutoff * roundLoss(useful, 1, r, direction);
    const rounds = [];
    for (let m = 0; m <= Math.min(useful, questions - 1); m += 1) rounds.push([m + 1, roundLoss(m, 1, r, direction)]);
    let best = new Array(questions + 1).fill(0);
    let answer = roundLoss(questions, 0, r, direction);
    for (let done = 1; done <= Math.min(cutoff, questions); done += 1) {
      const before = best;
      best = before.map((_, n) => rounds.reduce((top, [used, loss]) => (used <= n ? Math.max(top, before[n - used] + loss) : top), 0));
      for (let n = done; n <= questions; n += 1) {
        answer = Math.max(answer, best[n] + (done < cutoff ? roundLoss(questions - n, 0, r, direction) : 0));
      }
    }
    return answer;
  }

  /** The smallest epsilon for which the row is epsilon-DP; `questions` null: no limit. */
  function tightLoss(row, noise, { cutoff, monotonic = false, questions = null }) {
    if (noise.query === null) {
      return questions === 1 && noise.threshold && !row.oneSided && !row.releasesNoisy ? 1 / noise.threshold : Infinity;
    }
    if (row.releasesNoisy) return questions === null ? Infinity : questions / noise.query;
    const either = row.closes === "rarer";
    const boundless = either && (row.gap || row.oneSided || row.inside || row.redraws);
    if (questions === null && (row.closes === "never" || noise.threshold === null || boundless)) return Infinity;
    if (row.redraws && noise.threshold !== null) {
      const rounds = row.closes === "above" || questions === null ? cutoff : questions;
      const r = rates(row, noise);
      return Math.max(...directions(row, monotonic).map((way) => redrawn(r, way, rounds, questions)));
    }
    if (row.closes !== "never" && noise.threshold !== null && !boundless) {
      const enough = cutoff + Math.ceil(noise.query / noise.threshold); // another BELOW costs nothing
      if (questions === null || questions >= cutoff + enough) return outcomeLoss(enough, cutoff, row, noise, monotonic);
    }
    const most = row.closes === "never" ? questions : Math.min(cutoff, questions);
    let largest = 0;
    for (let k = 0; k <= questions; k += 1) {
      if (k > most && !(either && k >= questions - most)) continue;
      largest = Math.max(largest, outcomeLoss(questions - k, k, row, noise, monotonic));
    }
    return largest;
  }

  const tightEpsilon = (row, options) => tightLoss(row, scales(row, options), options);

  /** Whether a gate of this row answers no more after m BELOW and k ABOVE. */
  function closed(row, cutoff, m, k) {
    return { never: false, above: k >= cutoff, rarer: Math.min(m, k) >= cutoff }[row.closes];
  }

  /** Whether some transcript has this many of each: the gate must not have closed before the last. */
  function reachable(row, cutoff, m, k) {
    return m + k === 0 || (m > 0 && !closed(row, cutoff, m - 1, k)) || (k > 0 && !closed(row, cutoff, m, k - 1));
  }

  globalThis.svt = { ...globalThis.svt, scales, rates, alignment, outcomeLoss, tightLoss, tightEpsilon, closed, reachable };
})();
