import { axisOf, closest, scale } from "./chart.js";
import { drawLines, drawRoof, HEIGHT, quantity, WIDTH } from "./explorer_chart.js";
import { withinLimits } from "./limits.js";
import {
  CHOICES, compared, percent, placeOf, provenance, sentence, SPEED, three, TIME, timeText, unitFor, view,
} from "./records.js";
import { choice, columnHeads, el, follow, grab, heat, pills, put, roving, say, svg, table, update } from "./ui.js";

const LABELS = {
  record: "Device", group: "Measured", pass: "Pass", dtype: "dtype",
  d_model: "Width d_model", m: "Rows m", k: "Inner side k", n: "Side n", T: "Length T",
  head_dim: "head_dim", B: "Batch B", h: "Heads h", reference: "Ratio to", chart: "Chart",
};
const CHARTS = { roofline: "roofline", T: "along T", head_dim: "along head_dim", n: "along n" };
const SHOW = [["time", "time"], ["speed", "FLOP/s"], ["ratio", "ratio"]];
const KEYS = Object.keys(LABELS);
const OF_ROWS = KEYS.filter((key) => !["reference", "chart"].includes(key));
const traitOf = (key) => (key === "pass" ? "direction" : key);

function render({ model, el: root }) {
  const records = model.get("records");
  const asked = () => Object.fromEntries(KEYS.map((key) => [key, model.get(traitOf(key))]));
  /** Another choice; what it leaves without rows goes back to the usual. */
  const change = (key, text) => {
    const value = view(records, asked()).offered[key].find((v) => String(v) === text);
    const { refused, record, taken } = view(records, { ...asked(), [key]: value });
    // Of other measurements, which it is not among, a kernel is not missed.
    const among = record.rows.some(({ group, kernel }) => group === taken.group && kernel === model.get("kernel"));
    update(model, {
      [traitOf(key)]: value, ...Object.fromEntries(refused.map((k) => [traitOf(k), null])), ...(among ? {} : { kernel: null }),
    });
  };
  const pick = (kernel) => update(model, { kernel });

  // What chooses rows stands over the table, any other control beside what it changes.
  const controls = Object.fromEntries([...OF_ROWS, "reference"].map((key) =>
    [key, choice(LABELS[key], [], (text) => change(key, text))]));
  const show = pills("Show", SHOW, (value) => update(model, { show: value }));
  const chart = pills(LABELS.chart, Object.entries(CHARTS), (value) => change("chart", value));
  const about = el("p", { class: "hydra-note" });
  const told = el("p", { class: "hydra-problem", role: "status" });
  const results = el("div", { class: "hydra-results" });
  const caption = el("figcaption");
  // The handle stays while the drawing under it is made anew, so that a hand keeps hold of it.
  const handle = svg("rect", { class: "hydra-along", width: 32, height: HEIGHT });
  const drawing = svg("g");
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, drawing, handle);
  const figure = el("figure", { class: "hydra-figure hydra-plot" }, chart.root, picture, caption);
  const summary = el("p", { class: "hydra-summary", style: "--narrow:6", role: "status" });
  root.classList.add("hydra", "hydra-measured");
  root.append(
    el("div", { class: "hydra-controls" }, ...OF_ROWS.map((key) => controls[key].root)),
    told, el("div", { class: "hydra-panels" }, figure, summary), show.root, results, controls.reference.root,
    el("p", { class: "hydra-note" }, "Paired: run in turn; the median of their ratios. The reference was run again with "
      + "each kernel; its time here is from one of these series. Medians: the ratio of the two medians. "
      + "±: half the 95 % interval of a median; with fewer than six rounds, half their range."),
    about,
  );

  let stops = [];
  grab(handle, picture, (x) => {
    const { value } = closest(stops, x * WIDTH);
    const { taken } = view(records, asked());
    if (value !== taken[taken.chart]) change(taken.chart, String(value));
  }, true);

  let listed = "";
  let list;
  return follow(model, [...KEYS.map(traitOf), "kernel", "show"], () => {
    const shown = view(records, asked());
    for (const [key, control] of Object.entries(controls)) {
      offer(control, shown.offered[key], shown.taken[key], key === "record" ? (name) => deviceText(records, name) : String);
    }
    chart.root.hidden = shown.offered.chart.length < 2;
    for (const { value, parentNode } of chart.inputs) parentNode.hidden = !shown.offered.chart.includes(value);
    chart.set(shown.taken.chart);
    show.set(model.get("show"));
    say(about, `${shown.record.what}. ${provenance(shown.record)}`);
    say(told, shown.refused.map((key) =>
      `Not measured here: ${LABELS[key]} = ${model.get(traitOf(key))}.`).join(" "));

    // The table is built anew for other rows only, so that a row keeps the focus while it is chosen.
    const now = JSON.stringify({ ...shown.taken, chart: null });
    if (now !== listed) {
      listed = now;
      list = listRows(results, shown, pick);
    }
    list.measure(model.get("show"));
    const wanted = model.get("kernel");
    const row = wanted === null ? shown.lines[0] : shown.lines.find(({ kernel }) => kernel === wanted);
    list.mark(row?.kernel);
    say(summary, row ? sentence(shown, row) : `${wanted} was not measured at this size.`);
    figure.hidden = shown.taken.chart === null;
    stops = [];
    if (shown.taken.chart === "roofline") say(caption, drawRoof(drawing, shown, row?.kernel, pick));
    else if (!figure.hidden) {
      const drawn = drawLines(drawing, shown, model.get("show"), row?.kernel, pick);
      ({ stops } = drawn);
      say(caption, drawn.words);
    }
    const here = stops.find(({ value }) => value === shown.taken[shown.taken.chart]);
    put(handle, { x: here ? here.at - 16 : -WIDTH });
  });
}

