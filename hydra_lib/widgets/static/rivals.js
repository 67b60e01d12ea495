// Distributions over three states with the energies −2, −1 and 0, in a triangle. No DOM.
// Gaps of 1 make the mean energy U a distribution's place from left to right, and the middle state's
// weight its height: one mean energy is one upright line.

/** The height of that line, which is the most weight the middle state can have.
 * @param {number} U */
const room = (U) => 1 - Math.abs(U + 1);

/** The distribution of mean energy U in [−2, 0] that lies `along` of the way up its line.
 * @param {number} U @param {number} along */
export function weightsAt(U, along) {
  const middle = along * room(U);
  return [(-U - middle) / 2, middle, (2 + U - middle) / 2].map((x) => Math.max(0, x)); // no −1e−17
}

/** How far up its line a middle weight lies, from 0 to 1; a corner's line is a point.
 * @param {number} U @param {number} middle */
export const alongOf = (U, middle) => (room(U) < 1e-9 ? 0 : Math.min(1, Math.max(0, middle / room(U))));

/** The x = e^(−1/τ) at which softmax, (1, x, x²) over its sum, has mean energy U in [−2, −1].
 * @param {number} U */
function boltzmannFactor(U) {
  const u = U + 2;
  return (2 * u) / (1 - u + Math.sqrt((1 - u) ** 2 + 4 * u * (2 - u)));
}

/** The softmax of mean energy U; above the plain average −1 that of the scores with their sign
 * turned. @param {number} U */
export function softmaxOf(U) {
  if (U > -1) return softmaxOf(-2 - U).reverse();
  const x = boltzmannFactor(U);
  return [1, x, x * x].map((w) => w / (1 + x + x * x));
}

/** Its temperature, in [0, ∞]. @param {number} U */
export function temperatureOf(U) {
  if (U > -1) return temperatureOf(-2 - U);
  const x = boltzmannFactor(U);
  return x === 1 ? Infinity : -1 / Math.log(x) || 0;
}

/** The sparsemax of mean energy U: of its line, the point nearest to the middle of the triangle.
 * @param {number} U */
export const sparsemaxOf = (U) => weightsAt(U, alongOf(U, 1 / 3));

/** Two ways to measure how little a distribution commits itself, and the best of a line by each. */
export const MEASURES = {
  entropy: {
    of: (p) => p.reduce((total, x) => total - (x > 0 ? x * Math.log(x) : 0), 0),
    best: softmaxOf,
    most: Math.log(3),
  },
  gini: { of: (p) => (1 - p.reduce((total, x) => total + x * x, 0)) / 2, best: sparsemaxOf, most: 1 / 3 },
};

/** Where a measure has one value: `count` distributions around the middle. From there outwards it
 * falls, so on each ray they are found by halving. @param {string} measure @param {number} level @param {number} count */
export function contour(measure, level, count) {
  const { of } = MEASURES[measure];
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    const away = [0, 1, 2].map((state) => Math.cos(angle - (2 * Math.PI * state) / 3));
    let [inside, outside] = [0, -1 / (3 * Math.min(...away))]; // at which a weight is 0
    const at = (far) => away.map((x) => Math.max(0, 1 / 3 + far * x));
    if (of(at(outside)) > level) return at(outside);
    for (let halved = 0; halved < 40; halved += 1) {
      const middle = (inside + outside) / 2;
      if (of(at(middle)) > level) inside = middle;
      else outside = middle;
    }
    return at(inside);
  });
}
