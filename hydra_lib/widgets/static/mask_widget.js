import { withinLimits } from "./limits.js";
import { leaked, maskedSoftmax, masks } from "./masking.js";
import { choice, columnHeads, el, follow, heat, number, roving, say, setChoice, table, update } from "./ui.js";

function render({ model, el: root }) {
  const preset = choice("Mask", [["", "your own", true], ...Object.keys(masks).map((k) => [k, k])],
    (name) => name && update(model, { mask: masks[name](model.get("scores").length) }));
  const given = model.get("given");
  const zero = given.map((row) => row.map(() => 0));
  const kind = setChoice("Scores", given, { "all zero": zero }, (scores) => update(model, { scores }));
  const T = given.length;
  const toggles = table("scores: press to forbid or allow", T, T, (i) => i + 1);
  toggles.root.classList.add("hydra-toggles");
  const right = table("softmax with −∞", T, T + 1, (i) => i + 1);
  const wrong = table("softmax with 0 (wrong)", T, T + 1, (i) => i + 1);
  for (const { root: grid } of [toggles, right, wrong]) grid.classList.add("hydra-dense");
  for (const [target, last] of [[toggles], [right, "leak"], [wrong, "leak"]]) {
    columnHeads(target, "", [...Array.from({ length: T }, (_, j) => j + 1), ...(last ? [last] : [])]);
  }

  const paint = (places, allowed) => update(model, {
    mask: model.get("mask").map((r, a) => r.map((m, b) => (places.includes(buttons[a][b]) ? allowed : m))),
  });
  // What becomes of a score is seen in the same place of both results.
  const light = (row, column) => [right, wrong].forEach(({ cells }) => cells.forEach((all, i) =>
    all.forEach((cell, j) => cell.classList.toggle("hydra-source", i === row && j === column))));
  // A stroke gives every cell it meets what its first one becomes; without a stroke a click toggles.
  let stroke = null;
  const buttons = toggles.cells.map((cells, i) => cells.map((cell, j) => {
    const button = el("button", {
      type: "button", class: "hydra-toggle",
      onpointerenter: () => light(i, j), onfocus: () => light(i, j), onblur: () => light(),
      onpointerdown: (event) => {
        if (event.button !== 0) return;
        button.setPointerCapture(event.pointerId);
        const before = model.get("mask");
        stroke = { first: button, allowed: !before[i][j], painted: false, before, at: [event.clientX, event.clientY] };
      },
      // The finger turned out to scroll the page.
      onpointercancel: () => stroke?.painted && update(model, { mask: stroke.before }),
      onclick: (event) => {
        const ends = event.detail > 0 && stroke?.painted; // else a tap, or a key
        if (!ends) paint([button], !model.get("mask")[i][j]);
      },
    });
    cell.append(button);
    return button;
  }));
  roving(buttons);
  toggles.root.addEventListener("pointerleave", () => light());
  toggles.root.addEventListener("pointermove", (event) => {
    if (!stroke?.first.hasPointerCapture(event.pointerId)) return;
    const met = between(stroke.at, [event.clientX, event.clientY])
      .map(([x, y]) => toggles.root.getRootNode().elementFromPoint(x, y));
    stroke.at = [event.clientX, event.clientY];
    if (!stroke.painted && met.every((one) => one === stroke.first || !buttons.flat().includes(one))) return;
    stroke.painted = true;
    paint([stroke.first, ...met], stroke.allowed);
  });
  const summary = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:5", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, preset.root, kind.root),
    el("div", { class: "hydra-panels" }, el("div", { class: "hydra-break" }, toggles.root),
      right.root, wrong.root),
    summary,
  );

  return follow(model, ["mask", "scores"], () => {
    const mask = model.get("mask");
    const scores = model.get("scores");
    preset.select.value = Object.keys(masks)
      .find((k) => JSON.stringify(masks[k](T)) === JSON.stringify(mask)) ?? "";
    kind.set(scores);
    mask.forEach((row, i) => row.forEach((allowed, j) => {
      const button = buttons[i][j];
      button.setAttribute("aria-pressed", allowed);
      button.setAttribute("aria-label",
        `row ${i + 1} to column ${j + 1}: ${allowed ? "allowed" : "forbidden"}, score ${number(scores[i][j])}`);
      say(button, number(scores[i][j])); // struck out where it is forbidden
    }));
    const totals = [[right, -Infinity], [wrong, 0]].map(([target, fill]) => {
      const weights = maskedSoftmax(scores, mask, fill);
      const leaks = leaked(weights, mask);
      weights.forEach((row, i) => {
        row.forEach((w, j) => {
          const cell = target.cells[i][j];
          say(cell, w.toFixed(2));
          heat(cell, w);
          cell.classList.toggle("hydra-leak", !mask[i][j] && w > 0);
        });
        say(target.cells[i][T], leaks[i].toFixed(2));
      });
      return { leaks, empty: weights.filter((row) => row.every((w) => w === 0)).length };
    });
    const worst = Math.max(...totals[1].leaks);
    const { empty } = totals[0];
    say(summary, (mask.flat().every((allowed) => allowed) ? "Nothing is forbidden: both give the same."
      : `With −∞ the forbidden positions get ${number(Math.max(...totals[0].leaks))}; `
        + `with 0 (outlined) the leakiest row gives them ${worst < 0.005 ? "less than 0.01" : worst.toFixed(2)} of its weight.`)
      + (empty ? ` ${empty} row${empty > 1 ? "s have" : " has"} nothing to attend to: zeros.` : ""));
  });
}

/** Points on the way from one to another, near enough to meet every cell: a quick pointer skips some. */
function between([x, y], [endX, endY]) {
  const steps = Math.ceil(Math.hypot(endX - x, endY - y) / 8) || 1;
  return Array.from({ length: steps }, (_, i) =>
    [x + (endX - x) * (i + 1) / steps, y + (endY - y) * (i + 1) / steps]);
}

/** What a link may ask for; the size of the page's own scores cannot change. */
function valid(trait, value, initial) {
  const T = initial.scores.length;
  return withinLimits(trait, value, initial) && value.length === T && value[0].length === T;
}

export default { render, valid };
