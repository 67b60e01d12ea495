import { withinLimits } from "./limits.js";
import { sweep, tilesOf } from "./tiles.js";
import { brief, columnHeads, css, el, follow, say, slider, swatch, table, tenths, update } from "./ui.js";

function render({ model, el: root }) {
  const words = model.get("words");
  const values = model.get("values");
  const scores = model.get("scores");
  const n = words.length;
  const block = slider("Tile side", { min: 1, max: n }, (value) =>
    update(model, { block: value, step: Math.min(model.get("step"), tilesOf(n, value).length) }));
  const step = slider("Tiles done", { min: 0, max: 1 }, (value) => update(model, { step: value }));
  const next = el("button", {
    type: "button",
    onclick: () => update(model, { step: (model.get("step") + 1) % (tilesOf(n, model.get("block")).length + 1) }),
  }, "next tile");
  const board = table("scores, computed a tile at a time; then a row's maximum m, sum l, and its mixture so far",
    n, n + 3, (i) => words[i]);
  columnHeads(board, "", [...words.map((word, j) => [el("span", { class: "hydra-aside" }, word), swatch(css(values[j]))]), "m", "l", "mix"]);
  board.root.classList.add("hydra-dense", "hydra-mixing", "hydra-tiles");
  const mixes = board.cells.map((cells) => cells[n + 2].appendChild(swatch(css([0, 0, 0]))));
  const summary = el("p", { class: "hydra-summary", style: "--lines:4;--narrow:7", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, block.root, step.root, next),
    el("div", { class: "hydra-panels" }, board.root, summary),
  );

  return follow(model, ["block", "step"], () => {
    const side = model.get("block");
    const tiles = tilesOf(n, side);
    const done = Math.min(model.get("step"), tiles.length);
    const rows = sweep(scores, values, tiles, done);
    block.set(side, `${side} × ${side}`);
    step.input.max = tiles.length;
    step.set(done, `${done} of ${tiles.length}`);
    say(next, done === tiles.length ? "from the start" : "next tile");
    const now = done > 0 ? tiles[done - 1] : null;
    const order = Array.from({ length: n }, () => Array(n).fill(Infinity));
    tiles.forEach((tile, at) => tile.rows.forEach((i) => tile.columns.forEach((j) => {
      order[i][j] = at;
    })));
    board.cells.forEach((cells, i) => {
      for (let j = 0; j < n; j += 1) {
        const here = order[i][j] === done - 1;
        cells[j].className = order[i][j] === Infinity ? "hydra-skipped"
          : here ? "hydra-now" : order[i][j] < done ? "hydra-gone" : "";
        say(cells[j], here && j <= i ? tenths(scores[i][j]) : here ? "−∞" : "");
      }
      const { m, l, o } = rows[i];
      const begun = m > -Infinity;
      say(cells[n], begun ? tenths(m) : "");
      say(cells[n + 1], begun ? l.toFixed(2) : "");
      mixes[i].style.setProperty("--paint", begun ? css(o.map((x) => x / l)) : "transparent");
    });
    summary.replaceChildren(...told(now, rows, side, tiles));
  });

  /** What the last tile did to its last row, and what lies in memory. */
  function told(now, rows, side, tiles) {
    const whole = Math.ceil(n / side) ** 2;
    const held = side === 1 ? "1 score" : `${side ** 2} scores`;
    const skipped = whole - tiles.length;
    const memory = `${held} in memory at once where the whole matrix has ${n ** 2}`
      + (skipped ? `; of ${whole} tiles the ${skipped === 1 ? "one in the future is" : `${skipped} in the future are`} never computed.` : ".");
    if (!now) return [memory];
    const i = now.rows.at(-1);
    const { scale, l, m } = rows[i];
    const kept = scale === 1 ? "the maximum stayed, so nothing is rescaled" : `the maximum rose to ${tenths(m)}, so the older l and o are multiplied by ${brief(scale)}`;
    const part = now.columns[0] === 0 ? "its first tile" : kept;
    return ["Row “", el("strong", {}, words[i]), `”: ${part}. Its mixture is o / l, with l at ${brief(l)}. `, el("br"), memory];
  }
}

export default { render, valid: withinLimits };
