// The masks of hydra_lib/masking.py, and softmax with the right and the wrong fill. No DOM.
import { boltzmann } from "./boltzmann.js";

export const masks = {
  causal: (T) => grid(T, (i, j) => j <= i),
  window: (T) => grid(T, (i, j) => j <= i && j > i - 2),
  padding: (T) => grid(T, (i, j) => j < T - 2),
  everything: (T) => grid(T, () => true),
  "an empty row": (T) => grid(T, (i, j) => i !== 2 && j <= i),
};

function grid(T, allowed) {
  return Array.from({ length: T }, (_, i) => Array.from({ length: T }, (_, j) => allowed(i, j)));
}

/** Row-wise softmax with `fill` in place of every forbidden score. */
export function maskedSoftmax(scores, mask, fill) {
  return scores.map((row, i) => boltzmann(row.map((s, j) => (mask[i][j] ? s : fill)), 1).p);
}

/** The weight each row puts on positions its mask forbids. */
export function leaked(weights, mask) {
  return weights.map((row, i) => row.reduce((total, w, j) => total + (mask[i][j] ? 0 : w), 0));
}
