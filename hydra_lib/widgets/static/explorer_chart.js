// The two charts of measured results: under the roof, and along an axis.
import { apart, axisOf, columns, scale, ticks } from "./chart.js";
import { compared, fastestFirst, placeOf, series, speedText, SPEED, three, TIME, unitFor } from "./records.js";
import { line, svg, text } from "./ui.js";

export const [WIDTH, HEIGHT] = [340, 250];
const [LEFT, RIGHT, TOP, BOTTOM] = [42, WIDTH - 32, 24, HEIGHT - 36];

/** A number in full, or by its power of ten where that is as exact: 1e5, and 131072. */
function plain(x) {
  const brief = x.toExponential(0);
  return x === 0 || (x >= 1e-3 && x < 1e5) || Number(brief) !== x ? String(x) : brief.replace("e+", "e").replace("-", "−");
}

/** Values whose labels do not run into each other; of those that would, the largest. */
function legible(values, x) {
  let free = Infinity; // what is right of here is taken
  return [...values].sort((a, b) => b - a).filter((value) => {
    const half = (plain(value).length * 6.5 + 6) / 2;
    const fits = x(value) + half <= free;
    if (fits) free = x(value) - half;
    return fits;
  });
}

/** The frame: axes, their written values, their names; and the two scales. */
function frame(node, across, up, names, written) {
  const [x, y] = [scale(across, LEFT, RIGHT), scale(up, BOTTOM, TOP)];
  node.replaceChildren(
    ...ticks(up, 6).flatMap((value) => [
      line(LEFT, y(value), RIGHT, y(value), "hydra-grid"), text(LEFT - 6, y(value) + 4, plain(value), "end")]),
    ...legible(written, x).map((value) => text(x(value), BOTTOM + 15, plain(value), "middle")),
    line(LEFT, BOTTOM, RIGHT, BOTTOM, "hydra-base"),
    text(0, 11, names[1], "start"), text(RIGHT, HEIGHT - 3, names[0], "end"),
  );
  return { x, y };
}

const LETTER = 6.6; // of a name in the picture, at the widest
/** As much of a name as has room; the table of another length has all of it. */
const cut = (name, room) => (name.length * LETTER <= room ? name
  : room < 6 * LETTER ? "" : `${name.slice(0, Math.floor(room / LETTER) - 1).trimEnd()}…`);

/** Marks with their place in the table beside them, and their name where nothing stands in its way; one that is
 * chosen stands out. */
function marks(node, found, chosen, onChoose) {
  const taken = found.map(({ x, y }) => [x - 5, x + 5, y]); // [left, right, level] of each mark and text
  const named = ({ row, rank, right, level }) => {
    const name = `${rank} ${row.kernel}`;
    const end = right + LETTER * name.length;
    const free = found.every(({ x, y }) => x < right || x > end + 6 || Math.abs(y - level) > 14);
    return [end < WIDTH && free ? name : String(rank), right, "start"];
  };
  // A kernel that is not in the table has no number: its name, towards where the picture has more room.
  const shortened = ({ row, x, right, level }) => {
    const name = row.kernel;
    const beside = taken.filter((other) => Math.abs(other[2] - level) < 14);
    const [start, end] = [right, x - 8];
    return x < WIDTH / 2
      ? [cut(name, Math.min(WIDTH, ...beside.filter(([, r]) => r > start).map(([l]) => l)) - start), start, "start"]
      : [cut(name, end - Math.max(LEFT, ...beside.filter(([l]) => l < end).map(([, r]) => r))), end, "end"];
  };
  const placed = columns(found, 24).flatMap((column) => {
    const right = Math.max(...column.map(({ x }) => x)) + 14;
    const places = apart(column.map(({ y }) => y), 14, TOP, BOTTOM);
    return column.map((mark, i) => ({ ...mark, right, level: places[i] }));
  });
  const inTable = ({ rank }) => rank > 0;
  for (const mark of [...placed.filter(inTable), ...placed.filter((one) => !inTable(one))]) {
    const { row, x, y, level } = mark;
    const [said, at, anchor] = inTable(mark) ? named(mark) : shortened(mark);
    const side = anchor === "end" ? -1 : 1;
    taken.push([at, at + side * LETTER * said.length].sort((a, b) => a - b).concat(level));
    node.append(svg("g", { class: row.kernel === chosen ? "hydra-point hydra-picked" : "hydra-point", onclick: () => onChoose(row.kernel) },
      svg("circle", { cx: x, cy: y, r: 4.5 }), svg("title", {}, row.kernel),
      ...(said ? [line(x + side * 4, y, at - side * 2, level, "hydra-lead"), text(at, level + 4, said, anchor)] : [])));
  }
}