/** The options of a choice; it is hidden where there is nothing to choose. */
function offer({ root, select }, values, value, name) {
  root.hidden = values.length < 2;
  const options = values.map((v) => [String(v), name(v)]);
  if (JSON.stringify(options) !== select.dataset.options) {
    select.dataset.options = JSON.stringify(options);
    select.replaceChildren(...options.map(([v, words]) => el("option", { value: v }, words)));
  }
  select.value = String(value);
}

/** The name of a device; two records of one device are told apart by their own names. */
function deviceText(records, name) {
  const { device } = records[name].environment;
  const twins = Object.values(records).filter(({ environment }) => environment.device === device);
  return twins.length > 1 ? `${device} (${name})` : device;
}

/** The table, fastest first; returns what marks a row, and what draws bars into the column that is shown. */
function listRows(place, shown, pick) {
  const { record, rows, lines, taken } = shown;
  const speeds = lines.map(({ flops, p50 }) => flops / p50).filter(Number.isFinite);
  const [speed, flops] = unitFor(Math.max(0, ...speeds), SPEED);
  const buttons = lines.map(({ kernel }, i) => el("button", {
    type: "button", class: "hydra-toggle", onclick: () => pick(kernel), onfocus: () => pick(kernel),
  }, el("span", {}, i + 1), " ", kernel));
  const size = ["B", "h", "d_model", "m", "k", "n", "T", "head_dim"]
    .filter((key) => taken[key] !== null).map((key) => `${key} = ${taken[key]}`);
  const roofs = lines.map((one) => placeOf(record, one)); // none where no ceiling was measured
  const heads = [["time", "p20–p80"], [speed, "GB/s"], ["ratio", "how"], ["of roof", "set by"]]
    .slice(0, roofs.some(Boolean) ? 4 : 3);
  const grid = table("", lines.length, heads.length, (i) => buttons[i]);
  columnHeads(grid, "kernel", heads.map((words) => two(...words)));
  lines.forEach((one, i) => {
    const ratio = compared(rows, one.kernel, taken.reference);
    const cells = grid.cells[i];
    const [, seconds] = unitFor(one.p50, TIME);
    const [low, high] = [one.p20, one.p80].map((time) => (time ? three(time / seconds) : ""));
    cells[0].append(...two(timeText(one.p50), `${low}–${high}`));
    cells[1].append(...two(one.flops ? three(one.flops / one.p50 / flops) : "–", one.bytes ? three(one.bytes / one.p50 / 1e9) : "–"));
    cells[2].append(...two(ratio ? three(ratio.value) : "–", ratio ? ratio.how : "–"));
    cells[3]?.append(...two(roofs[i] ? percent(roofs[i].share) : "–", roofs[i] ? roofs[i].bound : "–"));
    grid.rows[i].addEventListener("click", () => pick(one.kernel));
  });
  place.replaceChildren(grid.root);
  const rest = roving(buttons.map((button) => [button]));
  const measure = (show) => {
    const values = lines.map((one) => quantity(show, rows, one, taken.reference));
    // Over a wide range a bar in proportion would show one kernel, and nothing of the others.
    const axis = axisOf(values.filter((value) => value > 0), 12);
    const length = axis.log ? scale(axis, 0, 1) : (value) => value / Math.max(...values.filter(Number.isFinite));
    say(grid.root.caption, `${[...size, taken.dtype, taken.pass].join(", ")}; fastest first${axis.log ? ", bars on a log scale" : ""}`);
    lines.forEach((_, i) => SHOW.forEach(([name], column) => {
      const bar = grid.cells[i][column];
      bar.classList.toggle("hydra-bar", name === show);
      heat(bar, name === show && Number.isFinite(values[i]) ? length(values[i]) : 0);
    }));
  };
  return {
    measure,
    mark: (chosen) => lines.forEach(({ kernel }, i) => {
      grid.rows[i].classList.toggle("hydra-chosen", kernel === chosen);
      buttons[i].setAttribute("aria-pressed", kernel === chosen);
      if (kernel === chosen) rest(buttons[i]);
    }),
  };
}

const two = (first, second) => [first, " ", el("small", {}, second)];

/** What a link may ask for: null, or what some row has. */
function valid(trait, value, initial) {
  const { records } = initial;
  if (trait === "show" || trait === "chart") return withinLimits(trait, value, initial);
  const key = { direction: "pass", reference: "kernel" }[trait] ?? trait;
  if (key === "record") return value === null || Object.hasOwn(records, value);
  return [...CHOICES, "kernel"].includes(key) && (value === null
    || Object.values(records).some(({ rows }) => rows.some((row) => row[key] === value)));
}

export default { render, valid };
