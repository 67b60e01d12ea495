// Scores of random queries and keys, as in hydra_lib/scaling.py, in plain numbers. No DOM.
import { boltzmann } from "./boltzmann.js";
import { uniforms } from "./random.js";

/** Exact mean and variance of q·k, the d entries of q with mean muQ, those of k with mean muK, all
 * with standard deviation sigma; and `within`, the variance among the keys of one query, on average. */
export function moments(d, muQ, muK, sigma) {
  const within = d * sigma ** 2 * (sigma ** 2 + muQ ** 2);
  return { mean: d * muQ * muK, variance: within + d * sigma ** 2 * muK ** 2, within };
}

/** Mean and unbiased variance of a sample. */
export function measure(scores) {
  const add = (total, x) => total + x;
  const mean = scores.reduce(add, 0) / scores.length;
  const variance = scores.map((s) => (s - mean) ** 2).reduce(add, 0) / (scores.length - 1);
  return { mean, variance };
}

/** A softmax row, its entropy in nats, and the Frobenius norm of its Jacobian p_i (δ_ij − p_j). */
export function saturation(scores) {
  const { p, S } = boltzmann(scores, 1);
  const squares = p.map((a, i) => {
    const pairs = p.map((b, j) => (i === j ? 0 : a * b));
    const diagonal = pairs.reduce((total, x) => total + x, 0); // a (1 − a) would cancel near 1
    return pairs.reduce((total, x) => total + x * x, diagonal * diagonal);
  });
  return { p, entropy: S, frobenius: Math.sqrt(squares.reduce((total, x) => total + x, 0)) };
}

/** A function that draws standard normal numbers, two at a time (Box and Muller 1958). */
export function normals(seed, stream) {
  const uniform = uniforms(seed, stream);
  let spare;
  return () => {
    if (spare !== undefined) {
      const kept = spare;
      spare = undefined;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

/** n standard normal numbers, the largest first; with more of them the others stay what they were. */
export function unrelated(n, seed) {
  const draw = normals(seed, 0);
  return Array.from({ length: n }, draw).sort((a, b) => b - a);
}

/** Rows × keys scores for any d (a power of two), means and sigma; each row has its own query.
 *
 * With a and b standard normal, q = muQ + sigma a and k = muK + sigma b, so
 * q·k = d muQ muK + sigma (muK Σ a + muQ Σ b) + sigma² Σ a b. Three sums a score are kept for each
 * power of two: another mean or sigma draws nothing, and a larger d only what is new. `ahead` draws
 * up to a width while there is time to spare, and says whether it got there. */
export function sampler(rows, keys, seed) {
  const zeros = new Float64Array(rows * keys);
  const kept = [];
  const drawing = (function* () {
    for (let power = 0; ; power++) {
      const last = kept.at(-1) ?? [zeros, zeros, zeros];
      const [queries, others, mixed] = last.map((sums) => sums.slice());
      const fresh = power === 0 ? 1 : 2 ** (power - 1);
      const draw = normals(seed, 16 * keys + power);
      for (let row = 0; row < rows; row++) {
        const query = Float64Array.from({ length: fresh }, draw);
        for (let n = row * keys; n < (row + 1) * keys; n++) {
          for (const a of query) {
            const b = draw();
            queries[n] += a;
            others[n] += b;
            mixed[n] += a * b;
          }
        }
        yield;
      }
      kept.push([queries, others, mixed]);
    }
  })();
  const ahead = (d, spare) => {
    while (kept.length <= Math.log2(d) && spare()) drawing.next();
    return kept.length > Math.log2(d);
  };
  const scores = (d, muQ, muK, sigma) => {
    ahead(d, () => true);
    const [queries, others, mixed] = kept[Math.log2(d)];
    return Array.from(mixed, (x, n) =>
      d * muQ * muK + sigma * (muK * queries[n] + muQ * others[n]) + sigma ** 2 * x);
  };
  return { scores, ahead };
}

/** How many numbers fall into each of `bins` equal parts of [low, high). */
export function histogram(xs, low, high, bins) {
  const counts = Array.from({ length: bins }, () => 0);
  for (const x of xs) {
    const bin = Math.floor(((x - low) / (high - low)) * bins);
    if (bin >= 0 && bin < bins) counts[bin] += 1;
  }
  return counts;
}

/** Density of the normal distribution. */
export function normalDensity(x, { mean, variance }) {
  return Math.exp(-((x - mean) ** 2) / (2 * variance)) / Math.sqrt(2 * Math.PI * variance);
}
