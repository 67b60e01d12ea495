import { boltzmann } from "./boltzmann.js";
import { withinLimits } from "./limits.js";
import { unrelated } from "./scaling.js";
import {
  brief, columnHeads, el, follow, grab, line, put, say, slider, svg, table, text, update, weight,
} from "./ui.js";

const [FIELD_WIDTH, FIELD_HEIGHT, FIELDS_LEFT] = [36, 20, 44];
const [BAR_WIDTH, BAR_HEIGHT, THINNEST] = [480, 34, 1];
const KINDS = ["scores", "scores / √dₖ"]; // whose weights are drawn

function render({ model, el: root }) {
  const { d_k: { options: widths }, n: { options: lengths } } = model.get("limits");
  const right = FIELDS_LEFT + FIELD_WIDTH * widths.length;
  const foot = 8 + FIELD_HEIGHT * lengths.length;
  const [pictureWidth, pictureHeight] = [right + 6, foot + 38];
  const xOf = (d) => FIELDS_LEFT + FIELD_WIDTH * (Math.log2(d / widths[0]) + 0.5);
  const yOf = (n) => foot - FIELD_HEIGHT * (Math.log2(n / lengths[0]) + 0.5);

  const size = slider("Width dₖ", { min: 0, max: widths.length - 1 }, (i) => update(model, { d_k: widths[i] }));
  const length = slider("Keys n", { min: 0, max: lengths.length - 1 }, (i) => update(model, { n: lengths[i] }));
  const again = el("button", {
    type: "button", onclick: () => update(model, { seed: (model.get("seed") + 1) % 2 ** 32 }),
  }, "draw again");

  const most = Math.log2(lengths.at(-1));
  const fields = lengths.flatMap((n, i) => widths.map((d, j) => {
    const used = model.get("keys_in_use")[i][j];
    return svg("rect", {
      x: xOf(d) - FIELD_WIDTH / 2, y: yOf(n) - FIELD_HEIGHT / 2, width: FIELD_WIDTH, height: FIELD_HEIGHT,
      "fill-opacity": (Math.log2(used) / most).toFixed(3), onclick: () => update(model, { d_k: d, n }),
    });
  }));
  const frozen = Array.from({ length: 81 }, (_, i) => lengths[0] * (lengths.at(-1) / lengths[0]) ** (i / 80))
    .map((n) => `${xOf(2 * Math.log(n)).toFixed(1)},${yOf(n).toFixed(1)}`).join(" ");
  const path = line(0, 0, 0, 0, "hydra-solid");
  const [there, here] = ["hydra-ring", "hydra-dot"].map((kind) => svg("circle", { r: 6, class: kind }));
  const name = text(xOf(2 * Math.log(lengths.at(-1))) + 6, yOf(lengths.at(-1)) + 4, "dₖ = 2 ln n", "start");
  const divided = text(0, 0, "÷ √dₖ", "middle");
  const handle = svg("circle", { r: 22, class: "hydra-handle" });
  const picture = svg("svg", { viewBox: `0 0 ${pictureWidth} ${pictureHeight}`, "aria-hidden": "true" },
    svg("g", { class: "hydra-fields" }, ...fields),
    svg("polyline", { class: "hydra-line", points: frozen }),
    name,
    ...widths.filter((_, i) => i % 2 === 0).map((d) => text(xOf(d), foot + 15, d, "middle")),
    ...lengths.filter((_, i) => i % 3 === 0).map((n) => text(FIELDS_LEFT - 6, yOf(n) + 4, n, "end")),
    text((FIELDS_LEFT + right) / 2, foot + 32, "width dₖ →", "middle"), text(2, 18, "n ↑", "start"),
    path, divided, there, here, handle);

  const nearest = (options, position) => options[Math.min(options.length - 1, Math.max(0, Math.round(position)))];
  grab(handle, picture, (x, y) => update(model, {
    d_k: nearest(widths, (x * pictureWidth - FIELDS_LEFT) / FIELD_WIDTH - 0.5),
    n: nearest(lengths, (foot - y * pictureHeight) / FIELD_HEIGHT - 0.5),
  }));

  const bars = KINDS.map(bar);
  const rows = table("This row", KINDS.length, 2, (i) => KINDS[i]);
  columnHeads(rows, "weights of", ["keys in use", "largest"]);
  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:4", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, size.root, length.root, el("div", { class: "hydra-buttons" }, again)),
    el("p", { class: "hydra-note" }, "Drag the point. The stronger a cell's colour, the more keys a row there has in use. In the bars a stripe is a key, "
      + "the largest weight first; those too thin to see are one piece at the end."),
    el("div", { class: "hydra-panels" },
      el("figure", { class: "hydra-plot hydra-phases" }, picture),
      el("div", { class: "hydra-wide" }, ...bars.map((one) => one.root), rows.root, summary)),
  );

  return follow(model, ["d_k", "n", "seed"], () => {
    const [d, n] = [model.get("d_k"), model.get("n")];
    size.set(widths.indexOf(d), String(d));
    length.set(lengths.indexOf(n), String(n));
    const [x, left, y] = [xOf(d), xOf(1), yOf(n)];
    for (const one of [here, handle]) put(one, { cx: x, cy: y });
    put(there, { cx: left, cy: y });
    put(path, { x1: x, x2: left, y1: y, y2: y });
    put(divided, { x: (x + left) / 2, y: y - 6 });
    divided.classList.toggle("hydra-unseen", d < 4);
    name.classList.toggle("hydra-unseen", n === lengths.at(-1)); // the path would strike it through

    const scores = unrelated(n, model.get("seed"));
    const used = [1 / Math.sqrt(d), 1].map((tau, i) => {
      const { p, S } = boltzmann(scores, tau);
      bars[i].draw(p);
      say(rows.cells[i][0], `${brief(Math.exp(S))} of ${n}`);
      say(rows.cells[i][1], weight(p[0]));
      return brief(Math.exp(S));
    });
    const side = d > 2 * Math.log(n) ? "right of" : "left of";
    say(summary, `At width ${d}, ${side} the line, this row uses ${used[0]} of ${n} keys. `
      + `With its scores divided by √dₖ it uses ${used[1]}.`);
  });
}

/** The weights of a row end to end, the largest first; the thin ones are one piece together. */
function bar(name) {
  const pieces = svg("g", {});
  const root = el("figure", { class: "hydra-figure hydra-weights" }, el("figcaption", {}, `weights of ${name}`),
    svg("svg", { viewBox: `0 0 ${BAR_WIDTH} ${BAR_HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, pieces));
  const draw = (weights) => {
    let x = 0;
    const thick = weights.filter((p) => p * BAR_WIDTH >= THINNEST);
    const widths = thick.map((p) => p * BAR_WIDTH);
    pieces.replaceChildren(...widths.map((width, i) => {
      const piece = svg("rect", { x, width, height: BAR_HEIGHT, class: i % 2 ? "hydra-odd" : "hydra-even" });
      x += width;
      return piece;
    }), svg("rect", { x, width: Math.max(0, BAR_WIDTH - x), height: BAR_HEIGHT, class: "hydra-thin" }));
  };
  return { root, draw };
}

export default { render, valid: withinLimits };
