import {
  blockName, costRatio, kept, landingText, operationCounts, painted, productTerms, productText, raised,
  lowered, signOf, spelled, tripleLoopCounts, wanted, writtenAdditions,
} from "./bilinear.js";
import { scale, ticks } from "./chart.js";
import { withinLimits } from "./limits.js";
import { brief, columnHeads, el, follow, grab, line, number, pills, put, slider, svg, table, text, update } from "./ui.js";

const AUTHORS = { naive: "naive", strassen: "Strassen 1969", winograd: "Winograd's form" };
const QUANTITIES_COUNTED = ["multiplications", "additions", "cost"];
const PLACES = [[0, 0], [0, 1], [1, 0], [1, 1]];
const KINDS = { "": "", "+": "hydra-plus", "−": "hydra-minus" };
const DRAWN = 4; // halvings; of more, an eighth is smaller than a pixel
const [WIDTH, HEIGHT] = [340, 200];
const [LEFT, RIGHT, TOP, BOTTOM] = [34, WIDTH - 10, 8, HEIGHT - 22];
const commas = (x) => x.toLocaleString("en", { maximumFractionDigits: 2 });
const total = (numbers) => numbers.reduce((a, b) => a + b);

function render({ model, el: root }) {
  const algorithms = model.get("algorithms");
  const names = Object.keys(algorithms);
  const most = Math.max(...names.map((name) => algorithms[name].U.length));
  const deepest = model.get("limits").levels.max;
  const chosen = () => algorithms[model.get("algorithm")];
  const set = (trait) => (value) => update(model, { [trait]: value });
  const picker = pills("Algorithm", names.map((name) => [name, AUTHORS[name]]), (name) => {
    // What is painted to its end stays so.
    const [last, own] = [chosen(), algorithms[name]].map(({ U }) => U.length - 1);
    update(model, { algorithm: name, product: model.get("product") >= last ? own : Math.min(model.get("product"), own) });
  });
  const stepper = pills("Paint up to", Array.from({ length: most }, (_, r) => [String(r), `M${lowered(r + 1)}`]),
    (r) => update(model, { product: Number(r) }));
  const depth = slider("Depth L", model.get("limits").levels, set("levels"));
  const { min, max } = model.get("limits").addition;
  const price = slider("An addition costs", { min, max, step: 0.25 }, set("addition"));

  const formula = el("p", { class: "hydra-formula hydra-held", style: "--narrow:2" });
  const factors = [["A", "from A"], ["B", "× from B"], ["C", "→ into C"]].map(blocks);
  const results = PLACES.map(board);
  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:5", "aria-live": "polite" });
  const level = el("p", { class: "hydra-note hydra-held", style: "--lines:2;--narrow:5" });
  const eighths = work();
  const chart = costs(deepest, set("levels"));
  const counted = table("", 3, 2, (i) => QUANTITIES_COUNTED[i]);
  counted.root.classList.add("hydra-tally", "hydra-stacked");
  columnHeads(counted, "", ["chosen", "triple loop"]);
  const saving = el("p", { class: "hydra-summary hydra-saving", style: "--lines:8;--narrow:6", "aria-live": "polite" });
  root.classList.add("hydra");
  // A touch of the boards paints the next product; the buttons do the same for a keyboard.
  const boards = el("div", {
    class: "hydra-boards",
    onclick: () => set("product")((Math.min(model.get("product"), chosen().U.length - 1) + 1) % chosen().U.length),
  }, ...results.map((one) => one.root));
  root.append(
    el("div", { class: "hydra-painting" },
      el("div", {}, el("div", { class: "hydra-picker" }, picker.root, stepper.root), formula,
        el("div", { class: "hydra-blocks" }, ...factors.map((one) => one.root)), summary),
      boards),
    el("hr", { class: "hydra-divider" }),
    el("div", { class: "hydra-controls" }, depth.root, price.root),
    level,
    el("div", { class: "hydra-panels" }, eighths.root, chart.root, saving),
    counted.root,
  );

  return follow(model, ["algorithm", "product", "levels", "addition"], () => {
    const algorithm = chosen();
    const author = AUTHORS[model.get("algorithm")];
    const rank = algorithm.U.length;
    // A link may ask for the eighth product of an algorithm that has seven.
    const asked = model.get("product");
    const r = Math.min(asked, rank - 1);
    picker.set(model.get("algorithm"));
    stepper.set(String(r));
    stepper.inputs.forEach((input, product) => {
      input.parentElement.hidden = product >= rank;
    });

    formula.textContent = productText(algorithm, r);
    [algorithm.U[r], algorithm.V[r], algorithm.W[r]].forEach((signs, at) => factors[at].draw(signs));
    const found = PLACES.map(([i, j], at) => {
      const now = painted(algorithm, r, i, j).flat();
      const before = painted(algorithm, r - 1, i, j).flat();
      const goal = wanted(algorithm, i, j).flat();
      results[at].draw(now, before, goal, [`${blockName("C", i, j)} =`,
        ...spelled(productTerms(algorithm, i, j)).flatMap(({ text, product }) =>
          [" ", el(product <= r ? "strong" : "span", {}, text)])]);
      const count = (is) => now.filter((times, cell) => is(times, before[cell], goal[cell])).length;
      return [count((times, _, once) => once && times === once), count((times, _, once) => times && times !== once),
        count((times, then) => then && !times)];
    });
    const [right, strays, gone] = [0, 1, 2].map((kind) => total(found.map((counts) => counts[kind])));
    const needed = total(PLACES.map(([i, j]) => total(wanted(algorithm, i, j).flat())));
    summary.textContent = (asked > r ? `There is no product ${asked + 1} in ${author}. ` : "")
      + `Product ${r + 1} of ${rank} enters ${landingText(algorithm, r)}`
      + (gone ? `, where ${gone} ${gone === 1 ? "cell cancels. " : "cells cancel. "}` : ". ")
      + (right === needed && !strays ? `All ${needed} framed cells hold a +, and nothing else is left: C = AB.`
        : `So far ${right} of the ${needed} framed cells ${right === 1 ? "is" : "are"} right, `
          + `and ${strays} ${strays === 1 ? "stray has" : "strays have"} to cancel.`);

    const levels = model.get("levels");
    const addition = model.get("addition");
    const { n, counts: loop } = tripleLoopCounts(levels);
    const counts = operationCounts(algorithm, levels);
    depth.set(levels);
    price.set(addition, `${number(addition)} mult.`);
    const [a, b, c] = algorithm.additions;
    const shared = total(writtenAdditions(algorithm)) - total(algorithm.additions);
    level.textContent = `The matrices are halved L times, down to numbers. A level takes ${rank} products of blocks and `
      + `${a + b + c} additions, ${a} in A, ${b} in B and ${c} in C`
      + (shared ? `; as written ${a + b + c + shared}, but a sum that comes up again is taken once.` : ".");
    const share = counts[0] / loop[0];
    eighths.draw(rank, levels, share);
    const ratios = Array.from({ length: deepest + 1 }, (_, l) => costRatio(algorithm, l, addition));
    chart.draw(ratios, Array.from({ length: deepest + 1 }, (_, l) => costRatio(algorithm, l, 0)), levels);
    counted.root.caption.textContent = `Operations on numbers, n = 2${raised(levels)} = ${commas(n)}; `
      + `in the cost an addition counts ${number(addition)}`;
    counted.root.querySelector("thead th").textContent = author;
    [counts, loop].forEach((both, column) =>
      [...both, both[0] + addition * both[1]].forEach((count, row) => {
        counted.cells[row][column].textContent = commas(count);
      }));
    const first = ratios.findIndex((ratio) => ratio < 1);
    saving.textContent = `Multiplications: ${commas(counts[0])} of the triple loop's ${commas(loop[0])}, `
      + `a share of (${rank}/8)${raised(levels)} = ${number(share)}. Cost: ${number(ratios[levels])} times the triple `
      + `loop's; ${first < 0 ? `at no depth up to ${deepest} is it less` : `less from L = ${first} on`}.`;
  });
}

