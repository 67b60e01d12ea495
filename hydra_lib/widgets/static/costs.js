// What a layer costs each rank, as in hydra_lib/parallel/costs.py, in plain numbers. No DOM.
import { refusal } from "./heads.js";

const ELEMENT = 2; // bytes of a 16-bit number

/** Numbers of ranks, from 1 to 1,024, that divide the heads. */
export function divisors(heads) {
  return Array.from({ length: Math.min(heads, 1024) }, (_, i) => i + 1).filter((n) => heads % n === 0);
}

/** What the library says against heads and ranks; empty when it takes them. */
export function refused(dModel, heads, ranks) {
  const says = refusal(dModel, heads);
  if (says || heads % ranks === 0) return says;
  return `ranks must divide n_heads: got n_heads=${heads} on ${ranks} ranks; these do: ${divisors(heads).join(", ")}`;
}

/** One forward pass of self-attention, for each rank: FLOPs, and bytes that it sends. */
export function headsOverRanks(dModel, tokens, ranks) {
  const flops = (8 * tokens * dModel ** 2 + 4 * tokens ** 2 * dModel) / ranks;
  return { flops, bytes: (2 * ELEMENT * tokens * dModel * (ranks - 1)) / ranks };
}

/** Predicted seconds at so many FLOPs and bytes a second; `share` of them goes into sending. */
export function seconds({ flops, bytes }, rate, bandwidth) {
  const [compute, communicate] = [flops / rate, bytes / bandwidth];
  return { compute, communicate, share: communicate / (compute + communicate) };
}

/** How many times faster than one rank, for each number of ranks that divides the heads. */
export function speedups({ dModel, heads, tokens, rate, bandwidth }) {
  const time = (ranks) => {
    const { compute, communicate } = seconds(headsOverRanks(dModel, tokens, ranks), rate, bandwidth);
    return compute + communicate;
  };
  return divisors(heads).map((ranks) => ({ ranks, times: time(1) / time(ranks) }));
}

/** Three digits and a prefix of the SI: 0.00125, "s" is 1.25 ms. */
export function prefixed(x, unit) {
  if (x === 0) return `0 ${unit}`;
  const thousands = Math.floor(Math.log10(Number(x.toPrecision(3))) / 3 + 1e-9);
  const at = Math.max(-4, Math.min(6, thousands));
  return `${Number((x / 1000 ** at).toPrecision(3))} ${["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"][at + 4]}${unit}`;
}
