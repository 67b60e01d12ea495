// What was seen of a training: hydra_lib/toy/checkpoints.py, as its widget packs it. No DOM.

const [FIRST, PARTS] = ["0".charCodeAt(0), 50]; // a weight is a letter, from the first on, in fiftieths

/** `at(index)` is what was seen at a checkpoint: weights[layer][head], a row a query; scores[role][layer][head]; and
 * right[job]. */
export function readCheckpoints({ text, layers, heads, weights, scores, right }) {
  const T = text.length;
  const pairs = (T * (T + 1)) / 2;
  const count = weights.length / (layers * heads * pairs);
  const each = (named, pick) => Object.fromEntries(Object.entries(named).map(([name, x]) => [name, pick(x)]));
  const at = (index) => {
    const matrix = (head) => {
      const all = new Float32Array(T * T);
      let pair = head * pairs;
      for (let i = 0; i < T; i++) {
        for (let j = 0; j <= i; j++) all[i * T + j] = (weights.charCodeAt(count * pair++ + index) - FIRST) / PARTS;
      }
      return all;
    };
    return {
      weights: Array.from({ length: layers }, (_, l) => Array.from({ length: heads }, (__, h) => matrix(l * heads + h))),
      scores: each(scores, (rows) => rows.map((row) => row.map((hundredths) => hundredths[index] / 100))),
      right: each(right, (hundredths) => hundredths[index] / 100),
    };
  };
  return { count, at };
}
