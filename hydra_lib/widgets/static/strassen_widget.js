import {
  AUTHORS, blockName, history, landingText, lowered, painted, productTerms, productText, signOf, spelled, total, wanted,
} from "./bilinear.js";
import { withinLimits } from "./limits.js";
import { columnHeads, el, follow, pills, roving, say, table, update } from "./ui.js";

const PLACES = [[0, 0], [0, 1], [1, 0], [1, 1]];
const KINDS = { "": "", "+": "hydra-plus", "−": "hydra-minus" };

function render({ model, el: root }) {
  const algorithms = model.get("algorithms");
  const names = Object.keys(algorithms);
  const most = Math.max(...names.map((name) => algorithms[name].U.length));
  const chosen = () => algorithms[model.get("algorithm")];
  // A link may ask for the eighth product of an algorithm that has seven.
  const last = () => chosen().U.length - 1;
  const shown = () => Math.min(model.get("product"), last());
  const picker = pills("Algorithm", names.map((name) => [name, AUTHORS[name]]), (name) => {
    // What is painted to its end stays so.
    const own = algorithms[name].U.length - 1;
    update(model, { algorithm: name, product: shown() === last() ? own : Math.min(shown(), own) });
  });
  const stepper = pills("Paint up to", Array.from({ length: most }, (_, r) => [String(r), `M${lowered(r + 1)}`]),
    (r) => update(model, { product: Number(r) }));
  const next = el("button", {
    type: "button", onclick: () => update(model, { product: (shown() + 1) % (last() + 1) }),
  }, "next product");

  const formula = el("p", { class: "hydra-formula hydra-held", style: "--narrow:2" });
  const factors = [["A", "from A"], ["B", "× from B"], ["C", "→ into C"]].map(blocks);
  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:5", role: "status" });
  // What a mouse points at, and what a finger or a key has chosen: a board and two entries.
  let pointed;
  let pressed;
  const results = PLACES.map((_, at) => board(at, {
    point: (cell) => {
      pointed = cell;
      tell();
    },
    press: (cell) => {
      [pointed, pressed] = [undefined, cell];
      tell();
    },
    pressed: (cell) => JSON.stringify(cell) === JSON.stringify(pressed),
  }));
  roving([0, 1, 2, 3, 4, 5, 6, 7].map((row) => [0, 1].flatMap((right) =>
    results[2 * Math.floor(row / 4) + right].buttons[row % 4])));
  const told = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:3", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-groups" }, picker.root),
    el("div", { class: "hydra-groups" }, stepper.root),
    el("div", { class: "hydra-painting" },
      el("div", {}, formula, el("div", { class: "hydra-blocks" }, ...factors.map((one) => one.root)), summary, next),
      el("div", { class: "hydra-boards" }, ...results.map((one) => one.root),
        el("p", { class: "hydra-note" }, "framed: should hold a +; dashed: just changed; 0: just cancelled")),
      told),
  );

  /** Which products put the cell there that is pointed at or chosen. */
  function tell() {
    const cell = pointed ?? pressed;
    results.forEach((one, at) => one.light(cell?.at === at ? cell : undefined));
    const entered = cell ? history(chosen(), ...PLACES[cell.at], cell.a, cell.b) : [];
    stepper.inputs.forEach((input, r) => input.parentElement.classList.toggle("hydra-enters",
      entered.some(({ product }) => product === r)));
    if (!cell) {
      say(told, "Point at a cell, or press it: which products enter it?");
      return;
    }
    const { at, a, b } = cell;
    const [i, j] = PLACES[at];
    const [product, quarter] = [[["A", a], ["B", b]].map(([letter, of]) => blockName(letter, ...PLACES[of])).join("\u00a0"),
      blockName("C", i, j)];
    if (entered.length === 0) {
      say(told, `${product} is in none of the products that make ${quarter}.`);
      return;
    }
    told.replaceChildren(`${product} in ${quarter}: `,
      ...entered.flatMap(({ sign, product: r }, n) => [n ? ", " : "",
        el(r <= shown() ? "strong" : "span", {}, `${sign}\u00a0from\u00a0M${lowered(r + 1)}`)]),
      `; in the end ${wanted(chosen(), i, j)[a][b] ? "one +, as the frame asks" : "nothing is left"}.`);
  }

  return follow(model, ["algorithm", "product"], () => {
    const algorithm = chosen();
    const author = AUTHORS[model.get("algorithm")];
    const rank = algorithm.U.length;
    const asked = model.get("product");
    const r = shown();
    picker.set(model.get("algorithm"));
    stepper.set(String(r));
    stepper.inputs.forEach((input, product) => {
      input.parentElement.hidden = product >= rank;
    });
    say(next, r < last() ? "next product" : "begin again");

    say(formula, productText(algorithm, r));
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
    say(summary, (asked > r ? `There is no product ${asked + 1} in ${author}. ` : "")
      + `Product ${r + 1} of ${rank} enters ${landingText(algorithm, r)}`
      + (gone ? `, where ${gone} ${gone === 1 ? "cell cancels. " : "cells cancel. "}` : ". ")
      + (right === needed && !strays ? `All ${needed} framed cells hold a +, and nothing else is left: C = AB.`
        : `So far ${right} of the ${needed} framed cells ${right === 1 ? "is" : "are"} right, `
          + `and ${strays} ${strays === 1 ? "stray has" : "strays have"} to cancel.`));
    tell();
  });
}

