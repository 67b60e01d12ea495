// The four fixed rules of hydra_lib/aggregation.py, in plain numbers. No DOM.

/** Row i of the T × T weights.
 * @param {{rule: string, width: number, rate: number}} setting */
function weightRow({ rule, width, rate }, i, T) {
  const row = Array.from({ length: T }, (_, j) => {
    if (j > i) return 0;
    if (rule === "window") return j > i - width ? 1 : 0;
    return rule === "decay" ? rate ** (i - j) : 1;
  });
  if (rule === "sum") return row;
  const total = row.reduce((a, b) => a + b, 0);
  return row.map((w) => w / total);
}

export function weightMatrix(setting, T) {
  return Array.from({ length: T }, (_, i) => weightRow(setting, i, T));
}

/** weights @ values for nested arrays. */
export function product(weights, values) {
  return weights.map((row) =>
    values[0].map((_, c) => row.reduce((total, w, j) => total + w * values[j][c], 0)),
  );
}
