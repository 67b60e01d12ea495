// The inner loop of the fused kernel as a reader writes it: barriers, mistakes by name. No DOM.
import attentionFused from "./attention_fused.wgsl";
import { exactAttention, randomNumbers, rowError, tolerance } from "./loops.js";

const LOOP = "  for (var start = 0u; start < end; start += 16) {\n";
const AFTER = "  }\n  if (row >= Tq)";
const LOADED = "workgroupBarrier();  // the tiles are complete\n";
const [BEFORE, REST] = attentionFused.split(LOOP);
const [BODY, TAIL] = REST.split(AFTER);

/** The book's own inner loop, and what a reader is given of it to begin with. */
export const OWN_LOOP = BODY.replace(/^ {4}/gm, "");
export const GIVEN = `${OWN_LOOP.split(LOADED)[0]}// 1. Wait until the tiles are complete.
// 2. The score of query row and key start + at.x,
//    times SCALE; LOWEST where it is forbidden.
//    Others need it: put it in scores[at.y][at.x].
// 3. The largest score of this row so far, and this
//    key's weight, 2^(score - largest).
// 4. Let total and acc fade to the new maximum,
//    then add what this tile gives: acc[c] belongs
//    to column at.x + 16 * c of the output.
`;

/** A kernel with this inner loop: what stands before it, and the text whose lines are the reader's. */
export const kernelWith = (loop) => ({ head: BEFORE + LOOP, text: `${loop}\n${AFTER}${TAIL}` });

// --- barriers -------------------------------------------------------------------------------------

const SHARED = ["keys", "values", "scores", "weights"];

/** The text without comments, every line in its place. */
const bare = (code) => code.replace(/\/\*[^]*?\*\/|\/\/.*/g, (found) => found.replace(/[^\n]/g, " "));

/** Where the brackets that begin at `at` end, all that follow each other. */
function pastBrackets(code, at) {
  let depth = 0;
  for (let i = at; i < code.length; i++) {
    if (code[i] === "[") depth++;
    else if (code[i] === "]") depth--;
    else if (depth === 0 && !/\s/.test(code[i])) return i;
  }
  return code.length;
}

/** An index with its names put in, without casts, brackets around it, and blanks. */
const plain = (index, called) => index.replace(/(?<!\.)\b\w+/g, (word) => called.get(word) ?? word)
  .replace(/\b[iu]32\b|[()\s]|\.xy\b/g, "").replace(/\bvec2([iu]|<>)?at\.x,at\.y/g, "at");

const ASSIGNED = String.raw`(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--`;

/** What a name stands for that is given once and for all: after let i = at.y; i is at.y. */
function otherNames(code) {
  const called = new Map();
  for (const [, name, what] of code.matchAll(/\b(?:let|var)\s+(\w+)[^=;]*=([^;]+);/g)) {
    const given = String.raw`\b(?:let|var|const)\s+${name}\b|\b${name}(?:\.\w+|\[\w+\])?\s*(?:${ASSIGNED})`;
    if (code.match(new RegExp(given, "g")).length === 1) called.set(name, plain(what, called));
  }
  return called;
}

/** What the loop does with one tile, in the order of the text: "write", "read" and "barrier". */
function eventsOf(code, name) {
  const called = otherNames(code);
  const events = [...code.matchAll(/workgroupBarrier\s*\(\s*\)/g)].map(({ index }) => ({ index, kind: "barrier" }));
  for (const { index } of code.matchAll(new RegExp(`\\b${name}\\b(?=\\s*\\[)`, "g"))) {
    const end = pastBrackets(code, index + name.length);
    const written = /^([+*/-]|)=(?!=)/.test(code.slice(end));
    // Its own place an invocation may read without waiting for the others.
    const own = plain(code.slice(index + name.length, end), called) === "[at.y][at.x]";
    if (written || !own) events.push({ index, kind: written ? "write" : "read" });
  }
  return events.sort((a, b) => a.index - b.index);
}

/** Tiles that one invocation reads while another may still write them, or writes while another may
 * still read them: sentences with the line. The loop comes round again, so its end meets its begin. */
export function missingBarriers(text) {
  const code = bare(text);
  const line = (index) => code.slice(0, index).split("\n").length;
  return SHARED.flatMap((name) => {
    const once = eventsOf(code, name);
    let last = null;
    const found = new Map();
    for (const event of [...once, ...once]) {
      if (event.kind === "barrier") last = null;
      else {
        if (last && last !== event.kind) {
          found.set(event.kind, `Line ${line(event.index)}: a barrier is missing before ${name} is `
            + (event.kind === "read" ? "read: others may not have written it yet." : "written again: others may still read it."));
        }
        last = event.kind;
      }
    }
    return [...found.values()];
  });
}

// --- mistakes by name -----------------------------------------------------------------------------

const LOWEST = -1e30;

/** The trial's attention by tiles of 16 × 16, with one thing done wrong: what the usual mistakes
 * give. Arithmetic in float64. */
