// What hydra_lib/matmul/bilinear.py says of an algorithm {U, V, W, additions}, in words and counts. No DOM.
// The coefficients of U, V and W are 1, 0 and −1.

export const AUTHORS = { naive: "naive", strassen: "Strassen 1969", winograd: "Winograd's form" };
export const total = (numbers) => numbers.reduce((a, b) => a + b);

const places = (digits) => (integer) => [...String(integer)].map((d) => digits[d]).join("");
export const lowered = places("₀₁₂₃₄₅₆₇₈₉");
export const raised = places("⁰¹²³⁴⁵⁶⁷⁸⁹");

export function blockName(letter, i, j) {
  return letter + lowered(i + 1) + lowered(j + 1);
}

export function signOf(coefficient) {
  return coefficient === 0 ? "" : coefficient > 0 ? "+" : "−";
}

/** The blocks that enter a sum, row after row. */
function blockTerms(letter, coefficients) {
  return coefficients.flatMap((row, i) => row.map((c, j) =>
    ({ sign: signOf(c), name: blockName(letter, i, j) }))).filter(({ sign }) => sign);
}

/** The products that enter C_ij. */
export function productTerms({ W }, i, j) {
  return W.map((w, r) => ({ sign: signOf(w[i][j]), name: `M${lowered(r + 1)}`, product: r }))
    .filter(({ sign }) => sign);
}

/** The same sum, in order but for its first term, which has a plus if any has; with its text. */
export function spelled(terms) {
  const first = Math.max(0, terms.findIndex(({ sign }) => sign === "+"));
  return [terms[first], ...terms.filter((_, n) => n !== first)].map((term, n) => ({
    ...term,
    text: n ? `${term.sign} ${term.name}` : (term.sign === "−" ? "−" : "") + term.name,
  }));
}

export function sumText(terms) {
  return spelled(terms).map(({ text }) => text).join(" ");
}

/** "M₁ = (A₁₁ + A₂₂)(B₁₁ + B₂₂)" */
export function productText({ U, V }, r) {
  const factors = [blockTerms("A", U[r]), blockTerms("B", V[r])].map((terms) => {
    const text = sumText(terms);
    return terms.length > 1 || text.startsWith("−") ? `(${text})` : text;
  });
  const factored = factors.join(" ").replace(") (", ")(");
  return `M${lowered(r + 1)} = ${factored}`;
}

/** "C₁₁ with + and C₂₂ with +", no line starting with a sign. */
export function landingText({ W }, r) {
  return new Intl.ListFormat("en-GB").format(blockTerms("C", W[r]).map(({ sign, name }) => `${name} with\u00a0${sign}`));
}

/**
 * What the products up to one of them have put into C_ij: a row for each entry of A, a column for
 * each of B, in the order of `entries`, and in each cell how often their product is in the sum.
 */
export function painted({ U, V, W }, upTo, i, j) {
  return U[0].flat().map((_, a) => V[0].flat().map((__, b) =>
    W.slice(0, upTo + 1).reduce((sum, w, r) => sum + w[i][j] * U[r].flat()[a] * V[r].flat()[b], 0)));
}

/** The products that put entry `a` of A times entry `b` of B into C_ij, and their signs there. */
export function history({ U, V, W }, i, j, a, b) {
  return W.map((w, product) => ({ product, sign: signOf(w[i][j] * U[product].flat()[a] * V[product].flat()[b]) }))
    .filter(({ sign }) => sign);
}

/** What it should come to: A_ip B_pj for every p, once, and nothing else. */
export function wanted({ U, V }, i, j) {
  return entries(U[0]).map(([row, p]) => entries(V[0]).map(([q, column]) =>
    Number(row === i && p === q && column === j)));
}

/** The places of a matrix, row after row. */
export function entries(matrix) {
  return matrix.flatMap((row, i) => row.map((_, j) => [i, j]));
}

/** Additions of blocks as the sums are written, nothing shared: in A, in B, in C. */
export function writtenAdditions({ U, V, W }) {
  const terms = [U, V, W].map((factor) => factor.flat(2).filter(Boolean).length);
  return [terms[0] - U.length, terms[1] - V.length, terms[2] - W[0].flat().length];
}

/** Multiplications and additions of L levels of recursion, down to numbers. */
export function operationCounts({ U, V, additions }, levels) {
  const [m, k, n] = [U[0].length, V[0].length, V[0][0].length];
  let counts = [1, 0];
  for (let level = 0; level < levels; level += 1) {
    const own = [m * k, k * n, m * n].reduce((sum, area, side) => sum + additions[side] * area ** level, 0);
    counts = [U.length * counts[0], U.length * counts[1] + own];
  }
  return counts;
}

/** What an algorithm costs at a depth, over the triple loop's cost, if an addition costs `addition`. */
export function costRatio(algorithm, levels, addition) {
  const cost = ([multiplications, additions]) => multiplications + addition * additions;
  return cost(operationCounts(algorithm, levels)) / cost(tripleLoopCounts(levels).counts);
}

/**
 * A square cut in eight, each eighth again, `levels` times, and only as many eighths kept as there
 * are products: [x, y, width, height] in a square of side 1. Their area is the share of the work.
 */
export function kept(rank, levels) {
  if (levels === 0) return [[0, 0, 1, 1]];
  const tall = levels % 2 === 0; // by turns, so that what is cut is always a square or two beside each other
  const [across, down] = tall ? [4, 2] : [2, 4];
  return kept(rank, levels - 1).flatMap(([x, y, width, height]) => Array.from({ length: rank }, (_, r) => {
    const [w, h] = [width / across, height / down];
    return [x + (r % across) * w, y + Math.floor(r / across) * h, w, h];
  }));
}

/** Side of the matrix that L levels of halving cut into numbers, and what the triple loop takes. */
export function tripleLoopCounts(levels) {
  const n = 2 ** levels;
  return { n, counts: [n ** 3, n ** 3 - n ** 2] };
}
