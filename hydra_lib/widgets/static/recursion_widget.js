import {
  AUTHORS, costRatio, kept, operationCounts, raised, total, tripleLoopCounts, writtenAdditions,
} from "./bilinear.js";
import { scale, ticks } from "./chart.js";
import { withinLimits } from "./limits.js";
import {
  brief, columnHeads, el, follow, grab, line, number, pills, put, say, slider, svg, table, text, update,
} from "./ui.js";

const QUANTITIES_COUNTED = ["multiplications", "additions", "cost"];
const DRAWN = 4; // halvings; of more, an eighth is smaller than a pixel
const [WIDTH, HEIGHT] = [340, 200];
const [LEFT, RIGHT, TOP, BOTTOM] = [38, WIDTH - 10, 8, HEIGHT - 22];
const commas = (x) => x.toLocaleString("en", { maximumFractionDigits: 2 });

function render({ model, el: root }) {
  const algorithms = model.get("algorithms");
  const deepest = model.get("limits").levels.max;
  const set = (trait) => (value) => update(model, { [trait]: value });
  const picker = pills("Algorithm", Object.keys(algorithms).map((name) => [name, AUTHORS[name]]), set("algorithm"));
  const depth = slider("Depth L", model.get("limits").levels, set("levels"));
  const { min, max } = model.get("limits").addition;
  const price = slider("An addition costs", { min, max, step: 0.25 }, set("addition"));
  const level = el("p", { class: "hydra-note hydra-held", style: "--lines:2;--narrow:5" });
  const eighths = work();
  const chart = costs(deepest, set("levels"));
  const counted = table("", 3, 2, (i) => QUANTITIES_COUNTED[i]);
  counted.root.classList.add("hydra-tally", "hydra-stacked");
  columnHeads(counted, "", ["chosen", "triple loop"]);
  const saving = el("p", { class: "hydra-summary hydra-saving", style: "--lines:8;--narrow:6", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, picker.root),
    el("div", { class: "hydra-controls" }, depth.root, price.root),
    el("div", { class: "hydra-panels" }, eighths.root, chart.root, saving),
    counted.root,
    level,
  );

  return follow(model, ["algorithm", "levels", "addition"], () => {
    const algorithm = algorithms[model.get("algorithm")];
    const author = AUTHORS[model.get("algorithm")];
    const rank = algorithm.U.length;
    picker.set(model.get("algorithm"));
    const levels = model.get("levels");
    const addition = model.get("addition");
    const { n, counts: loop } = tripleLoopCounts(levels);
    const counts = operationCounts(algorithm, levels);
    depth.set(levels);
    price.set(addition, `${number(addition)} mult.`);
    const [a, b, c] = algorithm.additions;
    const shared = total(writtenAdditions(algorithm)) - total(algorithm.additions);
    say(level, `The matrices are halved L times, down to single numbers`
      + `${levels > DRAWN ? ` (drawn: ${DRAWN} times)` : ""}. A level takes ${rank} products of blocks and `
      + `${a + b + c} additions, ${a} in A, ${b} in B and ${c} in C`
      + (shared ? `; as written ${a + b + c + shared}, but a sum that comes up again is taken once.` : "."));
    const share = counts[0] / loop[0];
    eighths.draw(rank, levels, share);
    const ratios = Array.from({ length: deepest + 1 }, (_, l) => costRatio(algorithm, l, addition));
    chart.draw(ratios, Array.from({ length: deepest + 1 }, (_, l) => costRatio(algorithm, l, 0)), levels);
    say(counted.root.caption, `Operations on numbers, n = 2${raised(levels)} = ${commas(n)}; `
      + `an addition costs ${number(addition)}`);
    say(counted.root.querySelector("thead th"), author);
    [counts, loop].forEach((both, column) =>
      [...both, both[0] + addition * both[1]].forEach((count, row) => {
        say(counted.cells[row][column], commas(count));
      }));
    const first = ratios.findIndex((ratio) => ratio < 1);
    say(saving, `Multiplications: ${commas(counts[0])} of the triple loop's ${commas(loop[0])}, `
      + `a share of (${rank}/8)${raised(levels)} = ${number(share)}. Cost: ${number(ratios[levels])} times the triple `
      + `loop's; ${first < 0 ? `at no depth up to ${deepest} is it less` : `less from L = ${first} on`}.`);
  });
}

/** The work that is left, as an area: of eight eighths, as many as there are products, level after level. */
function work() {
  const caption = el("figcaption", { style: "--lines:3" });
  const path = svg("path", { class: "hydra-work" });
  const root = el("figure", { class: "hydra-figure hydra-eighths" }, caption,
    svg("svg", { viewBox: "0 0 1 1", "aria-hidden": "true" }, svg("rect", { width: 1, height: 1, class: "hydra-saved" }), path));
  const draw = (rank, levels, share) => {
    const drawn = Math.min(levels, DRAWN);
    say(caption, `multiplications left: ${brief(100 * share)}\u00a0% of the square`
      + (levels > drawn ? "; pale: halved further" : ""));
    const gap = 0.004 * (levels > 0) * (drawn < 3);
    path.setAttribute("d", kept(rank, drawn).map(([x, y, w, h]) =>
      `M${x + gap} ${y + gap}h${w - 2 * gap}v${h - 2 * gap}h${2 * gap - w}z`).join(""));
    path.style.fillOpacity = (rank / 8) ** (levels - drawn);
  };
  return { root, draw };
}

/** What the algorithm costs over what the triple loop does, by depth; dashed, its multiplications alone. */
function costs(deepest, choose) {
  const caption = el("figcaption", {}, "cost over the triple loop's, by depth L: drag the dot; dashed: multiplications alone");
  const drawn = svg("g");
  const dot = svg("circle", { class: "hydra-dot", r: 6 });
  const handle = svg("circle", { class: "hydra-handle", r: 22 });
  const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, drawn, dot, handle);
  const root = el("figure", { class: "hydra-figure hydra-plot hydra-wide" }, caption, plot);
  const up = { low: 0.15, high: 4, log: true };
  const [x, y] = [scale({ low: 0, high: deepest }, LEFT, RIGHT), scale(up, BOTTOM, TOP)];
  const curve = (ratios, kind) => svg("polyline", {
    class: kind, points: ratios.map((ratio, l) => `${x(l).toFixed(1)},${y(ratio).toFixed(1)}`).join(" "),
  });
  grab(handle, plot, (across) => {
    const level = Math.round((deepest * (across * WIDTH - LEFT)) / (RIGHT - LEFT));
    choose(Math.min(deepest, Math.max(0, level)));
  });
  const draw = (ratios, products, levels) => {
    drawn.replaceChildren(
      ...ticks(up, 5).flatMap((ratio) => [
        line(LEFT, y(ratio), RIGHT, y(ratio), ratio === 1 ? "hydra-base" : "hydra-grid"),
        text(LEFT - 10, y(ratio) + 4, ratio, "end")]),
      ...ratios.map((_, l) => (l % 2 ? "" : text(x(l), BOTTOM + 15, l, "middle"))),
      text(RIGHT, TOP + 8, "costs more than the triple loop", "end"),
      text(LEFT + 6, BOTTOM - 5, "costs less", "start"),
      curve(products, "hydra-rule hydra-open"), curve(ratios, "hydra-line"),
    );
    for (const one of [dot, handle]) put(one, { cx: x(levels), cy: y(ratios[levels]) });
  };
  return { root, draw };
}

export default { render, valid: withinLimits };
