// Weights over the words of the book's sentence, and the colours they mix. No DOM.
import { product, weightMatrix } from "./aggregation.js";
import { boltzmann } from "./boltzmann.js";

/** A weight below this has no arc. */
export const LEAST = 0.004;

/** The weights of every head, each n × n. Fixed rules have one head and look back only.
 * @param {{rule: string, causal: boolean, tau: number, q: number[][], k: number[][]}} setting
 * @param {number} n words; q and k hold the n rows of one head after another */
export function weightsOf({ rule, causal, tau, q, k }, n) {
  if (rule !== "attention") return [weightMatrix({ rule, width: 2, rate: 0.5 }, n)];
  return Array.from({ length: q.length / n }, (_, head) => {
    const [asks, keys] = [q, k].map((rows) => rows.slice(head * n, (head + 1) * n));
    return asks.map((row, i) => boltzmann(keys.map((key, j) =>
      (causal && j > i ? -Infinity : dot(row, key) / Math.sqrt(row.length))), tau).p);
  });
}

export const dot = (a, b) => a.reduce((total, x, c) => total + x * b[c], 0);

/** Each head mixes its own share of the columns of the values; merged side by side again. */
export function mixed(weights, values) {
  const width = values[0].length / weights.length;
  const parts = weights.map((own, head) =>
    product(own, values.map((v) => v.slice(head * width, (head + 1) * width))));
  return values.map((_, i) => parts.flatMap((part) => part[i]));
}

/** Weights on the way from one set to another; a share of 1 has arrived. */
export function between(from, to, share) {
  return to.map((head, h) => head.map((row, i) => row.map((w, j) =>
    (share >= 1 ? w : (1 - share) * (from[h] ?? from[0])[i][j] + share * w))));
}

/** How wide the arc of a weight is drawn: its edge, and the paint within. */
export const strokes = (w) => [2.5 + 15 * w, 1 + 15 * w];

/** The path of an arc over words at the middles of n columns of width 100, in a frame `height` high. */
export function arc(i, j, height, lift = 0) {
  const [a, b] = [i, j].map((index) => 100 * index + 50);
  if (i === j) return `M${a - 12} ${height}C${a - 40} ${height * 0.55 - lift} ${a + 40} ${height * 0.55 - lift} ${a + 12} ${height}`;
  const top = height - Math.min(height * 1.28, height * (0.42 + 0.17 * Math.abs(i - j))) - lift;
  return `M${a} ${height}C${a} ${top} ${b} ${top} ${b} ${height}`;
}
