// Where the names of arrows stand in a plane. No DOM.

/** How far a plane of arrows reaches, to each side. */
export const REACH = 4.4;
const LETTER = 0.27; // a letter's width there, about

/** Half the width of a name, about. */
export const halfOf = (name) => (LETTER * name.length) / 2;

/** Whether a name at a spot is all within the plane. */
export const inside = ([x, y], half) => Math.abs(x) <= REACH - half - 0.15 && Math.abs(y) <= REACH - 0.3;

/** Where the name of an arrow may stand: beyond its tip, else beside it, the nearest first. */
export function around([x, y], half) {
  const beside = 0.4 + half;
  // So far that the name stands clear of the tip, above, below or aside of it.
  const beyond = Math.min(beside / Math.abs(x), 0.6 / Math.abs(y));
  const near = [0, 0.3, 0.65, 1.4].flatMap((up) => [0, beside / 2, beside].flatMap((right) =>
    [[right, up], [-right, up], [right, -up], [-right, -up]]))
    .sort((a, b) => Math.hypot(...a) - Math.hypot(...b))
    .map(([right, up]) => [x + right, y + up]);
  const spots = [Number.isFinite(beyond) ? [x * (1 + beyond), y * (1 + beyond)] : [beside, 0], ...near]
    .map(([a, b]) => [Math.min(Math.max(a, half + 0.15 - REACH), REACH - half - 0.15), b]);
  return spots.filter((spot) => inside(spot, half)
    && (Math.abs(spot[0] - x) >= half || Math.abs(spot[1] - y) >= 0.5));
}

/** How far a name at a spot is clear of what is taken, each so wide and tall around its middle; on it, below 0. */
export const clearance = (spot, half, taken) => Math.min(...taken.map(({ at, wide, tall }) =>
  Math.max(Math.abs(spot[0] - at[0]) - half - wide, Math.abs(spot[1] - at[1]) - tall)));
