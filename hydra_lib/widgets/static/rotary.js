// Arrows that are alike but for the position of their word. No DOM.

/** Of every arrow. */
export const LENGTH = 5;

/** Where the arrows of a position point, one after the other: each has turned by its rate, in degrees, for each
 * position before it.
 * @param {number} position @param {number[]} rates */
export const turned = (position, rates) => rates.flatMap((rate) => {
  const angle = (position * rate * Math.PI) / 180;
  return [LENGTH * Math.cos(angle), LENGTH * Math.sin(angle)];
});

/** The rate near `rate` at which the arrow of a position, not 0, points to `angle`, in degrees and to the tenth. Of full
 * turns as many are kept as bring the arrow there by the shorter way. */
export function rateFor(angle, position, rate) {
  const ahead = (angle - position * rate) % 360;
  const shorter = ahead - 360 * Math.round(ahead / 360);
  return Math.round(10 * (rate + shorter / position)) / 10;
}
