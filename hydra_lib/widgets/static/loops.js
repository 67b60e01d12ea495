// Causal attention in plain JavaScript, three ways; the right answer in float64; random inputs.
// q, k, v and out are (pairs, T, D), a pair being one head of one batch entry. No DOM.
import { uniforms } from "./random.js";

/** `count` random float32 numbers of mean 0 and variance 1; after 2²⁰ they come again. */
export function randomNumbers(count, seed) {
  const uniform = uniforms(seed);
  const all = new Float32Array(count);
  const drawn = Math.min(count, 2 ** 20);
  for (let i = 0; i < drawn; i++) all[i] = Math.sqrt(12) * (uniform() - 0.5);
  for (let at = drawn; at < count; at += drawn) all.set(all.subarray(0, Math.min(drawn, count - at)), at);
  return all;
}

const nested = (values, pairs, T, D) => Array.from({ length: pairs }, (_, pair) =>
  Array.from({ length: T }, (_, i) => Array.from(values.subarray((pair * T + i) * D, (pair * T + i + 1) * D))));

/** Scores to weights, in place. */
function softmax(row, count) {
  let top = -Infinity;
  for (let j = 0; j < count; j++) if (row[j] > top) top = row[j];
  let total = 0;
  for (let j = 0; j < count; j++) total += row[j] = Math.exp(row[j] - top);
  for (let j = 0; j < count; j++) row[j] /= total;
}

/** Arrays in arrays, as one would write it first. */
function attendArrays(q, k, v) {
  const scale = 1 / Math.sqrt(q[0].length);
  return q.map((query, i) => {
    const weights = [];
    for (let j = 0; j <= i; j++) {
      let s = 0;
      for (let d = 0; d < query.length; d++) s += query[d] * k[j][d];
      weights.push(s * scale);
    }
    softmax(weights, i + 1);
    const out = query.map(() => 0);
    for (let j = 0; j <= i; j++) for (let d = 0; d < out.length; d++) out[d] += weights[j] * v[j][d];
    return out;
  });
}

/** The same loops over one flat Float32Array each; `at` is where the head begins. */
function attendTyped({ q, k, v }, out, row, at, T, D) {
  const scale = 1 / Math.sqrt(D);
  for (let i = 0; i < T; i++) {
    const own = at + i * D;
    for (let j = 0; j <= i; j++) {
      let s = 0;
      for (let d = 0; d < D; d++) s += q[own + d] * k[at + j * D + d];
      row[j] = s * scale;
    }
    softmax(row, i + 1);
    out.fill(0, own, own + D);
    for (let j = 0; j <= i; j++) {
      for (let d = 0; d < D; d++) out[own + d] += row[j] * v[at + j * D + d];
    }
  }
}

const BLOCK = 32; // rows of keys, or of values, that stay in the first cache: 8 kB for a head of 64

/** In blocks: 32 queries meet the same 32 keys before the next keys come, four keys at a time. */
function attendBlocks({ q, k, v }, out, rows, at, T, D) {
  const scale = 1 / Math.sqrt(D);
  for (let first = 0; first < T; first += BLOCK) {
    const last = Math.min(first + BLOCK, T);
    out.fill(0, at + first * D, at + last * D);
    for (let start = 0; start < last; start += BLOCK) {
      for (let i = Math.max(first, start); i < last; i++) {
        const own = at + i * D;
        const row = (i - first) * T;
        const end = Math.min(start + BLOCK, i + 1);
        let j = start;
        for (; j + 4 <= end; j += 4) {
          const key = at + j * D;
          let [s0, s1, s2, s3] = [0, 0, 0, 0];
          for (let d = 0; d < D; d++) {
            const x = q[own + d];
            s0 += x * k[key + d];
            s1 += x * k[key + D + d];
            s2 += x * k[key + 2 * D + d];
            s3 += x * k[key + 3 * D + d];
          }
          rows[row + j] = s0 * scale;
          rows[row + j + 1] = s1 * scale;
          rows[row + j + 2] = s2 * scale;
          rows[row + j + 3] = s3 * scale;
        }
        for (; j < end; j++) {
          let s = 0;
          for (let d = 0; d < D; d++) s += q[own + d] * k[at + j * D + d];
          rows[row + j] = s * scale;
        }
      }
    }
    for (let i = first; i < last; i++) softmax(rows.subarray((i - first) * T), i + 1);
    for (let start = 0; start < last; start += BLOCK) {
      for (let i = Math.max(first, start); i < last; i++) {
        const own = at + i * D;
        const row = (i - first) * T;
        const end = Math.min(start + BLOCK, i + 1);
        let j = start;
        for (; j + 4 <= end; j += 4) {
          const value = at + j * D;
          const [w0, w1, w2, w3] = [rows[row + j], rows[row + j + 1], rows[row + j + 2], rows[row + j + 3]];
          for (let d = 0; d < D; d++) {
            out[own + d] += w0 * v[value + d] + w1 * v[value + D + d] + w2 * v[value + 2 * D + d] + w3 * v[value + 3 * D + d];
          }
        }
        for (; j < end; j++) {
          for (let d = 0; d < D; d++) out[own + d] += rows[row + j] * v[at + j * D + d];
        }
      }
    }
  }
}

