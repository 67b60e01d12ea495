import { around, clearance, halfOf, REACH } from "./arrow_names.js";
import { css, el, grab, put, say, svg } from "./ui.js";

const KNOB = 0.13; // half the side of the square that a hand takes

/** Where so much of each feature leads, one arrow after the other: every corner on the way, from 0 on.
 * @param {number[]} x @param {number[][]} arrows */
export function way(x, arrows) {
  const corners = [[0, 0]];
  x.forEach((share, f) => {
    if (share) corners.push(arrows[f].map((a, axis) => corners.at(-1)[axis] + share * a));
  });
  return corners;
}

/** A plane with an arrow for each feature, which a hand turns, and with the words that these arrows make. `turn` is
 * told the number of a feature and where its arrow is to point, `pick` the number alone. */
export function featurePlane({ caption, features, words, values, turn, pick }) {
  const picture = svg("svg", { viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`, class: "hydra-plane", "aria-hidden": "true" });
  const turned = features.map((feature, f) => {
    const handle = svg("circle", { r: 0.55, class: "hydra-handle" });
    handle.addEventListener("pointerdown", () => pick(f));
    grab(handle, picture, (x, y) => turn(f, [2 * REACH * x - REACH, REACH - 2 * REACH * y]));
    return {
      line: svg("line", { class: "hydra-key" }), handle,
      tip: svg("rect", { width: 2 * KNOB, height: 2 * KNOB, class: "hydra-square" }),
      name: svg("text", { class: "hydra-feature" }, feature),
    };
  });
  const query = svg("line", { class: "hydra-ask" });
  const chain = svg("polyline", { class: "hydra-shadow" });
  const dots = values.map((value) => svg("circle", { r: 0.28, class: "hydra-keys", style: `--paint:${css(value)}` }));
  const names = words.map(() => svg("text"));
  picture.append(
    svg("line", { x1: -REACH, x2: REACH, class: "hydra-axle" }), svg("line", { y1: -REACH, y2: REACH, class: "hydra-axle" }),
    ...turned.map(({ line }) => line), query, chain, ...dots, ...turned.flatMap(({ tip, name }) => [tip, name]),
    ...names, ...turned.map(({ handle }) => handle),
  );

  /** `vectors` are those of the words, of which one is `shown`, the sum of its features `x`; `asked` is the query. */
  function draw({ arrows, vectors, shown, x, asked, chosen }) {
    put(query, { x2: asked[0], y2: -asked[1] });
    put(chain, { points: way(x, arrows).map(([a, b]) => `${a},${-b}`).join(" ") });
    const taken = [...arrows, ...vectors].map((at) => ({ at, wide: 0.2, tall: 0.45 }));
    for (const t of [0.3, 0.5, 0.7, 0.9]) taken.push({ at: asked.map((a) => t * a), wide: 0, tall: 0.3 });
    const place = (name, at) => {
      const half = halfOf(name.textContent);
      const spot = around(at, half).find((one) => clearance(one, half, taken) > 0);
      name.classList.toggle("hydra-away", !spot); // what has no room stands in the table, too
      if (!spot) return;
      taken.push({ at: spot, wide: half, tall: 0.6 });
      put(name, { x: spot[0].toFixed(2), y: (-spot[1]).toFixed(2) });
    };
    turned.forEach(({ line, tip, handle }, f) => {
      const [a, b] = arrows[f];
      put(line, { x2: a, y2: -b });
      put(tip, { x: a - KNOB, y: -b - KNOB });
      put(handle, { cx: a, cy: -b });
      tip.classList.toggle("hydra-on", f === chosen);
    });
    dots.forEach((dot, j) => {
      const [a, b] = vectors[j];
      put(dot, { cx: a, cy: -b });
      dot.classList.toggle("hydra-on", j === shown);
      // Words of the same features stand in the same place: one name says them all.
      const alike = vectors.flatMap((other, at) => (other[0] === a && other[1] === b ? [at] : []));
      say(names[j], alike[0] === j ? alike.map((at) => words[at]).join(", ") : "");
    });
    place(names[shown], vectors[shown]); // its name comes first
    names.forEach((name, j) => j !== shown && place(name, vectors[j]));
    turned.forEach(({ name }, f) => place(name, arrows[f]));
  }
  return { root: el("div", {}, el("p", { class: "hydra-note" }, caption), picture), draw };
}
