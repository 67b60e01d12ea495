import { withinLimits } from "./limits.js";
import { alongOf, contour, MEASURES, temperatureOf, weightsAt } from "./rivals.js";
import {
  brief, columnHeads, el, follow, grab, heat, line, pills, put, say, slider, svg, table, text, update,
} from "./ui.js";

const SIDE = 204; // of the triangle
const LEFT = 12;
const TALL = (SIDE * Math.sqrt(3)) / 2; // so that its sides are equal
const FOOT = TALL + 26;
const PANEL = { left: 236, right: 314 }; // the same heights, against the measure
const WIDTH = 326;
const HEIGHT = FOOT + 38;
const ENERGIES = [-2, -1, 0];
const CONTOURS = 6;
const NAMES = {
  entropy: { label: "entropy S", sign: "S", axis: "entropy S", best: "softmax", end: "ln 3" },
  gini: { label: "G = ½(1 − Σ q²)", sign: "G", axis: "G", best: "sparsemax", end: "⅓" },
};

const xOf = (U) => LEFT + (SIDE * (U + 2)) / 2;
const yOf = (middle) => FOOT - TALL * middle;
const place = (p) => [xOf(-2 * p[0] - p[1]), yOf(p[1])];
const joined = (points) => points.map((point) => point.map((x) => x.toFixed(1)).join()).join(" ");
const rounded = (x) => Math.round(1000 * x) / 1000;

