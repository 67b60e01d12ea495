// A layer of hydra_lib/multihead.py without biases on one text, and the gradients of its four matrices, as
// hydra_lib/backward.py has them; and the task that book/all_of_it.md lets it learn. No DOM.
import { product } from "./aggregation.js";
import { trace, transpose } from "./attention.js";
import { masks } from "./masking.js";
import { uniforms } from "./random.js";

const slice = (matrix, i, width) => matrix.map((row) => row.slice(i * width, (i + 1) * width));
/** What the heads have, side by side. */
const merge = (heads) => heads[0].map((_, t) => heads.flatMap((head) => head[t]));
const plus = (a, b, factor) => a.map((row, i) => row.map((x, j) => x + factor * b[i][j]));

/** The layer on x, (T, d): what each of h causal heads has, their outputs side by side, and the layer's own.
 * @param {number[][]} x @param {{q: number[][], k: number[][], v: number[][], o: number[][]}} W as x @ W
 * @param {number} h */
export function forward(x, W, h) {
  const width = W.q.length / h;
  const qkv = [W.q, W.k, W.v].map((one) => product(x, one));
  const heads = Array.from({ length: h }, (_, i) => {
    const [q, k, v] = qkv.map((one) => slice(one, i, width));
    return trace(q, k, v, masks.causal(x.length), Math.sqrt(width));
  });
  const merged = merge(heads.map(({ output }) => output));
  return { heads, merged, output: product(merged, W.o) };
}

/** Gradients of a loss for the four matrices, from what `forward` gave and the loss's gradient for its output. */
export function gradients(x, W, { heads, merged }, dOutput) {
  const width = W.q.length / heads.length;
  const dMerged = product(dOutput, transpose(W.o));
  const found = heads.map(({ q, kT, v, weights, output }, i) => {
    const dHead = slice(dMerged, i, width);
    const dWeights = product(dHead, transpose(v));
    const dScores = weights.map((row, t) => {
      const mean = dHead[t].reduce((total, g, c) => total + g * output[t][c], 0);
      return row.map((p, j) => (p * (dWeights[t][j] - mean)) / Math.sqrt(width));
    });
    return { q: product(dScores, transpose(kT)), k: product(transpose(dScores), q), v: product(transpose(weights), dHead) };
  });
  const xT = transpose(x);
  const [q, k, v] = ["q", "k", "v"].map((name) => product(xT, merge(found.map((head) => head[name]))));
  return { q, k, v, o: product(transpose(merged), dOutput) };
}

const HEADS = 2;
const BATCH = 16;
const RATE = 0.5;
const PLACE = 3; // a place is told in a number of its own, which is this
const SPREAD = Math.sqrt(3); // colours evenly from −√3 to √3 have variance 1
const SCALE = 2 * SPREAD; // what 1 in a colour is in the layer

/** A text for the layer: in each row its place, and its colour with mean 0 and variance 1. @param {number[][]} colours */
export const textOf = (colours) => colours.map((colour, t) =>
  [...colours.map((_, place) => (place === t ? PLACE : 0)), ...colour.map((c) => SCALE * (c - 0.5))]);

/** The colours in rows of the layer's output. */
const coloursIn = (rows) => rows.map((row) => row.slice(rows.length).map((y) => y / SCALE + 0.5));

/** What a layer answers to a text: its colours, the weights of its heads, and how far the colours are from those of
 * the word before, as root of the mean square; the first word has none before. @param {number[][]} colours */
export function answer(W, colours) {
  const { heads, output } = forward(textOf(colours), W, HEADS);
  const given = coloursIn(output);
  const misses = given.slice(1).flatMap((row, t) => row.map((c, i) => (c - colours[t][i]) ** 2));
  const off = Math.sqrt(misses.reduce((a, b) => a + b) / misses.length);
  return { given, weights: heads.map(({ weights }) => weights), off };
}

/** Layers for texts of T words, before the first step of gradient descent, after one, after two …, without an end.
 * Each step takes new texts, of colours drawn at random. @param {number} seed @param {number} T */
export function* learning(seed, T) {
  const draw = uniforms(seed);
  const even = (rows, columns, most) => Array.from({ length: rows }, () => Array.from({ length: columns }, () => most * (2 * draw() - 1)));
  const d = T + 3;
  const start = () => even(d, d, SPREAD / Math.sqrt(d)); // variance 1 / d
  let W = { q: start(), k: start(), v: start(), o: start() };
  for (;;) {
    yield W;
    let next = W;
    for (let n = 0; n < BATCH; n += 1) {
      const x = textOf(even(T, 3, 0.5).map((row) => row.map((c) => c + 0.5)));
      const steps = forward(x, W, HEADS);
      const dOutput = steps.output.map((row, t) => row.map((y, c) =>
        (t === 0 || c < T ? 0 : (2 * (y - x[t - 1][c])) / (BATCH * (T - 1) * 3))));
      const way = gradients(x, W, steps, dOutput);
      next = Object.fromEntries(Object.entries(next).map(([name, one]) => [name, plus(one, way[name], -RATE)]));
    }
    W = next;
  }
}