/** The quarters of a matrix; those that enter a product, or that it enters, have their signs. */
function blocks([letter, caption]) {
  const made = table(caption, 2, 2);
  made.root.classList.add("hydra-quarters");
  const draw = (signs) => PLACES.forEach(([i, j]) => {
    const sign = signOf(signs[i][j]);
    say(made.cells[i][j], sign + blockName(letter, i, j));
    made.cells[i][j].className = KINDS[sign];
  });
  return { root: made.root, draw };
}

/** Sixteen cells, one for each entry of A times one of B; in each, how often it is in a sum. */
function board(at, { point, press, pressed }) {
  const [lower, right] = PLACES[at];
  // The heads of rows stand once, before the left boards.
  const made = table("", 4, 4, right ? undefined : (a) => blockName("A", ...PLACES[a]));
  const heads = [...(right ? [] : [""]), ...PLACES.map((place) => blockName("B", ...place))];
  columnHeads(made, heads[0], heads.slice(1));
  made.root.classList.add("hydra-board");
  const buttons = made.cells.map((row, a) => row.map((cell, b) => {
    let held; // since before this press, which then lets it go
    const button = el("button", {
      type: "button",
      onpointerdown: () => { held = pressed({ at, a, b }); },
      // A key has brought the focus, which presses: what it shows stays.
      onclick: ({ detail }) => press(detail > 0 && held ? undefined : { at, a, b }),
      onfocus: () => press({ at, a, b }),
      onpointerenter: ({ pointerType }) => pointerType !== "touch" && point({ at, a, b }),
      onpointerleave: () => point(undefined),
    });
    cell.append(button);
    return button;
  }));
  const flat = buttons.flat();
  /** What it holds now and held one product earlier; the `goal` is framed. */
  const draw = (now, before, goal, caption) => {
    made.root.caption.replaceChildren(...caption);
    flat.forEach((button, cell) => {
      const sign = signOf(now[cell]);
      const fresh = now[cell] !== before[cell];
      const [a, b] = [Math.floor(cell / 4), cell % 4];
      say(button, sign + (Math.abs(now[cell]) > 1 ? Math.abs(now[cell]) : "") || (fresh ? "0" : ""));
      button.setAttribute("aria-label", `${blockName("A", ...PLACES[a])} ${blockName("B", ...PLACES[b])} in `
        + `${blockName("C", lower, right)}${goal[cell] ? ", framed" : ""}: ${button.textContent || "0"}`);
      button.parentElement.className = [KINDS[sign], goal[cell] && "hydra-wanted", fresh && "hydra-fresh"]
        .filter(Boolean).join(" ");
    });
  };
  const light = (lit) => flat.forEach((button, cell) =>
    button.classList.toggle("hydra-asked", lit !== undefined && cell === 4 * lit.a + lit.b));
  return { root: made.root, buttons, draw, light };
}

export default { render, valid: withinLimits };
