// The Boltzmann distribution of hydra_lib/boltzmann.py, in plain numbers. No DOM.

/** Every quantity of one row. `scores` may hold -Infinity; `tau` lies in [0, Infinity].
 * @param {number[]} scores @param {number} tau */
export function boltzmann(scores, tau) {
  const top = Math.max(...scores);
  if (top === -Infinity) {
    const p = scores.map(() => 0);
    return { p, F: Infinity, U: 0, S: 0, C: 0 };
  }
  // z = (s − max)/τ ≤ 0 cannot overflow; both ends of the temperature axis are limits of it.
  const z = scores.map((s) => {
    if (s === -Infinity) return -Infinity;
    if (tau === 0) return s === top ? 0 : -Infinity;
    return tau === Infinity ? 0 : (s - top) / tau;
  });
  const weights = z.map(Math.exp);
  const total = sum(weights);
  const p = weights.map((w) => w / total);
  const mean = (f) => sum(p.map((pi, i) => (pi > 0 ? pi * f(i) : 0)));
  const zMean = mean((i) => z[i]);
  // The largest terms are 1. One is left to log1p, so that what is added to it is not lost.
  const ties = z.filter((x) => x === 0).length;
  const beside = sum(weights.filter((_, i) => z[i] < 0)) + (ties - 1);
  const logTotal = Math.log1p(beside);
  return {
    p,
    F: -top - (logTotal === 0 ? 0 : tau * logTotal),
    U: -top - mean((i) => scores[i] - top),
    S: logTotal - zMean,
    C: mean((i) => (z[i] - zMean) ** 2),
  };
}

const sum = (xs) => xs.reduce((a, b) => a + b, 0);

/** The temperatures at which C has a peak: first on a grid finer than the slider's steps, since two
 * may lie close, then between the neighbours there. @param {number[]} scores */
export function meltingPoints(scores) {
  const C = (position) => boltzmann(scores, temperatureAt(position)).C;
  const steps = Array.from({ length: FINER * STEPS + 1 }, (_, at) => C(at / FINER));
  return steps.flatMap((c, at) => {
    // Next to the ends, 0 and ∞, C may come from a peak that lies beyond the finite steps.
    if (at < 2 * FINER || at > FINER * (STEPS - 2) || c < 1e-6) return [];
    if (!(c > steps[at - 1] && c >= steps[at + 1])) return [];
    let [low, high] = [(at - 1) / FINER, (at + 1) / FINER];
    for (let i = 0; i < 40; i += 1) {
      const third = (high - low) / 3;
      if (C(low + third) < C(high - third)) low += third;
      else high -= third;
    }
    return [temperatureAt((low + high) / 2)];
  });
}

/** The temperature slider: `STEPS` even steps of log τ, and both ends of (0, ∞) exactly. */
export const STEPS = 240;
const PER_DECADE = 60;
const FINER = 4;

export function temperatureAt(position) {
  if (position <= 0) return 0;
  if (position >= STEPS) return Infinity;
  return 10 ** ((position - STEPS / 2) / PER_DECADE);
}

/** The nearest position; a positive finite τ never lands on an end, which would change its value. */
export function positionOf(tau) {
  if (tau === 0) return 0;
  if (tau === Infinity) return STEPS;
  const position = STEPS / 2 + PER_DECADE * Math.log10(tau);
  return Math.min(STEPS - 1, Math.max(1, position));
}
