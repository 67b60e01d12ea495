// The five steps of hydra_lib/attention.py, in plain numbers. No DOM.
import { product } from "./aggregation.js";
import { boltzmann } from "./boltzmann.js";

/** Every matrix on the way from q, k, v to the output; `mask` may be null, then `masked` is scaled. */
export function trace(q, k, v, mask, tau) {
  const kT = transpose(k);
  const scores = product(q, kT);
  const scaled = scores.map((row) => row.map((s) => s / tau));
  const masked = scaled.map((row, i) => row.map((s, j) => (mask && !mask[i][j] ? -Infinity : s)));
  const weights = masked.map((row) => boltzmann(row, 1).p);
  return { q, kT, scores, scaled, masked, weights, v, output: product(weights, v) };
}

export function transpose(matrix) {
  return matrix[0].map((_, j) => matrix.map((row) => row[j]));
}
