// out = weights v, the weights from memory. A workgroup makes 16 × 16 numbers of one head.
@group(0) @binding(0) var<storage, read> weights: array<real>;    // (pairs, Tq, Tk)
@group(0) @binding(1) var<storage, read> v: array<real>;          // (pairs, Tk, D)
@group(0) @binding(2) var<storage, read> lengths: array<u32>;     // (B,)
@group(0) @binding(3) var<storage, read_write> out: array<real>;  // (pairs, Tq, D)
@group(0) @binding(4) var<uniform> size: Size;
struct Size { Tq: u32, Tk: u32, heads: u32, causal: u32 }

var<workgroup> rows: array<array<f32, 16>, 16>;
var<workgroup> values: array<array<f32, 16>, 16>;

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) at: vec3u) {
  let Tq = size.Tq;
  let Tk = size.Tk;
  let causal = size.causal != 0;
  let pair = group.z;
  let first_row = group.y * 16;
  let row = first_row + at.y;
  let column = group.x * 16 + at.x;
  let length = lengths[pair / size.heads];
  let end = select(length, min(length, first_row + 16), causal);
  var sum = 0.0;
  for (var start = 0u; start < end; start += 16) {
    let j = start + at.x;
    rows[at.y][at.x] = 0.0;
    if (row < Tq && j < length && (!causal || j <= row)) {
      rows[at.y][at.x] = f32(weights[(pair * Tq + row) * Tk + j]);
    }
    values[at.y][at.x] = 0.0;
    if (start + at.y < length && column < D) {
      values[at.y][at.x] = f32(v[(pair * Tk + start + at.y) * D + column]);
    }
    workgroupBarrier();
    for (var i = 0u; i < 16; i++) { sum += rows[at.y][i] * values[i][at.x]; }
    workgroupBarrier();
  }
  if (row < Tq && column < D) { out[(pair * Tq + row) * D + column] = real(sum); }
}
