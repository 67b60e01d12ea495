// Axes of a chart: where a value stands, which values are written, labels that do not overlap. No DOM.

/** A function from [low, high] to [from, to], by the logarithm if `log`. */
export function scale({ low, high, log }, from, to) {
  const at = (x) => (log ? Math.log(x) : x);
  return (x) => from + ((to - from) * (at(x) - at(low))) / (at(high) - at(low));
}

/** An axis that holds all values: logarithmic if they span more than `span`, otherwise from 0. */
export function axisOf(values, span) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return most / least > span ? { low: least / 1.3, high: most * 1.3, log: true }
    : { low: 0, high: most * 1.08, log: false };
}

/** About `count` round numbers on an axis: 1, 2 or 5 times a power of ten. */
export function ticks({ low, high, log }, count) {
  const powers = Array.from({ length: 61 }, (_, i) => i - 30);
  if (log) {
    const on = (digits) => powers.flatMap((p) => digits.map((d) => Number(`${d}e${p}`)))
      .filter((x) => x >= low && x <= high);
    const decades = on([1]);
    if (decades.length > count) {
      const every = Math.ceil(decades.length / count);
      return decades.filter((_, i) => i % every === 0);
    }
    return [[1, 2, 5], [1, 3], [1]].map(on).find((xs) => xs.length <= count) ?? decades;
  }
  const step = powers.flatMap((p) => [1, 2, 5].map((d) => Number(`${d}e${p}`)))
    .find((size) => (high - low) / size <= count);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(6)));
}

/** Of stops along an axis, each `{ at }`, the one closest to a place. */
export function closest(stops, place) {
  const away = ({ at }) => Math.abs(at - place);
  return stops.reduce((best, stop) => (away(stop) < away(best) ? stop : best));
}

/** Places moved as little as needed so that neighbours are `gap` apart, all within [low, high]. */
export function apart(places, gap, low, high) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const moved = [...places];
  let last = low - gap;
  for (const i of order) last = moved[i] = Math.max(moved[i], last + gap);
  last = high + gap;
  for (const i of order.reverse()) last = moved[i] = Math.min(moved[i], last - gap);
  return moved;
}

/** Items in columns: those that start within `width` of the first of their column. */
export function columns(items, width) {
  const found = [];
  for (const item of [...items].sort((a, b) => a.x - b.x)) {
    if (found.length && item.x - found.at(-1)[0].x < width) found.at(-1).push(item);
    else found.push([item]);
  }
  return found;
}
