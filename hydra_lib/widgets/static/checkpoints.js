// What was seen of a training: hydra_lib/toy/checkpoints.py, as its widget packs it. No DOM.


const [FIRST, PARTS] = ["0".charCodeAt(0), 50]; // a letter a share, from the first on, in fiftieths

/** `at(index)` is what was seen at a checkpoint: weights[layer][head], a row a query; scores[role][layer][head]; and
 * right[job]. */
export function readCheckpoints({ text, layers, heads, roles, jobs, weights, scores, right }) {
  const T = text.length;
  const count = right.length / jobs.length;
  const pairs = (T * (T + 1)) / 2;
  const eachHead = (of) => Array.from({ length: layers }, (_, l) => Array.from({ length: heads }, (__, h) => of(l * heads + h)));
  const at = (index) => {
    const share = (letters, place) => (letters.charCodeAt(place * count + index) - FIRST) / PARTS;
    const matrix = (own) => {
      const all = new Float32Array(T * T);
      let pair = own * pairs;
      for (let i = 0; i < T; i++) for (let j = 0; j <= i; j++) all[i * T + j] = share(weights, pair++);
      return all;
    };
    return {
      weights: eachHead(matrix),
      scores: Object.fromEntries(roles.map((role, n) => [role, eachHead((own) => share(scores, n * layers * heads + own))])),
      right: Object.fromEntries(jobs.map((job, n) => [job, share(right, n)])),
    };
  };
  return { count, at };
}