export function mistaken(wrong) {
  const [{ q, k, v }, { T, D }] = [trialInputs(), TRIAL];
  const out = new Float64Array(T * D);
  const scale = (wrong === "scale" ? 1 : 1 / Math.sqrt(D)) * Math.LOG2E;
  const power = wrong === "exp" ? Math.exp : (x) => 2 ** x;
  const allowed = (row, column, i, j) => row < T && column < T && (wrong === "mask"
    || (wrong === "local" ? j <= i : wrong === "diagonal" ? column < row : column <= row));
  for (let first = 0; first < T; first += 16) {
    const state = Array.from({ length: 16 }, () => ({ top: LOWEST, total: 0, acc: new Float64Array(D) }));
    for (let start = 0; start < Math.min(T, first + 16); start += 16) {
      const scores = state.map((_, i) => Float64Array.from({ length: 16 }, (__, j) => {
        const [row, column] = [first + i, start + j];
        if (!allowed(row, column, i, j)) return LOWEST;
        let s = 0;
        for (let d = 0; d < D; d++) s += q[row * D + d] * k[column * D + d];
        return s * scale;
      }));
      const highers = state.map(({ top }, i) => Math.max(top, ...scores[i]));
      const weights = scores.map((row, i) => row.map((s) => power(s - highers[i])));
      state.forEach((own, i) => {
        const fade = power(own.top - highers[i]);
        if (wrong !== "fade" && wrong !== "fade total") own.total *= fade;
        for (let d = 0; d < D; d++) if (wrong !== "fade" && wrong !== "fade acc") own.acc[d] *= fade;
        for (let j = 0; j < 16; j++) {
          const p = wrong === "transposed" ? weights[j][i] : weights[i][j];
          own.total += wrong === "own" ? 0 : p;
          for (let d = 0; d < D; d++) own.acc[d] += p * (start + j < T ? v[(start + j) * D + d] : 0);
        }
        own.top = wrong === "top" ? LOWEST : highers[i];
      });
    }
    state.forEach(({ total, acc }, i) => {
      for (let d = 0; d < D && first + i < T; d++) out[(first + i) * D + d] = acc[d] / Math.max(total, 1);
    });
  }
  return out;
}

export const MISTAKEN = {
  fade: "No rescaling: when a larger score turns up, total and acc must fade by 2^(old maximum − new one).",
  "fade acc": "acc is not rescaled, only total is: both were measured from the old maximum.",
  "fade total": "total is not rescaled, only acc is: both were measured from the old maximum.",
  top: "top is not kept: the next tile must know the maximum so far, or it forgets all before it.",
  scale: "The scores are not scaled: SCALE is missing.",
  exp: "exp where exp2 belongs: SCALE has log₂ e in it already.",
  mask: "The mask is missing: in the tile on the diagonal a query sees keys that come after it.",
  diagonal: "The diagonal is off by one: a query sees its own key, column <= row.",
  local: "The mask uses a tile's own numbering: at.x and at.y count from the tile's corner, start + at.x and row do not.",
  transposed: "A wrong index: weights[j][at.y] where weights[at.y][j] belongs; the row is at.y.",
  own: "total is not summed: every weight of the row belongs to it.",
};

/** Sizes that nothing divides, with scores so far apart that rescaling counts. */
export const TRIAL = { T: 53, D: 24 };

export function trialInputs() {
  const count = TRIAL.T * TRIAL.D;
  const [q, k, v] = [1, 2, 3].map((seed) => randomNumbers(count, seed));
  return { q: q.map((x) => 2 * x), k, v, lengths: [TRIAL.T] };
}

const rows = (values) => Array.from({ length: TRIAL.T }, (_, i) => Array.from(values.subarray(i * TRIAL.D, (i + 1) * TRIAL.D)));

/** What the output of the trial says of the kernel: {right, error} or {right, words}. */
export function judged(output) {
  const inputs = trialInputs();
  const exact = rows(Float64Array.from(Array.from({ length: TRIAL.T }, (_, i) => [...exactAttention(inputs, TRIAL, i)]).flat()));
  const found = rows(output);
  const error = rowError(found, exact);
  if (error <= tolerance("float32")) return { right: true, error };
  if (output.every((x) => x === 0)) return { right: false, words: "All zeros: nothing has been added to acc yet." };
  const near = Object.keys(MISTAKEN).find((wrong) => rowError(found, rows(mistaken(wrong))) < 1e-3);
  if (near) return { right: false, words: MISTAKEN[near] };
  if (Number.isNaN(error)) return { right: false, words: "The output holds NaN: a weight may be 2^x with x far above 0." };
  const first = found.findIndex((row, i) => !(rowError([row], [exact[i]]) <= tolerance("float32")));
  const tiles = Math.floor(first / 16) + 1; // of keys, that the row needs
  const where = tiles === 1 ? "it needs only the first tile of keys" : `rows that need fewer than ${tiles} tiles of keys are right`;
  return { right: false, words: `Row ${first} is the first wrong one, off by ${error.toPrecision(2)}: ${where}.` };
}
