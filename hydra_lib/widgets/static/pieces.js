// A softmax in pieces, as hydra_lib/parallel/partials.py has it: what slices find, and the merge. No DOM.
import { sweep } from "./tiles.js";

/** Neighbours in slices: cut[j] says whether one begins after j. @param {boolean[]} cuts */
export function slicesOf(cuts) {
  const slices = [[0]];
  cuts.forEach((cut, j) => {
    if (cut) slices.push([]);
    slices.at(-1).push(j + 1);
  });
  return slices;
}

/** What row i finds among some keys: its maximum m, its sum l, and o, not divided by anything. */
export function finding(scores, values, i, columns) {
  const { m, l, o } = sweep(scores, values, [{ rows: [i], columns }], 1)[i];
  return { m, l, o };
}

/** Two findings as one. With no keys m = −∞ and l = o = 0, and such a finding changes nothing.
 * @param {{m: number, l: number, o: number[]}} a @param {{m: number, l: number, o: number[]}} b */
export function merge(a, b) {
  const m = Math.max(a.m, b.m);
  const [x, y] = [a, b].map((part) => (part.m === -Infinity ? 0 : Math.exp(part.m - m)));
  return { m, l: x * a.l + y * b.l, o: a.o.map((_, c) => x * a.o[c] + y * b.o[c]) };
}
