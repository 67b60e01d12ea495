// c = a b. Each invocation makes one number of c, and reads all it needs for it from memory.
@group(0) @binding(0) var<storage, read> a: array<real>;        // (M, K)
@group(0) @binding(1) var<storage, read> b: array<real>;        // (K, N)
@group(0) @binding(2) var<storage, read_write> c: array<real>;  // (M, N)
@group(0) @binding(3) var<uniform> size: Size;
struct Size { M: u32, N: u32, K: u32 }

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) at: vec3u) {
  let row = at.y;
  let column = at.x;
  if (row >= size.M || column >= size.N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < size.K; k++) {
    sum += f32(a[row * size.K + k]) * f32(b[k * size.N + column]);
  }
  c[row * size.N + column] = real(sum);
}
