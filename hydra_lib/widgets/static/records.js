// Timed rows, as hydra_lib/records/schema.py describes them: chosen, compared, placed. No DOM.

// What tells rows apart besides the kernel, in the order in which it is asked.
export const CHOICES = ["group", "pass", "dtype", "d_model", "m", "k", "n", "T", "head_dim", "B", "h"];
const AXES = ["T", "head_dim", "n"];

const distinct = (values) => [...new Set(values)];

/** The rows that agree with all of `wanted`; null there agrees with everything. */
export function select(rows, wanted) {
  const asked = Object.entries(wanted).filter(([, value]) => value !== null);
  return rows.filter((row) => asked.every(([key, value]) => row[key] === value));
}

/** Takes what is asked for where it is offered, otherwise what is usual, and keeps account of it. */
function taking(asked) {
  const [offered, taken, refused] = [{}, {}, []];
  const take = (key, values, usual) => {
    const wanted = asked[key] ?? null;
    const found = values.includes(wanted);
    if (wanted !== null && !found) refused.push(key);
    offered[key] = values;
    taken[key] = found ? wanted : usual;
    return taken[key];
  };
  return { offered, taken, refused, take };
}

/** A value for each choice in turn: what is asked for where the rows left offer it, otherwise the
 * first name or the largest number. So there are always rows; `refused` names what they are not. */
export function choose(rows, asked, account = taking(asked)) {
  let left = rows;
  for (const key of CHOICES) {
    const values = distinct(left.map((row) => row[key])).filter((value) => value !== undefined);
    const counted = values.every(Number.isFinite);
    if (counted) values.sort((a, b) => a - b);
    left = select(left, { [key]: account.take(key, values, values.at(counted ? -1 : 0) ?? null) });
  }
  return { ...account, rows: left };
}