/** Each way: what holds its inputs, a function of a head, and the numbers of the output. */
export const LOOPS = {
  "loops over arrays": {
    dtype: "float64",
    ready: (inputs, { pairs, T, D }) => {
      const [q, k, v] = ["q", "k", "v"].map((name) => nested(inputs[name], pairs, T, D));
      const out = [];
      return { head: (pair) => { out[pair] = attendArrays(q[pair], k[pair], v[pair]); }, result: () => out.flat(2) };
    },
  },
  "typed arrays": {
    dtype: "float32",
    ready: (inputs, { pairs, T, D }) => {
      const [out, row] = [new Float32Array(pairs * T * D), new Float32Array(T)];
      return { head: (pair) => attendTyped(inputs, out, row, pair * T * D, T, D), result: () => out };
    },
  },
  "typed arrays in blocks": {
    dtype: "float32",
    ready: (inputs, { pairs, T, D }) => {
      const [out, rows] = [new Float32Array(pairs * T * D), new Float32Array(BLOCK * T)];
      return { head: (pair) => attendBlocks(inputs, out, rows, pair * T * D, T, D), result: () => out };
    },
  },
};
export const LOOP_NAMES = Object.keys(LOOPS);

// --- the right answer -----------------------------------------------------------------------------

/** Row i of causal attention of one head, in float64. */
export function exactAttention({ q, k, v }, { T, D }, index) {
  const [at, i] = [Math.floor(index / T) * T * D, index % T];
  const weights = new Float64Array(i + 1);
  for (let j = 0; j <= i; j++) {
    for (let d = 0; d < D; d++) weights[j] += q[at + i * D + d] * k[at + j * D + d];
    weights[j] /= Math.sqrt(D);
  }
  softmax(weights, i + 1);
  const out = new Float64Array(D);
  for (let j = 0; j <= i; j++) for (let d = 0; d < D; d++) out[d] += weights[j] * v[at + j * D + d];
  return out;
}

/** Row i of a square product, in float64. */
export function exactProduct({ a, b }, { n }, i) {
  const out = new Float64Array(n);
  for (let k = 0; k < n; k++) for (let j = 0; j < n; j++) out[j] += a[i * n + k] * b[k * n + j];
  return out;
}

/** Which of `count` rows to compute again: all, where that is quickly done; otherwise the first,
 * the last, and at random so many that it is about 2 · 10⁸ operations, `each` of them a row's. */
export function rowsToCheck(count, each) {
  const some = Math.max(16, Math.floor(2e8 / each));
  if (some >= count) return Array.from({ length: count }, (_, i) => i);
  const uniform = uniforms(count);
  const found = new Set([0, count - 1]);
  while (found.size < some) found.add(Math.floor(uniform() * count));
  return [...found].sort((x, y) => x - y);
}

const norm = (row) => Math.hypot(...row);

/** The largest ‖result − exact‖ / max(‖exact‖, m) of the rows, m the median ‖exact‖;
 * hydra_lib.timing.exact.row_error. NaN if there is one. */
export function rowError(results, exacts) {
  const sizes = exacts.map(norm);
  const some = sizes.filter((size) => size > 0).sort((x, y) => x - y);
  const least = some.length ? some[Math.floor((some.length - 1) / 2)] : 1;
  return results.reduce((worst, row, i) => {
    const error = norm(Array.from(row, (x, d) => x - exacts[i][d])) / Math.max(sizes[i], least);
    return Number.isNaN(error) || error > worst ? error : worst;
  }, 0);
}

/** Largest error that rounding explains; hydra_lib.timing.verified.tolerance. */
export function tolerance(dtype) {
  return { float16: 8 * 2 ** -10, float32: 128 * 2 ** -23, float64: 128 * 2 ** -52 }[dtype];
}