function render({ model, el: root }) {
  const measure = pills("Measured by", Object.entries(NAMES).map(([key, { label }]) => [key, label]),
    (value) => update(model, { measure: value }));
  const energy = slider("Mean energy U", { min: -2, max: 0, step: 0.01 }, (U) => update(model, { U }));
  const along = slider("Height", { min: 0, max: 1, step: 0.01 }, (value) => update(model, { along: value }));

  const contours = Array.from({ length: CONTOURS }, () => svg("polygon", { class: "hydra-contour" }));
  const corners = ENERGIES.map((_, i) => place(ENERGIES.map((_, j) => Number(i === j))));
  const upright = line(0, 0, 0, FOOT, "hydra-rule");
  const best = svg("polyline", { class: "hydra-line" });
  const beyond = svg("polyline", { class: "hydra-line hydra-beyond" });
  const measured = svg("polyline", { class: "hydra-lead hydra-measure" });
  const marks = ["hydra-ring", "hydra-dot"].map((kind) => ({
    level: line(0, 0, 0, 0, "hydra-rule"),
    here: svg("circle", { r: 6, class: kind }),
    there: svg("circle", { r: 3.5, class: kind }), // smaller: it is not what one drags
  }));
  const handle = svg("circle", { r: 22, class: "hydra-handle" });
  const end = text(PANEL.right, FOOT + 16, "", "end");
  const title = text((PANEL.left + PANEL.right) / 2, FOOT + 32, "", "middle");
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    ...contours, svg("polygon", { points: joined(corners), class: "hydra-open" }),
    line(PANEL.left, FOOT, PANEL.right, FOOT, "hydra-base"), line(PANEL.left, FOOT - TALL, PANEL.left, FOOT, "hydra-base"),
    upright, ...marks.map(({ level }) => level), beyond, best, measured,
    ...marks.flatMap(({ here, there }) => [here, there]), handle,
    text(0, FOOT + 16, "key 1", "start"), text(xOf(-1), FOOT - TALL - 8, "key 2, E = −1", "middle"),
    text(LEFT + SIDE + 4, FOOT + 16, "key 3", "end"), text(xOf(-1), FOOT + 16, "mean energy U →", "middle"),
    text(0, FOOT + 32, "E = −2", "start"), text(LEFT + SIDE + 4, FOOT + 32, "E = 0", "end"),
    text(PANEL.left, FOOT + 16, "0", "middle"), end, title);

  // The point of the triangle that is nearest upright to where the pointer is.
  grab(handle, picture, (x, y) => {
    const U = Math.min(0, Math.max(-2, (2 * (x * WIDTH - LEFT)) / SIDE - 2));
    update(model, { U: rounded(U), along: rounded(alongOf(U, (FOOT - y * HEIGHT) / TALL)) });
  });

  const rows = table("Two with this mean energy", 2, 4, (i) => ["yours", "best"][i]);
  columnHeads(rows, "weights", ["key 1", "key 2", "key 3", "S"]);
  const heads = rows.root.querySelectorAll("th");
  rows.root.classList.add("hydra-rivals");
  const summary = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:3", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, measure.root),
    el("div", { class: "hydra-panels" },
      el("figure", { class: "hydra-plot hydra-simplex" }, picture),
      el("div", { class: "hydra-wide" }, rows.root, summary,
        el("div", { class: "hydra-controls" }, energy.root, along.root),
        el("p", { class: "hydra-note" },
          "Drag the point. All points on its vertical line have the same mean energy; the ring is the least committed, "
          + "and the curve joins all such rings, dashed where low energies have less weight. Grey: equally uncommitted. "
          + "On the right of the triangle: how uncommitted, at the same height."))),
  );

  let drawn; // the measure that the contours and the curve were drawn for
  return follow(model, ["U", "along", "measure"], () => {
    const [U, share, key] = ["U", "along", "measure"].map((name) => model.get(name));
    const { of, best: bestOf, most } = MEASURES[key];
    const name = NAMES[key];
    if (key !== drawn) {
      drawn = key;
      contours.forEach((one, i) =>
        one.setAttribute("points", joined(contour(key, (most * (i + 1)) / (CONTOURS + 1), 120).map(place))));
      const path = (from) => joined(Array.from({ length: 101 }, (_, i) => place(bestOf(from + i / 100))));
      best.setAttribute("points", path(-2));
      beyond.setAttribute("points", path(-1));
      measure.set(key);
      say(end, name.end);
      say(title, name.axis);
      say(heads[4], name.sign);
      say(heads[6], name.best);
    }
    energy.set(U, brief(U));
    along.set(share, brief(share));
    const own = weightsAt(U, share);
    const rival = bestOf(U);
    const across = (p) => PANEL.left + ((PANEL.right - PANEL.left) * of(p)) / most;
    put(upright, { x1: xOf(U), x2: xOf(U), y1: yOf(1 - Math.abs(U + 1)) });
    measured.setAttribute("points", joined(Array.from({ length: 81 }, (_, i) => weightsAt(U, i / 80))
      .map((p) => [across(p), yOf(p[1])])));
    [rival, own].forEach((p, i) => {
      const [x, y] = place(p);
      put(marks[i].level, { x1: x, x2: across(p), y1: y, y2: y });
      put(marks[i].here, { cx: x, cy: y });
      put(marks[i].there, { cx: across(p), cy: y });
    });
    put(handle, { cx: xOf(U), cy: yOf(own[1]) });
    [own, rival].forEach((p, i) => {
      p.forEach((weight, j) => {
        say(rows.cells[i][j], weight.toFixed(3));
        heat(rows.cells[i][j], weight);
      });
      say(rows.cells[i][3], of(p).toFixed(3));
    });
    say(summary, told(U, name, of(own), of(rival), key === "entropy" ? temperatureOf(U) : null,
      Math.max(...own.map((weight, j) => Math.abs(weight - rival[j])))));
  });
}

/** The two in words; `apart` is how far the furthest of their weights are. */
function told(U, { sign, best }, own, most, tau, apart) {
  const whose = best + (U > -1 ? " (of the negated scores)" : "");
  const name = tau === null ? whose : `${whose} at τ = ${brief(tau)}`;
  // Of numbers that are shown the difference is theirs; one that they hide has digits of its own.
  const less = rounded(rounded(most) - rounded(own));
  return apart < 5e-3
    ? `You stand on ${name}: ${sign} = ${most.toFixed(3)}.`
    : `${name[0].toUpperCase()}${name.slice(1)} has ${sign} = ${most.toFixed(3)}, yours ${own.toFixed(3)}, `
      + `${less ? less.toFixed(3) : brief(most - own)} less.`;
}

export default { render, valid: withinLimits };