/** FLOP/s over FLOP/byte, under the roof of the measured copy and matmul; returns the caption. */
export function drawRoof(node, shown, chosen, onChoose) {
  const { record, lines, taken } = shown;
  const found = lines.map((row, i) => ({ row, rank: i + 1, at: placeOf(record, row) })).filter(({ at }) => at);
  const { peak, bandwidth } = record.ceilings[taken.dtype];
  const ridge = peak / bandwidth;
  const reach = [ridge, ...found.map(({ at }) => at.intensity)];
  const across = { low: Math.min(...reach) / 3, high: Math.max(...reach) * 3, log: true };
  const [unit, size] = unitFor(peak, SPEED);
  const speeds = found.map(({ row }) => row.flops / row.p50 / size);
  const roof = (intensity) => Math.min(peak, intensity * bandwidth) / size;
  const up = { low: Math.min(roof(across.low), ...speeds) / 1.6, high: (peak / size) * 1.6, log: true };
  const { x, y } = frame(node, across, up, ["FLOP/byte", unit], ticks(across, 6));
  const corners = [across.low, ridge, across.high].map((intensity) => [x(intensity), y(roof(intensity))]);
  const [start, bend, end] = corners;
  const slope = (Math.atan2(bend[1] - start[1], bend[0] - start[0]) * 180) / Math.PI;
  const middle = [(start[0] + bend[0]) / 2, (start[1] + bend[1]) / 2 - 6];
  node.append(svg("polyline", { class: "hydra-roof", points: corners.join(" ") }),
    text(...middle, "copy", "middle", { transform: `rotate(${slope} ${middle})` }),
    text(end[0], end[1] - 6, "matmul", "end"));
  const own = found.find(({ row }) => row.kernel === chosen);
  if (own) {
    const [top, bottom] = [roof(own.at.intensity), own.row.flops / own.row.p50 / size].map(y);
    node.append(line(x(own.at.intensity), top, x(own.at.intensity), bottom, "hydra-gap"));
  }
  marks(node, found.map(({ row, rank, at }, i) => ({ row, rank, x: x(at.intensity), y: y(speeds[i]) })), chosen, onChoose);
  return `Roofline in ${taken.dtype}, as measured: a copy of ${three(bandwidth / 1e9)} GB/s, `
    + `a square matmul of ${speedText(peak)}.`;
}

/** What is shown of a row: seconds, FLOP/s, or the ratio to the reference; NaN where it has none. */
export function quantity(show, rows, row, reference) {
  if (show === "time") return row.p50;
  return (show === "speed" ? row.flops / row.p50 : compared(rows, row.kernel, reference)?.value) ?? NaN;
}

/** The quantity along an axis, a line a kernel; returns the caption, and how far right which value stands. */
export function drawLines(node, shown, show, chosen, onChoose) {
  const { record, taken } = shown;
  const axis = taken.chart;
  const stops = series(record.rows, taken, axis);
  const points = stops.flatMap(({ x, rows }) => fastestFirst(rows, taken.reference).map((row) =>
    ({ x, row, value: quantity(show, rows, row, taken.reference) }))).filter(({ value }) => Number.isFinite(value));
  if (!points.length) {
    node.replaceChildren();
    return { words: "The FLOPs of these kernels were not counted.", stops: [] };
  }
  const most = Math.max(...points.map(({ value }) => value));
  const [unit, size] = show === "ratio" ? ["×", 1] : unitFor(most, show === "time" ? TIME : SPEED);
  for (const point of points) point.value /= size;
  const xs = stops.map(({ x }) => x);
  // Lengths double from one to the next; head_dim goes in equal steps.
  const across = axis === "head_dim" ? { low: xs[0], high: xs.at(-1), log: false }
    : { low: xs[0], high: xs.at(-1), log: true };
  const up = axisOf([...points.map(({ value }) => value), ...(show === "ratio" ? [1] : [])], 12);
  const { x, y } = frame(node, across, up, [axis, unit], xs);
  if (show === "ratio") node.append(line(LEFT, y(1), RIGHT, y(1), "hydra-base"));
  node.append(line(x(taken[axis]), TOP, x(taken[axis]), BOTTOM, "hydra-gap"));
  const ends = [];
  for (const kernel of new Set(points.map(({ row }) => row.kernel))) {
    const own = points.filter(({ row }) => row.kernel === kernel);
    node.append(svg("g", { class: kernel === chosen ? "hydra-path hydra-picked" : "hydra-path", onclick: () => onChoose(kernel) },
      svg("polyline", { points: own.map((p) => [x(p.x), y(p.value)]).join(" ") }),
      ...own.map((p) => svg("circle", { cx: x(p.x), cy: y(p.value), r: 2.5 }))));
    const rank = shown.lines.findIndex((row) => row.kernel === kernel) + 1;
    ends.push({ row: own.at(-1).row, rank, x: x(own.at(-1).x), y: y(own.at(-1).value) });
  }
  marks(node, ends, chosen, onChoose);
  const along = ["B", "h"].filter((key) => new Set(stops.map(({ taken: own }) => own[key])).size > 1);
  const words = `${{ time: "Time", speed: "Speed", ratio: `Times as fast as ${taken.reference}` }[show]} along ${axis}`
    + (along.length ? `; ${along.join(" and ")} ${along.length > 1 ? "change" : "changes"} with it` : "")
    + ". The dashed line is what the table shows: drag it.";
  return { words, stops: xs.map((value) => ({ value, at: x(value) })) };
}
