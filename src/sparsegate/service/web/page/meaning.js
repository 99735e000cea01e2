// What a gate's answers mean and cost, in words. Only what is public goes into them.

import { count, people, percent, short } from "./figures.js";
import { counted } from "./session.js";

const rounded = (gate) => Math.ceil(gate.margin);
export const lowest = (gate) => gate.threshold - rounded(gate);
export const highest = (gate) => gate.threshold + rounded(gate);
const twoSided = (gate) => gate.closes === "rarer";

export const question = (gate) =>
  `More than ${count(gate.threshold)} ${counted()}${gate.per ? `, for each ${gate.per} by itself` : ""}?`;

// How many answers the margin for several at once is about.
export const several = (gate) => gate.queries ?? gate.cutoff ?? gate.expect;

// Without a cutoff each ABOVE is paid for by itself, in rho.
const paysEach = (gate) => gate.cutoff === null;

export function aboveMeans(gate) {
  const low = lowest(gate);
  const seldom = percent(1 - gate.confidence);
  return low < 0
    ? `Little: noise alone says ABOVE now and then where there is nobody at all, because the margin is larger than the threshold.`
    : `Probably more than ${count(low)} ${counted()} (${count(gate.threshold)} − ${people(gate.margin)}). ` +
      `With ${count(low)} or fewer, ABOVE comes at most ${seldom} of the time.`;
}

export const belowMeans = (gate) =>
  `Probably fewer than ${count(highest(gate))} ${counted()} (${count(gate.threshold)} + ${people(gate.margin)}). ` +
  `With ${count(highest(gate))} or more, BELOW comes at most ${percent(1 - gate.confidence)} of the time.`;

export const together = (gate) =>
  `The above is about one answer. That ${count(several(gate))} answers are all right, ${percent(gate.confidence)} of the time, ` +
  `takes counts ${people(gate.margin_all)} or more away from ${count(gate.threshold)}.`;

export const costs = (gate) =>
  paysEach(gate)
    ? `An ABOVE costs ρ ${short(gate.above_rho)}; opening the gate cost ρ ${short(gate.opening_rho)}. A BELOW is free. ` +
      "A lost answer counts as an ABOVE. The gate closes when the ledger cannot pay for another ABOVE."
  : twoSided(gate)
    ? `Either answer counts: the gate closes when ABOVE and BELOW were both given ${count(gate.cutoff)} times.`
    : `An ABOVE costs one of the gate's ${count(gate.cutoff)}. A BELOW is free: it costs none of them. A lost answer counts ` +
      "as an ABOVE. No answer costs more epsilon than was reserved when the gate opened.";

export const left = (gate) =>
  paysEach(gate) || gate.per
    ? `${count(gate.positives)} ABOVE given${gate.per ? `, up to ${count(gate.cutoff)} for each ${gate.per}` : ""}`
  : twoSided(gate)
    ? `${count(gate.remaining)} of ${count(gate.cutoff)} of the rarer answer left`
    : `${count(gate.remaining)} of ${count(gate.cutoff)} ABOVE left`;

export const standing = (gate, rule) =>
  (gate.closed ? `Closed: ${gate.because}. ` : "") +
  (gate.closed && !paysEach(gate) ? "" : `${left(gate)}. `) +
  `${count(gate.asked)} asked${gate.queries ? ` of ${count(gate.queries)}` : ""}, ${count(gate.lost)} lost. ` +
  (paysEach(gate)
    ? `ρ ${short(gate.opening_rho)} to open it and ρ ${short(gate.above_rho)} for each ABOVE` +
      (gate.reserved === "0" ? "." : ", of which the next is reserved.")
    : rule === "zcdp" ? `All of its ρ was spent when it opened, with ε ${short(gate.epsilon)}.`
    : `ε ${short(gate.spent)} of ${short(gate.epsilon)} spent, ` +
      (gate.closed ? `${short(gate.given_back)} given back.` : `${short(gate.reserved)} reserved.`));

// What comes back when a gate closes: the exact rest where epsilons add up; where rho does, only what was held for an ABOVE.
export const closing = (gate, rule) =>
  rule !== "zcdp"
    ? "What its answers cost stays spent; the rest of its epsilon goes back."
  : paysEach(gate)
    ? `What its opening and each ABOVE cost stays spent. ${gate.reserved === "0" ? "Nothing is held for another ABOVE." : `The ρ ${short(gate.above_rho)} that is held for the next ABOVE goes back.`}`
    : "All of its ρ was spent when it opened, and none goes back: ρ is charged for the gate as a whole.";

export const refunds = (rule) =>
  rule === "zcdp"
    ? "All of its ρ is spent when the gate opens, and none comes back when it closes."
    : "All of epsilon is reserved when the gate opens; what its answers did not cost comes back when it closes.";

// How long an answer takes, from D and the number of questions before it; each of them takes D.
export function expected(delay, ahead) {
  const seconds = (ahead + 1) * delay;
  const before = ahead ? `${count(ahead)} ${ahead === 1 ? "question is" : "questions are"} before yours` : "";
  if (!delay) return before && `${before}.`;
  const time = `${seconds < 10 ? Number(seconds.toPrecision(2)) : Math.round(seconds)} s`;
  return before ? `${before}: about ${time}.` : `An answer takes about ${time}, whatever it is.`;
}

// What one answer means and what it cost.
export function answerMeans(gate, answer) {
  const about = answer.estimate === null || answer.estimate === undefined
    ? ""
    : ` The estimate is ${count(answer.estimate)} ± ${people(answer.standard_error ?? gate.standard_error)} (standard error), and costs nothing more.`;
  const paid = paysEach(gate)
    ? answer.above ? ` It cost ρ ${short(gate.above_rho)}.` : " It was free."
  : twoSided(gate)
    ? ` ${left({ ...gate, ...answer })}.`
    : answer.above
      ? ` It cost one ABOVE: ${count(answer.remaining)} of ${count(gate.cutoff)} left.`
      : ` It was free: ${count(answer.remaining)} of ${count(gate.cutoff)} ABOVE left.`;
  return (answer.above ? aboveMeans(gate) : belowMeans(gate)) + about + paid;
}
