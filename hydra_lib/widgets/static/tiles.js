// Attention tile by tile with a running maximum, as the fused kernel does it. No DOM.

/** The tiles in the order they are computed: for each tile of queries those keys that it may see.
 * @returns {{rows: number[], columns: number[]}[]} */
export function tilesOf(n, block) {
  const starts = Array.from({ length: Math.ceil(n / block) }, (_, i) => i * block);
  const span = (start) => Array.from({ length: Math.min(block, n - start) }, (_, i) => start + i);
  return starts.flatMap((row) => starts.filter((column) => column < row + block)
    .map((column) => ({ rows: span(row), columns: span(column) })));
}

/** Every row's maximum m, sum l and unnormalized output o after the first `count` tiles, and by what
 * the last of them has scaled what was there before. */
export function sweep(scores, values, tiles, count) {
  const rows = scores.map(() => ({ m: -Infinity, l: 0, o: values[0].map(() => 0), scale: 1 }));
  for (const { rows: own, columns } of tiles.slice(0, count)) {
    for (const i of own) {
      const row = rows[i];
      const seen = columns.filter((j) => j <= i);
      const m = Math.max(row.m, ...seen.map((j) => scores[i][j]));
      if (m === -Infinity) continue;
      row.scale = row.m === -Infinity ? 1 : Math.exp(row.m - m);
      row.l *= row.scale;
      row.o = row.o.map((x) => x * row.scale);
      for (const j of seen) {
        const weight = Math.exp(scores[i][j] - m);
        row.l += weight;
        row.o = row.o.map((x, c) => x + weight * values[j][c]);
      }
      row.m = m;
    }
  }
  return rows;
}
