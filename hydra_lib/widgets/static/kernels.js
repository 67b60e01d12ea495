// The WGSL kernels: which buffers each needs, how many workgroups, what is counted. No DOM, but a GPU.
import attentionFused from "./attention_fused.wgsl";
import attentionMix from "./attention_mix.wgsl";
import attentionScores from "./attention_scores.wgsl";
import attentionSoftmax from "./attention_softmax.wgsl";
import copyKernel from "./copy.wgsl";
import matmulBlocked from "./matmul_blocked.wgsl";
import matmulNaive from "./matmul_naive.wgsl";
import matmulTiled from "./matmul_tiled.wgsl";

const groupsOf = (size, block) => Math.ceil(size / block);
export const bytesOf = (dtype) => (dtype === "float16" ? 2 : 4);

/** What stands before a kernel's text: the numbers it reads and writes, and head_dim, by which
 * arrays are as long as they are. */
export function prelude(dtype, D) {
  const half = dtype === "float16";
  return `${half ? "enable f16; " : ""}alias real = ${half ? "f16" : "f32"};${D ? ` const D = ${D}u;` : ""}\n`;
}

// A plan is what a device needs to know: the number of elements of every buffer, which of them come
// in and which goes out, the sizes, and the launches, one after the other.

const MATMULS = {
  naive: { text: matmulNaive, tile: [16, 16], shared: 0 },
  "tiled 16 × 16": { text: matmulTiled, tile: [16, 16], shared: 2 * 16 * 16 * 4 },
  "blocked in registers": { text: matmulBlocked, tile: [128, 64], shared: 16 * (128 + 64) * 4 },
};
export const MATMUL_NAMES = Object.keys(MATMULS);

/** The plan of c = a b by one of the kernels; `M`, `N`, `K` as in hydra_lib/kernels/matmul.py. */
export function matmulPlan(name, { M, N, K }, dtype = "float32") {
  const { text, tile, shared } = MATMULS[name];
  return {
    dtype, shared, inputs: ["a", "b"], output: "c",
    buffers: { a: M * K, b: K * N, c: M * N },
    sizes: [M, N, K],
    steps: [{
      prelude: prelude(dtype), text, buffers: ["a", "b", "c"],
      groups: [groupsOf(N, tile[1]), groupsOf(M, tile[0]), 1],
    }],
  };
}

export const ATTENTION_NAMES = ["stored, three kernels", "fused, one kernel"];

/** The plan of attention for all heads: q (B·h, Tq, D), k and v (B·h, Tk, D), lengths (B,). */
export function attentionPlan(name, { B, h, Tq, Tk, D, causal }, dtype = "float32", fused = attentionFused) {
  const pairs = B * h;
  const step = (text, buffers, groups, width = D) => ({ prelude: prelude(dtype, width), text, buffers, groups });
  const ends = { q: pairs * Tq * D, k: pairs * Tk * D, v: pairs * Tk * D, lengths: B };
  const own = { dtype, inputs: ["q", "k", "v", "lengths"], output: "out", sizes: [Tq, Tk, h, Number(causal)] };
  const rows = groupsOf(Tq, 16);
  if (name === ATTENTION_NAMES[1]) {
    return {
      ...own, shared: 2 * 16 * D * bytesOf(dtype) + 2 * 16 * 16 * 4,
      buffers: { ...ends, out: pairs * Tq * D },
      steps: [step(fused, ["q", "k", "v", "lengths", "out"], [rows, pairs, 1])],
    };
  }
  return {
    ...own, shared: 2 * 16 * 16 * 4,
    buffers: { ...ends, scores: pairs * Tq * Tk, out: pairs * Tq * D },
    steps: [
      step(attentionScores, ["q", "k", "lengths", "scores"], [groupsOf(Tk, 16), rows, pairs]),
      step(attentionSoftmax, ["lengths", "scores"], [Tq, pairs, 1], null),
      step(attentionMix, ["scores", "v", "lengths", "out"], [groupsOf(D, 16), rows, pairs]),
    ],
  };
}

/** The plan of a copy of n float32 numbers, n a multiple of 4; at most 2¹⁵ workgroups in a line. */
export function copyPlan(n) {
  const groups = groupsOf(n / 4, 256);
  const across = Math.min(groups, 2 ** 15);
  return {
    dtype: "float32", shared: 0, inputs: ["x"], output: "y", buffers: { x: n, y: n }, sizes: [],
    steps: [{ prelude: "", text: copyKernel, buffers: ["x", "y"], groups: [across, groupsOf(groups, across), 1] }],
  };
}

// --- what is counted ------------------------------------------------------------------------------

/** FLOPs of causal attention; AttentionSize.flops of hydra_lib/timing/sizes.py. */
export function attentionFlops({ B, h, T, D }) {
  return 2 * B * h * T * (T + 1) * D;
}

/** Bytes that causal attention moves: q, k, v and the output once, and `passes` times the scores
 * that the mask allows. */
export function attentionBytes({ B, h, T, D }, dtype, passes) {
  return B * h * bytesOf(dtype) * (4 * T * D + (passes * T * (T + 1)) / 2);
}

/** How often the scores go to memory or come from it: written, read for the sum, read and written
 * by the division, read by the mix; the fused kernel keeps none. */
export const PASSES = { [ATTENTION_NAMES[0]]: 5, [ATTENTION_NAMES[1]]: 0 };

/** Bytes held beside the inputs. */
export function heldBytes({ buffers, inputs, dtype }) {
  const own = Object.keys(buffers).filter((key) => !inputs.includes(key));
  return own.reduce((sum, key) => sum + buffers[key] * bytesOf(dtype), 0);
}
