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
