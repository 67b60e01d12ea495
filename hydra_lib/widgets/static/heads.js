// The splitting of widths in hydra_lib/heads.py, in plain numbers. No DOM.

/** What HeadConfig says against a width and a number of heads; empty when it takes them. */
export function refusal(dModel, nHeads) {
  for (const [name, value] of [["d_model", dModel], ["n_heads", nHeads]]) {
    if (!(Number.isInteger(value) && value >= 1)) {
      return `${name} must be a positive integer, got ${value}`;
    }
  }
  if (dModel % nHeads === 0) return "";
  const start = Math.min(nHeads, dModel);
  let fewer = start;
  while (fewer > Math.max(start - NEAR, 0) && dModel % fewer) fewer -= 1;
  if (fewer === Math.max(start - NEAR, 0)) fewer = 0;
  let more = nHeads + 1;
  while (more <= Math.min(dModel, nHeads + NEAR) && dModel % more) more += 1;
  if (more > Math.min(dModel, nHeads + NEAR)) more = 0;
  const narrower = dModel - (dModel % nHeads);
  return `n_heads must divide d_model: got d_model=${dModel}, n_heads=${nHeads}; nearest that fit: `
    + `${fewer || more ? `n_heads ${either(fewer, more)}, or ` : ""}d_model ${either(narrower, narrower + nHeads)}`;
}

const NEAR = 10_000; // as in heads.py

const either = (...numbers) => numbers.filter(Boolean).join(" or ");

/** Weights in W_q, W_k, W_v and W_o, whatever the heads. */
export function parameters(dModel) {
  return 4 * dModel ** 2;
}

/** Shapes on the way through a layer, named as in MultiHeadTrace, for batch B and T positions. */
export function shapes(dModel, nHeads, B, T) {
  const headDim = dModel / nHeads;
  return {
    q: [B, T, dModel],
    q_heads: [B, nHeads, T, headDim],
    weights: [B, nHeads, T, T],
    heads: [B, nHeads, T, headDim],
    merged: [B, T, dModel],
    output: [B, T, dModel],
  };
}
