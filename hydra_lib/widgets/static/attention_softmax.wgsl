// weights = 2^scores / their sum, in place. A workgroup takes one row.
@group(0) @binding(0) var<storage, read> lengths: array<u32>;        // (B,)
@group(0) @binding(1) var<storage, read_write> scores: array<real>;  // (pairs, Tq, Tk)
@group(0) @binding(2) var<uniform> size: Size;
struct Size { Tq: u32, Tk: u32, heads: u32, causal: u32 }
const LOWEST = -1e30;

var<workgroup> found: array<vec2f, 256>;  // largest score, and the sum measured from it

fn merged(x: vec2f, y: vec2f) -> vec2f {
  let top = max(x.x, y.x);
  return vec2f(top, x.y * exp2(x.x - top) + y.y * exp2(y.x - top));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) index: u32) {
  let Tq = size.Tq;
  let Tk = size.Tk;
  let causal = size.causal != 0;
  let row = group.x;
  let pair = group.y;
  let length = lengths[pair / size.heads];
  let end = select(length, min(length, row + 1), causal);
  let first = (pair * Tq + row) * Tk;
  var own = vec2f(LOWEST, 0.0);
  for (var j = index; j < end; j += 256) { own = merged(own, vec2f(f32(scores[first + j]), 1.0)); }
  found[index] = own;
  for (var half = 128u; half > 0; half /= 2) {
    workgroupBarrier();
    if (index < half) { found[index] = merged(found[index], found[index + half]); }
  }
  workgroupBarrier();
  let all = found[0];
  for (var j = index; j < end; j += 256) {
    scores[first + j] = real(exp2(f32(scores[first + j]) - all.x) / all.y);
  }
}
