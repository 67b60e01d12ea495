import { around, clearance, halfOf, REACH } from "./arrow_names.js";
import { dot } from "./sentence.js";
import { brief, choice, css, droppedBy, el, grab, put, say, slider, svg, tidy, update } from "./ui.js";

/** The plane in which the arrows of queries and keys are turned by hand; `look` is told which key is pointed at. */
export function plane(model, words, values, look) {
  const n = words.length;
  const given = { q: model.get("q"), k: model.get("k") };
  let head = 0;
  let word = model.get("word");
  let lit = null; // the key that is pointed at, here or elsewhere
  let chosen = "query";
  const rowOf = (vector) => head * n + (vector === "query" ? word : Number(vector));
  const traitOf = (vector) => (vector === "query" ? "q" : "k");
  const move = (vector, arrow) => {
    const [trait, row] = [traitOf(vector), rowOf(vector)];
    const inside = arrow.map((x) => Math.round(10 * Math.min(4, Math.max(-4, x))) / 10);
    update(model, { [trait]: model.get(trait).map((old, i) => (i === row ? inside : old)) });
  };
  const pick = choice("Arrow", [["query", "query"], ...words.map((word, j) => [String(j), `key of ${word}`])], (value) => {
    chosen = value;
    draw();
  });
  const axes = ["x", "y"].map((axis, c) => slider(axis, { min: -4, max: 4, step: 0.1 }, (value) => {
    const arrow = [...model.get(traitOf(chosen))[rowOf(chosen)]];
    arrow[c] = value;
    move(chosen, arrow);
  }));
  const picture = svg("svg", { viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`, class: "hydra-plane", "aria-hidden": "true" });
  const arrows = Object.fromEntries([...words.map((_, j) => String(j)), "query"].map((vector) => {
    const isQuery = vector === "query";
    const parts = {
      line: svg("line", { class: isQuery ? "hydra-ask" : "hydra-key" }),
      tip: svg("circle", { r: isQuery ? 0.24 : 0.2, class: isQuery ? "hydra-asks" : "hydra-keys" }),
      name: svg("text"),
      handle: svg("circle", { r: 0.55, class: "hydra-handle" }),
    };
    if (!isQuery) parts.tip.setAttribute("style", `--paint:${css(values[Number(vector)])}`);
    parts.handle.addEventListener("pointerdown", () => {
      chosen = vector;
      draw();
    });
    parts.handle.addEventListener("pointerenter", () => look(isQuery ? null : Number(vector)));
    grab(parts.handle, picture, (x, y) => move(vector, [2 * REACH * x - REACH, REACH - 2 * REACH * y]));
    return [vector, parts];
  }));
  // What the dot product measures: how far along the query a key reaches, times the query's length.
  const shadow = svg("line", { class: "hydra-shadow" });
  const reach = svg("line", { class: "hydra-key hydra-faint" }); // the query's line as far as the key reaches, which may be beyond it
  picture.append(
    svg("line", { x1: -REACH, x2: REACH, class: "hydra-axle" }), svg("line", { y1: -REACH, y2: REACH, class: "hydra-axle" }),
    shadow, reach, ...["line", "tip", "name", "handle"].flatMap((part) => Object.values(arrows).map((arrow) => arrow[part])),
  );
  const forbidden = (j) => model.get("future") === "masked" && j > word;
  /** The score of what is pointed at; else of the chosen key, or of the one that the query meets best. */
  function told() {
    const query = model.get("q")[rowOf("query")];
    const keys = model.get("k").slice(head * n, (head + 1) * n);
    const scores = keys.map((key) => dot(query, key));
    const best = Math.max(...scores.filter((_, at) => !forbidden(at)));
    const j = lit ?? (chosen === "query" ? scores.indexOf(best) : Number(chosen));
    const along = scores[j] / (dot(query, query) || 1);
    put(reach, { x2: along * query[0], y2: -along * query[1] });
    put(shadow, { x1: keys[j][0], y1: -keys[j][1], x2: along * query[0], y2: -along * query[1] });
    const [[a, b], [c, d]] = [query, keys[j]].map((arrow) => arrow.map((x) => (x < 0 ? `(${brief(x)})` : brief(x))));
    return `Score of ${words[word]} · ${words[j]}: ${a} × ${c} + ${b} × ${d} = ${brief(tidy(scores[j]))}; `
      + `over √2: ${brief(tidy(scores[j] / Math.SQRT2))}.`
      + (forbidden(j) ? ` “${words[j]}” is a later word, which “${words[word]}” may not see.` : "");
  }
  function draw() {
    say(score, told());
    pick.select.value = chosen;
    say(pick.select.options[0], `query of ${words[word]}`);
    const [x, y] = model.get(traitOf(chosen))[rowOf(chosen)];
    axes[0].set(x);
    axes[1].set(y);
    const taken = []; // by names and tips
    // What names of keys make way for: the knob of the query, and its line.
    const query = model.get(traitOf("query"))[rowOf("query")];
    const asked = [1, 0.9, 0.7, 0.5, 0.3].map((t) => ({ at: query.map((x) => t * x), wide: t < 1 ? 0 : 0.4, tall: t < 1 ? 0.4 : 0.65 }));
    for (const [vector, { line, tip, name, handle }] of Object.entries(arrows)) {
      const arrow = model.get(traitOf(vector))[rowOf(vector)];
      put(line, { x2: arrow[0], y2: -arrow[1] });
      for (const mark of [tip, handle]) put(mark, { cx: arrow[0], cy: -arrow[1] });
      tip.classList.toggle("hydra-on", vector === chosen);
      for (const mark of [line, tip, name]) {
        mark.classList.toggle("hydra-faint", vector !== "query" && forbidden(Number(vector)));
      }
      say(name, vector === "query" ? `${words[word]} asks` : words[Number(vector)]);
      const half = halfOf(name.textContent);
      const spots = around(arrow, half);
      // The keys have their names by now: that of the query stands where it covers none of them, nor its own line.
      if (vector === "query") taken.push(...[0.5, 0.7, 0.9].map((t) => ({ at: arrow.map((x) => t * x), wide: 0, tall: 0.4 })));
      const free = (spot) => clearance(spot, half, taken);
      const [right, up] = vector === "query"
        ? spots.find((spot) => free(spot) > 0) ?? spots.reduce((best, spot) => (free(spot) > free(best) ? spot : best))
        : spots.find((spot) => free(spot) > 0 && clearance(spot, half, asked) >= 0) ?? spots[0];
      taken.push({ at: [right, up], wide: half, tall: 0.7 }, { at: arrow, wide: 0.2, tall: 0.5 });
      put(name, { x: right.toFixed(2), y: (-up).toFixed(2) });
    }
  }
  function reset() {
    chosen = "query";
    update(model, given);
    draw();
  }
  const score = el("p", { class: "hydra-note hydra-held", style: "--lines:3" });
  const root = el("div", { class: "hydra-arrows" },
    el("p", { class: "hydra-note" }, "Drag an arrow: a key that points the query's way scores high. Faint: later words."),
    picture, score, pick.root, ...axes.map((axis) => axis.root),
    el("div", { class: "hydra-buttons" }, el("button", { type: "button", onclick: reset }, "reset")));
  return {
    root, dropped: droppedBy(Object.values(arrows).map(({ handle }) => handle)),
    draw: (own, row, column) => {
      [head, word, lit] = [own, row, column];
      draw();
    },
  };
}
