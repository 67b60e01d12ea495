import {
  blockName, landingText, operationCounts, productTerms, productText, raised, signOf, spelled,
  tripleLoopCounts, writtenAdditions,
} from "./bilinear.js";
import { withinLimits } from "./limits.js";
import { choice, columnHeads, el, follow, number, slider, table, update } from "./ui.js";

const AUTHORS = { naive: "naive", strassen: "Strassen 1969", winograd: "Winograd's form" };
const QUANTITIES_COUNTED = ["multiplications", "additions", "together"];
const commas = (integer) => integer.toLocaleString("en");

function render({ model, el: root }) {
  const algorithms = model.get("algorithms");
  const chosen = () => algorithms[model.get("algorithm")];
  const current = () => Math.min(model.get("product"), chosen().U.length - 1);
  const go = (r) => {
    if (r >= 0 && r < chosen().U.length) update(model, { product: r });
  };
  const picker = choice("Algorithm", Object.entries(algorithms).map(([name, { U }]) =>
    [name, `${AUTHORS[name]}, ${U.length} products`]), (name) => {
    update(model, { algorithm: name, product: Math.min(model.get("product"), algorithms[name].U.length - 1) });
  });
  const stepper = slider("Product", { min: 1, max: 1 }, (value) => go(value - 1));
  const [previous, next] = [["previous", -1], ["next", 1]].map(([text, by]) =>
    el("button", { type: "button", onclick: () => go(current() + by) }, text));
  const depth = slider("Depth L", model.get("limits").levels, (value) => update(model, { levels: value }));

  const formula = el("p", { class: "hydra-formula" });
  const grids = Object.fromEntries([..."ABC"].map((letter) => [letter, blocks(letter)]));
  const summary = el("p", { class: "hydra-summary", style: "--narrow:3", "aria-live": "polite" });
  const level = el("p", { class: "hydra-note" });
  const counted = table("", 3, 2, (i) => QUANTITIES_COUNTED[i]);
  counted.root.classList.add("hydra-tally", "hydra-stacked");
  columnHeads(counted, "", ["chosen", "triple loop"]);
  const saving = el("p", { class: "hydra-summary hydra-saving", style: "--lines:2;--narrow:4", "aria-live": "polite" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, picker.root,
      el("div", {}, stepper.root, el("div", { class: "hydra-control hydra-stepping" }, previous, next))),
    formula,
    el("div", { class: "hydra-panels" }, ...Object.values(grids).map((grid) => grid.root)),
    summary,
    el("hr", { class: "hydra-divider" }),
    el("div", { class: "hydra-controls" }, depth.root),
    level, counted.root, saving,
  );

  return follow(model, ["algorithm", "product", "levels"], () => {
    const algorithm = chosen();
    const author = AUTHORS[model.get("algorithm")];
    const rank = algorithm.U.length;
    const r = current();
    picker.select.value = model.get("algorithm");
    stepper.input.max = rank;
    stepper.set(r + 1, `${r + 1} of ${rank}`);
    // A button that is disabled while it has the focus would lose it.
    previous.setAttribute("aria-disabled", r === 0);
    next.setAttribute("aria-disabled", r === rank - 1);

    formula.textContent = productText(algorithm, r);
    grids.A.draw(algorithm.U[r], (i, j) => [blockName("A", i, j)]);
    grids.B.draw(algorithm.V[r], (i, j) => [blockName("B", i, j)]);
    grids.C.draw(algorithm.W[r], (i, j) => [
      `${blockName("C", i, j)} =`,
      ...spelled(productTerms(algorithm, i, j)).flatMap(({ text, product }) =>
        [" ", el(product === r ? "strong" : "span", {}, text)]),
    ]);
    // A link may ask for the eighth product of an algorithm that has seven.
    const asked = model.get("product");
    summary.textContent = (asked > r ? `There is no product ${asked + 1} in ${author}. ` : "")
      + `Product ${r + 1} of ${rank} enters ${landingText(algorithm, r)}.`;

    const levels = model.get("levels");
    const { n, counts: loop } = tripleLoopCounts(levels);
    const counts = operationCounts(algorithm, levels);
    depth.set(levels);
    const total = (numbers) => numbers.reduce((a, b) => a + b);
    const [a, b, c] = algorithm.additions;
    const shared = total(writtenAdditions(algorithm)) - total(algorithm.additions);
    level.textContent = `Halved L times, down to 1 × 1. Each level takes ${rank} products of blocks and `
      + `${a} additions in A, ${b} in B and ${c} in C, ${a + b + c} in all`
      + (shared ? `, because a sum that comes up again is taken once; as written they are ${a + b + c + shared}.` : ".");
    counted.root.caption.textContent = `Operations on numbers, n = 2${raised(levels)} = ${commas(n)}`;
    counted.root.querySelector("thead th").textContent = author;
    [counts, loop].forEach((both, column) => [...both, total(both)].forEach((count, row) => {
      counted.cells[row][column].textContent = commas(count);
    }));
    saving.textContent = `Multiplications: ${commas(counts[0])} of the triple loop's ${commas(loop[0])}, `
      + `a share of (${rank}/8)${raised(levels)} = ${number(counts[0] / loop[0])}.`;
  });
}

/** A 2 × 2 grid of blocks; those that take part are shaded by their sign and carry it. */
function blocks(letter) {
  const { root, cells } = table(letter, 2, 2);
  root.classList.add("hydra-blocks");
  root.dataset.grid = letter;
  const draw = (coefficients, content) => cells.forEach((row, i) => row.forEach((cell, j) => {
    const sign = signOf(coefficients[i][j]);
    cell.className = { "+": "hydra-plus", "−": "hydra-minus" }[sign] ?? "";
    cell.replaceChildren(el("div", {},
      el("span", { class: "hydra-mark" }, sign), el("span", {}, ...content(i, j))));
  }));
  return { root, draw };
}

export default { render, valid: withinLimits };