/** What most rows were paired with, or the first kernel. */
export function usualReference(rows) {
  const counts = new Map();
  for (const { reference } of rows) if (reference) counts.set(reference, (counts.get(reference) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return [...counts.keys()].find((name) => counts.get(name) === most) ?? rows[0].kernel;
}

/** One row a kernel, fastest first. Of several it is the one paired with the reference, if any was. */
export function fastestFirst(rows, reference) {
  return distinct(rows.map(({ kernel }) => kernel)).map((kernel) => {
    const own = select(rows, { kernel });
    return own.find((row) => row.reference === reference) ?? own[0];
  }).sort((a, b) => a.p50 - b.p50);
}

/** Time of the reference over time of the kernel, among rows of one size.
 *
 * `how` is "paired" where the record measured the two in pairs (the other way round it is one over
 * that), "medians" for the ratio of two medians, "itself". Null when one of them is missing, or
 * their FLOPs differ or were not counted: then nobody knows that they do the same work. */
export function compared(rows, kernel, reference) {
  if (kernel === reference) return { value: 1, how: "itself", spread: null };
  const paired = (a, b) => rows.find((row) =>
    row.kernel === a && row.reference === b && Number.isFinite(row.ratio));
  const found = paired(kernel, reference);
  if (found) return { value: found.ratio, how: "paired", spread: found.spread ?? null };
  const turned = paired(reference, kernel);
  if (turned) return { value: 1 / turned.ratio, how: "paired", spread: turned.spread ?? null };
  const [own, other] = [kernel, reference].map((name) => rows.find((row) => row.kernel === name));
  if (!own?.flops || own.flops !== other?.flops) return null;
  return { value: other.p50 / own.p50, how: "medians", spread: null };
}

/** Where work stands under two measured ceilings, in FLOP/s and byte/s; hydra_lib.timing.roofline.place. */
export function place({ peak, bandwidth }, flops, bytes, seconds) {
  const [moving, computing] = [bytes / bandwidth, flops / peak];
  const least = Math.max(moving, computing);
  return {
    intensity: flops / bytes,
    bound: moving > computing ? "memory" : "compute",
    leastSeconds: least,
    share: least / seconds,
  };
}

/** The place of a row under the ceilings of its dtype; null where they or its counts are missing. */
export function placeOf({ ceilings }, { dtype, flops, bytes, p50 }) {
  const own = ceilings[dtype];
  return own && flops > 0 && bytes > 0 ? place(own, flops, bytes, p50) : null;
}

/** The rows along an axis, all other choices kept; but batch and heads may go along, as they do in a
 * record that keeps B · T or h · head_dim. */
const along = (rows, taken, axis) => select(rows, Object.fromEntries(
  CHOICES.filter((key) => ![axis, "B", "h"].includes(key)).map((key) => [key, taken[key]])));
const valuesOf = (rows, axis) => distinct(rows.map((row) => row[axis])).filter(Number.isFinite).sort((a, b) => a - b);

/** The rows at each value of an axis. */
export function series(rows, taken, axis) {
  const kept = along(rows, taken, axis);
  return valuesOf(kept, axis).map((x) => ({ x, ...choose(kept, { ...taken, [axis]: x }) }));
}

/** All that is shown of `records` when this is asked for. */
export function view(records, asked) {
  const account = taking(asked);
  const names = Object.keys(records);
  const record = records[account.take("record", names, names[0])];
  const { rows, offered, taken, refused } = choose(record.rows, asked, account);
  const kernels = distinct(rows.map(({ kernel }) => kernel));
  account.take("reference", kernels, usualReference(rows));
  const lengths = AXES.map((axis) => valuesOf(along(record.rows, taken, axis), axis).length);
  const axes = AXES.filter((_, i) => lengths[i] > 1);
  const charts = [...(rows.some((row) => placeOf(record, row)) ? ["roofline"] : []), ...axes];
  // A sweep over more values than there are kernels says more than one place under the roof.
  const sweep = AXES.find((_, i) => lengths[i] > kernels.length);
  account.take("chart", charts, sweep ?? charts[0] ?? null);
  return { record, rows, lines: fastestFirst(rows, taken.reference), offered, taken, refused };
}

// --- text -----------------------------------------------------------------------------------------

export const TIME = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
export const SPEED = [["TFLOP/s", 1e12], ["GFLOP/s", 1e9], ["MFLOP/s", 1e6]];
const MEMORY = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];

/** The unit in which a value is at least 1, as [name, size]; the smallest if there is none. Rounded
 * first, as it is written: 999.9 ms is 1.00 s. */
export function unitFor(value, units) {
  const rounded = Number(value.toPrecision(3));
  return units.find(([, size]) => rounded >= size) ?? units.at(-1);
}

/** Three significant digits, zeros at the end included, so that columns line up. */
export function three(x) {
  const rounded = Number(x.toPrecision(3));
  if (rounded !== 0 && (rounded < 1e-3 || rounded >= 1e6)) {
    return x.toExponential(2).replace("-", "−").replace("+", "");
  }
  return rounded >= 100 ? rounded.toLocaleString("en") : x.toPrecision(3);
}

const inUnit = (units) => (value) => {
  const [name, size] = unitFor(value, units);
  return `${three(value / size)} ${name}`;
};
export const timeText = inUnit(TIME);
export const speedText = inUnit(SPEED);
export const memoryText = inUnit(MEMORY);

/** A share in percent, two digits where it is small; below a hundredth nothing is left to read. */
export function percent(share) {
  const x = 100 * share;
  if (x < 0.01) return "< 0.01 %";
  return `${x >= 10 ? Math.round(x).toLocaleString("en") : Number(x.toPrecision(2))} %`;
}

/** What a number must not be quoted without; hydra_lib.records.provenance. */
export function provenance({ environment: { device, cpu, threads, date, versions } }) {
  const where = device === cpu && threads ? `${device}, ${threads} thread${threads > 1 ? "s" : ""}` : device;
  const known = Object.entries(versions).filter(([, version]) => version).map((pair) => pair.join(" "));
  return `${where}, ${date.slice(0, 10)};\n${known.join(", ")}.`;
}

/** A row in a sentence: its time, how it compares, how near the roof it is. */
export function sentence({ record, rows, taken }, row) {
  const ratio = compared(rows, row.kernel, taken.reference);
  const found = placeOf(record, row);
  const how = { paired: "paired", medians: "ratio of medians" }[ratio?.how];
  const within = Number.isFinite(ratio?.spread) ? `, ± ${percent(ratio.spread)}` : "";
  const parts = [timeText(row.p50)];
  if (ratio?.how === "itself") parts.push("the reference");
  else if (ratio) parts.push(`${three(ratio.value)} × as fast as ${taken.reference} (${how}${within})`);
  else parts.push(`not compared with ${taken.reference}`);
  if (found) parts.push(`${percent(found.share)} of the roof, set by ${found.bound}`);
  const more = [];
  if (found) more.push(`At the roof it would take ${timeText(found.leastSeconds)}.`);
  if (Number.isFinite(row.levels)) more.push(`Levels of recursion: ${row.levels}.`);
  if (Number.isFinite(row.error)) more.push(`Within ${three(row.error)} of float64, checked before it was timed.`);
  if (Number.isFinite(row.peak_bytes)) more.push(`Most memory held besides the inputs: ${memoryText(row.peak_bytes)}.`);
  return `${row.kernel}: ${parts.join(", ")}. ${more.join(" ")}`.trim();
}
