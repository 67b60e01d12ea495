// c = a b. A workgroup makes a tile of 128 × 64 numbers of c, each invocation a block of 8 × 4 in
// its registers: what it reads from workgroup memory it uses four or eight times.
@group(0) @binding(0) var<storage, read> a: array<real>;        // (M, K)
@group(0) @binding(1) var<storage, read> b: array<real>;        // (K, N)
@group(0) @binding(2) var<storage, read_write> c: array<real>;  // (M, N)
@group(0) @binding(3) var<uniform> size: Size;
struct Size { M: u32, N: u32, K: u32 }

var<workgroup> rows: array<vec4f, 16 * 32>;     // a tile of a, transposed: [k][four rows]
var<workgroup> columns: array<vec4f, 16 * 16>;  // a tile of b: [k][four columns]

fn of_a(row: u32, k: u32) -> f32 {
  if (row < size.M && k < size.K) { return f32(a[row * size.K + k]); }
  return 0.0;
}

fn of_b(k: u32, column: u32) -> f32 {
  if (k < size.K && column < size.N) { return f32(b[k * size.N + column]); }
  return 0.0;
}

fn store(row: u32, column: u32, sum: vec4f) {
  if (row >= size.M) { return; }
  for (var i = 0u; i < 4 && column + i < size.N; i++) {
    c[row * size.N + column + i] = real(sum[i]);
  }
}

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) at: vec3u,
    @builtin(local_invocation_index) index: u32) {
  let first_row = group.y * 128;
  let first_column = group.x * 64;
  var s: array<vec4f, 8>;
  for (var start = 0u; start < size.K; start += 16) {
    for (var i = index; i < 16 * 32; i += 256) {
      let k = start + i % 16;
      let row = first_row + i / 16 * 4;
      rows[i % 16 * 32 + i / 16] =
        vec4f(of_a(row, k), of_a(row + 1, k), of_a(row + 2, k), of_a(row + 3, k));
    }
    let k = start + index / 16;
    let column = first_column + index % 16 * 4;
    columns[index] =
      vec4f(of_b(k, column), of_b(k, column + 1), of_b(k, column + 2), of_b(k, column + 3));
    workgroupBarrier();  // the tiles are complete
    for (var i = 0u; i < 16; i++) {
      let x = columns[i * 16 + at.x];
      let upper = rows[i * 32 + at.y * 2];
      let lower = rows[i * 32 + at.y * 2 + 1];
      s[0] += upper.x * x;  // written out: registers have no index
      s[1] += upper.y * x;
      s[2] += upper.z * x;
      s[3] += upper.w * x;
      s[4] += lower.x * x;
      s[5] += lower.y * x;
      s[6] += lower.z * x;
      s[7] += lower.w * x;
    }
    workgroupBarrier();  // nobody reads them any more
  }
  let row = first_row + at.y * 8;
  let column = first_column + at.x * 4;
  store(row, column, s[0]);
  store(row + 1, column, s[1]);
  store(row + 2, column, s[2]);
  store(row + 3, column, s[3]);
  store(row + 4, column, s[4]);
  store(row + 5, column, s[5]);
  store(row + 6, column, s[6]);
  store(row + 7, column, s[7]);
}
