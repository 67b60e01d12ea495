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

const WHOLE = 34; // pixels, of a disc's 40

/** Where the arcs of a row enter their output, in pixels from its middle, and how wide their paint and its edge are:
 * side by side, in the order of the words, so that weights that sum to 1 fill the disc, or one head's share of it.
 * @param {number[]} row weights
 * @param {number} head of so many `heads`, which stand side by side, too */
export function ribbons(row, head = 0, heads = 1) {
  const whole = WHOLE / heads;
  let left = whole * head - WHOLE / 2;
  return row.map((w) => {
    left += whole * w;
    const paint = Math.max(0.6, whole * w);
    return { into: left - whole * w / 2, paint, edge: paint + Math.min(1, paint) };
  });
}

/** The path of an arc from the value of word j up into the output of word i, over n columns of width 100, in a frame
 * `height` high. It begins so far `aside` of the value's middle, ends so far `into` the output's, a little above the
 * frame, below the output's disc. It begins so far `below` the frame, behind what may cover it. */
export function arc(i, j, height, into, aside = 0, below = 0) {
  const [from, end] = [100 * j + 50 + aside, 100 * i + 50 + into].map((x) => Math.round(10 * x) / 10);
  const lower = Math.sign(i - j) * into; // what enters nearer to its own side runs below the others
  const [low, high] = [0.4, 0.75].map((share) => Math.min(height, share * height + lower).toFixed(1));
  return `M${from} ${height + below}${below ? `V${height}` : ""}C${from} ${low} ${end} ${high} ${end} ${(0.07 * height).toFixed(1)}V-20`;
}

/** Where an arc without a weight enters. */
export const abreast = (i, j) => 2.5 * (j - i);
