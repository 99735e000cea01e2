// The laws of the noise: probabilities of transcripts by quadrature, and the margin of a gate on the integers.
"use strict";
(() => {
  // Gauss-Legendre, eight points on [-1, 1].
  const NODES = [0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363];
  const WEIGHTS = [0.362683783378362, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763];

  /** ln Pr[nu < x] of Laplace noise; b = 0 is no noise. */
  function logBelow(x, b) {
    if (!b) return x > 0 ? 0 : -Infinity;
    return x < 0 ? x / b - Math.LN2 : Math.log1p(-Math.exp(-x / b) / 2);
  }

  /** ln Pr[nu >= x]. */
  function logAbove(x, b) {
    if (!b) return x <= 0 ? 0 : -Infinity;
    return logBelow(-x, b);
  }

  const logDensity = (x, b) => -Math.abs(x) / b - Math.log(2 * b);

  /**
   * ln of the integral of e**f from low to high, f smooth but at the breaks. A panel is as wide as `width`, or wider far
   * from the breaks, where f is straight or e**f is nothing.
   */
  function logIntegral(f, breaks, low, high, width) {
    const logs = [];
    function add(from, to) {
      const distance = Math.min(...breaks.map((x) => Math.min(Math.abs(x - from), Math.abs(x - to))));
      const [middle, half] = [(from + to) / 2, (to - from) / 2];
      if (to - from > Math.max(width, distance / 8)) {
        add(from, middle);
        add(middle, to);
        return;
      }
      NODES.forEach((node, at) => {
        const weight = Math.log(WEIGHTS[at] * half);
        logs.push(f(middle - node * half) + weight, f(middle + node * half) + weight);
      });
    }
    const ends = [low, ...breaks.filter((x) => x > low && x < high).sort((x, y) => x - y), high];
    for (let i = 0; i + 1 < ends.length; i += 1) if (ends[i] < ends[i + 1]) add(ends[i], ends[i + 1]);
    const top = logs.reduce((one, other) => Math.max(one, other), -Infinity);
    if (top === -Infinity) return top;
    return top + Math.log(logs.reduce((sum, each) => sum + Math.exp(each - top), 0));
  }

  /**
   * ln Pr[A(D) = a] for T = 0: `answers` are [answer, said, how many], `said` "below" or "above"; rho has scale t and nu
   * scale b. `limit` is the largest rho that a released number leaves possible.
   */
  function logProbability(answers, t, b, limit = Infinity) {
    const count = answers.reduce((sum, [, , times]) => sum + times, 0);
    const places = answers.map(([answer]) => answer);
    const reach = 40 * t;
    const low = Math.min(0, ...places) - reach;
    const high = Math.min(Math.max(0, ...places) + reach, limit);
    const width = b ? 4 / (1 / t + count / b) : t;
    return logIntegral((z) => logDensity(z, t) + logGiven(answers, b, z), [0, ...places], low, high, width);
  }

  /** ln of the probability of the same answers given rho = z. */
  function logGiven(answers, b, z) {
    return answers.reduce((sum, [answer, said, times]) => {
      if (!times) return sum;
      return sum + times * (said === "below" ? logBelow(z - answer, b) : logAbove(z - answer, b));
    }, 0);
  }

  /** Pr[rho - nu > t] for discrete Laplace noise of these scales, t >= 0 (the law is in gates/laws.py). */
  function laplaceTail(rho, nu, t) {
    const [p, q] = [Math.exp(-1 / rho), Math.exp(-1 / nu)];
    const [notP, notQ] = [-Math.expm1(-1 / rho), -Math.expm1(-1 / nu)];
    const norm = (notP * notQ) / ((1 + p) * (1 + q));
    const [pSum, qSum] = [p ** (t + 1) / notP, q ** (t + 1) / notQ];
    const slope = (x) => (x ** (t + 1) * ((t + 2) * (1 - x) + x)) / (1 - x) ** 2; // of x**(t+2) / (1 - x)
    let last = (p * pSum - q * qSum) / (p - q);
    if (Math.abs(p - q) < 0.01 * Math.min(notP, notQ)) {
      // Nearly equal: the mean slope between them, where the difference would lose its digits.
      const [middle, half] = [(p + q) / 2, (p - q) / 2];
      last = NODES.reduce((sum, x, at) => sum + (WEIGHTS[at] * (slope(middle - x * half) + slope(middle + x * half))) / 2, 0);
    }
    return norm * (((pSum + qSum) * p * q) / -Math.expm1(-1 / rho - 1 / nu) + last);
  }

  /** Pr[rho - nu > t] for geometric noise. */
  function geometricTail(rho, nu, t) {
    const both = -Math.expm1(-1 / rho - 1 / nu);
    if (t >= -1) return (-Math.expm1(-1 / nu) * Math.exp(-(t + 1) / rho)) / both;
    return 1 - (-Math.expm1(-1 / rho) * Math.exp(t / nu)) / both;
  }

  /** The public kappa of one-sided noise: it puts the middle of the central 90 % of rho - nu + kappa at 0. */
  function centralShift(rho, nu) {
    const [one, other, both] = [1 / rho, 1 / nu, 1 / rho + 1 / nu].map((rate) => -Math.expm1(-rate));
    const [up, down] = [other / both, one / both];
    const above = up >= 0.05 ? Math.log(up / 0.05) * rho : Math.log(0.95 / down) * nu;
    const below = down >= 0.05 ? Math.log(down / 0.05) * nu : Math.log(0.95 / up) * rho;
    return Math.round((below - above) / 2 + 0.5);
  }

  /** The smallest whole a such that T + a is ABOVE and T - a is BELOW, each with this probability or more. */
  function margin({ threshold: rho, query: nu }, oneSided, confidence = 0.95) {
    const shift = oneSided ? centralShift(rho, nu) : 0;
    const wrong = (a) => (oneSided
      ? Math.max(geometricTail(rho, nu, a - shift), geometricTail(nu, rho, a + shift - 1))
      : laplaceTail(rho, nu, a - 1));
    let high = 1;
    while (wrong(high) > 1 - confidence) high *= 2;
    let low = Math.floor(high / 2);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (wrong(middle) > 1 - confidence) low = middle;
      else high = middle;
    }
    return high;
  }

  globalThis.svt = { ...globalThis.svt, logBelow, logAbove, logDensity, logProbability, logGiven, margin };
})();
