import { around, clearance, halfOf, inside, REACH } from "./arrow_names.js";
import { css, el, grab, put, say, svg } from "./ui.js";

const UNIT = 0.85; // of the plane: words are sums, and reach further than the arrows of features
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
 * told the number of a feature and where its arrow is to point, `pick` the number alone; `caption` is a list of nodes. */
export function featurePlane({ caption, features, words, values, turn, pick }) {
  const picture = svg("svg", { viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`, class: "hydra-plane", "aria-hidden": "true" });
  const turned = features.map((feature, f) => {
    const handle = svg("circle", { r: 0.55, class: "hydra-handle", onpointerdown: () => pick(f) });
    grab(handle, picture, (x, y) => turn(f, [2 * x - 1, 1 - 2 * y].map((share) => (share * REACH) / UNIT)));
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
  const handles = svg("g", {}, ...turned.map(({ handle }) => handle));
  picture.append(
    svg("line", { x1: -REACH, x2: REACH, class: "hydra-axle" }), svg("line", { y1: -REACH, y2: REACH, class: "hydra-axle" }),
    ...turned.map(({ line }) => line), query, chain, ...dots, ...turned.flatMap(({ tip, name }) => [tip, name]),
    ...names, handles,
  );
  const offsets = new Map(); // of names from their tips: one that can stays where it was

  /** `vectors` are those of the words, of which one is `shown`, the sum of its features `x`; `asked` is the query. */
  function draw({ arrows, vectors, shown, x, asked, chosen }) {
    const at = (vector) => vector.map((a) => UNIT * a);
    const most = REACH - 0.3; // a word that lies further out stands hollow at the edge
    const tips = arrows.map(at);
    const places = vectors.map((vector) => at(vector).map((a) => Math.min(most, Math.max(-most, a))));
    const [end, corners] = [at(asked), way(x, arrows).map(at)];
    put(query, { x2: end[0], y2: -end[1] });
    put(chain, { points: corners.map(([a, b]) => `${a},${-b}`).join(" ") });
    const mark = (point) => ({ at: point, wide: 0.2, tall: 0.45 });
    const marks = [...tips, ...places].map(mark);
    const taken = [mark([0, 0]), ...marks];
    for (const t of [0.3, 0.5, 0.7, 0.9]) taken.push({ at: end.map((a) => t * a), wide: 0, tall: 0.3 });
    /** Names of what the hand or the eye is at are never left out; of the others one without room is in the table. */
    const place = (name, tip, always = false) => {
      const half = halfOf(name.textContent);
      const [right, up] = offsets.get(name) ?? [0, 0];
      const held = [tip[0] + right, tip[1] + up];
      const spots = [...(offsets.has(name) && inside(held, half) ? [held] : []), ...around(tip, half)];
      const free = (spot) => clearance(spot, half, taken);
      const own = (spot) => clearance(spot, half, [mark(tip)]) <= clearance(spot, half, marks) + 0.2; // and nobody else's
      const spot = spots.find((one) => free(one) > 0 && own(one))
        ?? (always ? spots.reduce((best, one) => (free(one) > free(best) ? one : best), spots[0]) : null);
      name.classList.toggle("hydra-away", !spot);
      offsets.delete(name);
      if (!spot) return;
      offsets.set(name, [spot[0] - tip[0], spot[1] - tip[1]]);
      taken.push({ at: spot, wide: half, tall: 0.6 });
      put(name, { x: spot[0].toFixed(2), y: (-spot[1]).toFixed(2) });
    };
    turned.forEach(({ line, tip, handle }, f) => {
      const [a, b] = tips[f];
      put(line, { x2: a, y2: -b });
      put(tip, { x: a - KNOB, y: -b - KNOB });
      put(handle, { cx: a, cy: -b });
      tip.classList.toggle("hydra-on", f === chosen);
      // Where arrows lie on each other a hand gets hold of the chosen one.
      if (f === chosen && handles.lastChild !== handle) handles.append(handle);
    });
    // Words of the same features stand in the same place: one name says them all.
    const first = vectors.map((one) => vectors.findIndex((other) => other[0] === one[0] && other[1] === one[1]));
    dots.forEach((dot, j) => {
      put(dot, { cx: places[j][0], cy: -places[j][1] });
      dot.classList.toggle("hydra-on", j === shown);
      dot.classList.toggle("hydra-hollow", at(vectors[j]).some((a, axis) => a !== places[j][axis]));
      const alike = words.filter((_, other) => first[other] === j);
      const said = alike.length > 3 ? `${alike.length} words` : alike.join(", ");
      if (names[j].textContent !== said) offsets.delete(names[j]);
      say(names[j], said);
    });
    place(names[first[shown]], places[shown], true);
    if (chosen !== null) place(turned[chosen].name, tips[chosen], true);
    turned.forEach(({ name }, f) => f !== chosen && place(name, tips[f]));
    names.forEach((name, j) => j !== first[shown] && place(name, places[j]));
  }
  return { root: el("div", {}, el("p", { class: "hydra-note" }, ...caption), picture), draw };
}
