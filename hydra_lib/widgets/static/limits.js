// The limits of settings, as hydra_lib/widgets/_base.py sends them. No DOM.

// They travel as JSON, which has no infinities.
export const decode = (x) => (x === "inf" ? Infinity : x === "-inf" ? -Infinity : x);
export const encode = (x) => (x === Infinity ? "inf" : x === -Infinity ? "-inf" : x);

/** Whether a value is one of the options, a number between the bounds, or, with a shape of most rows
 * and columns (all, if exact), a list or matrix of such; infinities travel as strings, which are options. */
export function fits({ shape, ...entry }, value) {
  const { min, max, integer, options, exact } = entry;
  if (shape.length === 0) {
    return options.includes(value) || (Number.isFinite(value) && min !== null
      && value >= min && value <= max && (!integer || Number.isInteger(value)));
  }
  const [most, ...inner] = shape;
  return Array.isArray(value) && value.length >= (exact ? most : 1) && value.length <= most
    && value.every((part) => fits({ ...entry, shape: inner }, part)
      && (inner.length === 0 || part.length === value[0].length));
}

/** Whether a link may set this trait of a widget to this value. */
export function withinLimits(trait, value, { limits }) {
  return Object.hasOwn(limits, trait) && fits(limits[trait], value);
}
