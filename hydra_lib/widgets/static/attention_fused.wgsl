// out = softmax(q kᵀ / √D) v. A workgroup takes 16 queries of one head and walks
// over its keys, 16 at a time. No score goes to memory.
@group(0) @binding(0) var<storage, read> q: array<real>;          // (pairs, Tq, D)
@group(0) @binding(1) var<storage, read> k: array<real>;          // (pairs, Tk, D)
@group(0) @binding(2) var<storage, read> v: array<real>;          // (pairs, Tk, D)
@group(0) @binding(3) var<storage, read> lengths: array<u32>;     // (B,)
@group(0) @binding(4) var<storage, read_write> out: array<real>;  // (pairs, Tq, D)
@group(0) @binding(5) var<uniform> size: Size;
struct Size { Tq: u32, Tk: u32, heads: u32, causal: u32 }
const SCALE = 1.4426950408889634 / sqrt(f32(D));  // a GPU's exponential is 2^x
const LOWEST = -1e30;                             // WGSL promises no infinities
const OWN = (D + 15) / 16;  // output columns of an invocation: x, x + 16, …

// Keys are transposed: neighbours read neighbours.
var<workgroup> keys: array<array<real, 16>, D>;
var<workgroup> values: array<array<real, D>, 16>;
var<workgroup> scores: array<array<f32, 16>, 16>;
var<workgroup> weights: array<array<f32, 16>, 16>;

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_id) at: vec3u,
    @builtin(local_invocation_index) index: u32) {
  let Tq = size.Tq;
  let Tk = size.Tk;
  let causal = size.causal != 0;
  let pair = group.y;
  let first_row = group.x * 16;
  let row = first_row + at.y;
  let length = lengths[pair / size.heads];
  let end = select(length, min(length, first_row + 16), causal);
  var top = LOWEST;
  var total = 0.0;
  var acc: array<f32, OWN>;
  for (var start = 0u; start < end; start += 16) {
    for (var i = index; i < 16 * D; i += 256) {
      let j = i / D;
      let d = i % D;
      let there = start + j < length;
      let place = (pair * Tk + start) * D + i;
      keys[d][j] = select(0, k[place], there);
      values[j][d] = select(0, v[place], there);
    }
    workgroupBarrier();  // the tiles are complete
    let column = start + at.x;
    var s = LOWEST;
    if (row < Tq && column < length && (!causal || column <= row)) {
      s = 0.0;
      let query = (pair * Tq + row) * D;
      for (var d = 0u; d < D; d++) { s += f32(q[query + d]) * f32(keys[d][at.x]); }
      s *= SCALE;
    }
    scores[at.y][at.x] = s;
    workgroupBarrier();  // so are the scores
    var higher = top;
    for (var j = 0u; j < 16; j++) { higher = max(higher, scores[at.y][j]); }
    weights[at.y][at.x] = exp2(s - higher);
    workgroupBarrier();  // so are the weights
    let fade = exp2(top - higher);  // the sums so far are relative to `top`
    total *= fade;
    for (var c = 0u; c < OWN; c++) { acc[c] *= fade; }
    for (var j = 0u; j < 16; j++) {
      let p = weights[at.y][j];
      total += p;
      for (var c = 0u; c < OWN; c++) {
        acc[c] += p * f32(values[j][at.x + 16 * c]);
      }
    }
    top = higher;
    workgroupBarrier();  // nobody reads this tile any more
  }
  if (row >= Tq) { return; }
  for (var c = 0u; c < OWN && at.x + 16 * c < D; c++) {
    // The largest weight is 1, so a sum below 1 is that of no key at all: zeros.
    out[(pair * Tq + row) * D + at.x + 16 * c] = real(acc[c] / max(total, 1.0));
  }
}
