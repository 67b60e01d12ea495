// c = a b. A workgroup makes a tile of 16 × 16 numbers of c: what one invocation brings into
// workgroup memory, sixteen of them use.
@group(0) @binding(0) var<storage, read> a: array<real>;        // (M, K)
@group(0) @binding(1) var<storage, read> b: array<real>;        // (K, N)
@group(0) @binding(2) var<storage, read_write> c: array<real>;  // (M, N)
@group(0) @binding(3) var<uniform> size: Size;
struct Size { M: u32, N: u32, K: u32 }

var<workgroup> rows: array<array<f32, 16>, 16>;     // a tile of a
var<workgroup> columns: array<array<f32, 16>, 16>;  // a tile of b

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) place: vec3u, @builtin(local_invocation_id) at: vec3u) {
  let row = place.y;
  let column = place.x;
  var sum = 0.0;
  for (var start = 0u; start < size.K; start += 16) {
    // Past an edge there are zeros, which add nothing.
    rows[at.y][at.x] = 0.0;
    if (row < size.M && start + at.x < size.K) {
      rows[at.y][at.x] = f32(a[row * size.K + start + at.x]);
    }
    columns[at.y][at.x] = 0.0;
    if (start + at.y < size.K && column < size.N) {
      columns[at.y][at.x] = f32(b[(start + at.y) * size.N + column]);
    }
    workgroupBarrier();  // the tiles are complete
    for (var k = 0u; k < 16; k++) { sum += rows[at.y][k] * columns[k][at.x]; }
    workgroupBarrier();  // nobody reads them any more
  }
  if (row < size.M && column < size.N) { c[row * size.N + column] = real(sum); }
}