/** The quarters of a matrix; those that enter a product, or that it enters, have their signs. */
function blocks([letter, caption]) {
  const made = table(caption, 2, 2);
  made.root.classList.add("hydra-quarters");
  const draw = (signs) => PLACES.forEach(([i, j]) => {
    const sign = signOf(signs[i][j]);
    made.cells[i][j].textContent = sign + blockName(letter, i, j);
    made.cells[i][j].className = KINDS[sign];
  });
  return { root: made.root, draw };
}

/** Sixteen cells, one for each entry of A times one of B; in each, how often it is in a sum. */
function board() {
  const made = table("", 4, 4, (a) => blockName("A", ...PLACES[a]));
  columnHeads(made, "", PLACES.map((place) => blockName("B", ...place)));
  made.root.classList.add("hydra-board");
  const cells = made.cells.flat();
  /** What it holds now and held one product earlier; the `goal` is framed. */
  const draw = (now, before, goal, caption) => {
    made.root.caption.replaceChildren(...caption);
    cells.forEach((cell, at) => {
      const sign = signOf(now[at]);
      const fresh = now[at] !== before[at];
      cell.textContent = sign + (Math.abs(now[at]) > 1 ? Math.abs(now[at]) : "") || (fresh ? "0" : "");
      cell.className = [KINDS[sign], goal[at] && "hydra-wanted", fresh && "hydra-fresh"].filter(Boolean).join(" ");
    });
  };
  return { root: made.root, draw };
}

/** The work that is left, as an area: of eight eighths, as many as there are products, level after level. */
function work() {
  const caption = el("figcaption");
  const path = svg("path", { class: "hydra-work" });
  const root = el("figure", { class: "hydra-figure hydra-eighths" }, caption,
    svg("svg", { viewBox: "0 0 1 1", "aria-hidden": "true" }, svg("rect", { width: 1, height: 1, class: "hydra-saved" }), path));
  const draw = (rank, levels, share) => {
    const drawn = Math.min(levels, DRAWN);
    caption.textContent = `multiplications left: ${brief(100 * share)}\u00a0% of the square`;
    const gap = 0.004 * (levels > 0) * (drawn < 3);
    path.setAttribute("d", kept(rank, drawn).map(([x, y, w, h]) =>
      `M${x + gap} ${y + gap}h${w - 2 * gap}v${h - 2 * gap}h${2 * gap - w}z`).join(""));
    path.style.opacity = (rank / 8) ** (levels - drawn);
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
        text(LEFT - 6, y(ratio) + 4, ratio, "end")]),
      ...ratios.map((_, l) => (l % 2 ? "" : text(x(l), BOTTOM + 15, l, "middle"))),
      text(RIGHT, TOP + 8, "above 1: costs more than the triple loop", "end"),
      text(LEFT + 6, BOTTOM - 5, "below 1: costs less", "start"),
      curve(products, "hydra-rule hydra-open"), curve(ratios, "hydra-line"),
    );
    for (const one of [dot, handle]) put(one, { cx: x(levels), cy: y(ratios[levels]) });
  };
  return { root, draw };
}

export default { render, valid: withinLimits };
