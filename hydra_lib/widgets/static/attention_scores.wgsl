// scores = q kᵀ · log₂ e / √D, every one of them to memory, but for those that the mask forbids.
// A workgroup makes 16 × 16 of one head.
@group(0) @binding(0) var<storage, read> q: array<real>;             // (pairs, Tq, D)
@group(0) @binding(1) var<storage, read> k: array<real>;             // (pairs, Tk, D)
@group(0) @binding(2) var<storage, read> lengths: array<u32>;        // (B,)
@group(0) @binding(3) var<storage, read_write> scores: array<real>;  // (pairs, Tq, Tk)
@group(0) @binding(4) var<uniform> size: Size;
struct Size { Tq: u32, Tk: u32, heads: u32, causal: u32 }
const SCALE = 1.4426950408889634 / sqrt(f32(D));  // 2^x is the exponential that a GPU has

var<workgroup> queries: array<array<f32, 16>, 16>;
var<workgroup> keys: array<array<f32, 16>, 16>;  // transposed: neighbours read neighbours

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) at: vec3u) {
  let Tq = size.Tq;
  let Tk = size.Tk;
  let causal = size.causal != 0;
  let pair = group.z;
  let first_row = group.y * 16;
  let first_column = group.x * 16;
  let row = first_row + at.y;
  let column = first_column + at.x;
  let length = lengths[pair / size.heads];
  if (first_column >= length || (causal && first_column > first_row)) { return; }
  var sum = 0.0;
  for (var start = 0u; start < D; start += 16) {
    let d = start + at.x;
    queries[at.y][at.x] = 0.0;
    if (row < Tq && d < D) { queries[at.y][at.x] = f32(q[(pair * Tq + row) * D + d]); }
    keys[at.x][at.y] = 0.0;
    if (first_column + at.y < length && d < D) {
      keys[at.x][at.y] = f32(k[(pair * Tk + first_column + at.y) * D + d]);
    }
    workgroupBarrier();
    for (var i = 0u; i < 16; i++) { sum += queries[at.y][i] * keys[i][at.x]; }
    workgroupBarrier();
  }
  if (row < Tq && column < length && (!causal || column <= row)) {
    scores[(pair * Tq + row) * Tk + column] = real(sum * SCALE);
  }
}
