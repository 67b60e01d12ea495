// Weights over the words of the book's sentence, and the colours they mix. No DOM.
import { product, weightMatrix } from "./aggregation.js";
import { boltzmann } from "./boltzmann.js";

/** A weight below this is written .00, and has no arc. */
export const LEAST = 0.005;

/** The scores of every head, q·k / √d_k, each n × n; those of later words as they are, 0 or −∞.
 * @param {{future: string, q: number[][], k: number[][]}} setting
 * @param {number} n words; q and k hold the n rows of one head after another */
export function scoresOf({ future, q, k }, n) {
  const later = { zero: 0, masked: -Infinity }[future];
  return Array.from({ length: q.length / n }, (_, head) => {
    const [asks, keys] = [q, k].map((rows) => rows.slice(head * n, (head + 1) * n));
    return asks.map((row, i) => keys.map((key, j) =>
      (j > i && later !== undefined ? later : dot(row, key) / Math.sqrt(row.length))));
  });
}

/** The weights of every head, each n × n. Fixed rules have one head and look back only.
 * @param {{rule: string, parts: number[], future: string, tau: number, q: number[][], k: number[][]}} setting */
export function weightsOf(setting, n) {
  if (setting.rule === "own") return [mixedByParts(setting.parts)];
  if (setting.rule !== "attention") return [weightMatrix({ rule: setting.rule, width: 2, rate: 0.5 }, n)];
  return scoresOf(setting, n).map((rows) => rows.map((row) => boltzmann(row, setting.tau).p));
}

/** Every word takes so many parts of each value up to its own. */
function mixedByParts(parts) {
  return parts.map((_, i) => {
    const total = parts.slice(0, i + 1).reduce((sum, part) => sum + part, 0);
    return parts.map((part, j) => (j > i ? 0 : part / total));
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

/** The path of an arc from the value of word j up into the output of word i, over n columns of width 100, in a
 * frame `height` high. It ends a little above the frame, below the output's disc; those from one side enter
 * beside each other. It begins so far `below` the frame, behind what may cover it. */
export function arc(i, j, height, aside = 0, below = 0) {
  const [from, into] = [100 * j + 50 + aside, 100 * i + 50 + aside];
  const end = into + (from - into) / 40;
  return `M${from} ${height + below}${below ? `V${height}` : ""}C${from} ${height * 0.35} ${into + (from - into) * 0.15} ${height * 0.45} ${end} -12`;
}
