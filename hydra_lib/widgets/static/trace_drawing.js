import { abreast, arc, LEAST, ribbons } from "./sentence.js";
import { brief, css, el, roving, say, svg, swatch, weight, whenWide } from "./ui.js";

const TALL = 90; // of the arcs, in the units of their picture
const EMPTY = "var(--page)"; // what is dashed ends below it
const NAMES = ["score", "scaled score", "masked score", "weight", "weight"];

/** The book's drawing of one row: dashed while there are only scores, then as wide as each weight. */
export function rowDrawing(words, values, choose) {
  const outputs = words.map(() => swatch(EMPTY));
  const buttons = words.map((word, i) => el("button", {
    type: "button", onclick: () => choose(i), onfocus: () => choose(i),
  }, word));
  const paints = values.map((value) => swatch(css(value)));
  const numbers = words.map(() => el("span", { class: "hydra-share", "aria-hidden": "true" }));
  const arcs = svg("svg", {
    viewBox: `0 0 ${100 * words.length} ${TALL}`, preserveAspectRatio: "none", class: "hydra-arcs", "aria-hidden": "true",
  });
  const label = el("span", { class: "hydra-label" });
  const rest = roving([buttons]);
  outputs.forEach((output, i) => output.addEventListener("click", () => choose(i)));
  const root = el("div", {
    class: "hydra-words", style: `--words:${words.length}`, role: "group", "aria-label": "The words: each is a row of scores",
  }, el("span", { class: "hydra-label" }, "output"), ...outputs, arcs, ...paints, ...buttons, ...numbers, label);

  let [unit, last] = [1, null];
  whenWide(arcs, 100 * words.length, (units) => {
    unit = units;
    if (last) draw(...last);
  });
  /** Row `i` after `step` steps; `lit` is a key that is pointed at, or null. */
  function draw(...said) {
    last = said;
    const [i, lit, step, { scores, scaled, masked, weights, output }] = said;
    const row = [scores, scaled, masked, weights, weights][step - 1][i];
    const known = step > 3;
    const drawn = (x) => (known ? x >= LEAST : x !== -Infinity);
    const pointing = lit !== null && drawn(row[lit]); // at an arc, and not where none is
    say(label, `value, word, ${NAMES[step - 1]} for “${words[i]}”`);
    const placed = known ? ribbons(row) : row.map(() => ({}));
    arcs.replaceChildren(...row.flatMap((x, j) => {
      if (!drawn(x)) return [];
      const { into, paint, edge } = placed[j];
      const path = (name, width) => svg("path", {
        d: arc(i, j, TALL, known ? unit * into : abreast(i, j)), class: name, "stroke-width": width.toFixed(2), "stroke-opacity": pointing && lit !== j ? 0.3 : 1,
        style: `--paint:${css(values[j])}`,
      });
      if (!known) return [path("hydra-unweighed", 1.5)];
      return pointing && lit !== j ? [path("hydra-paint", paint)] : [path("hydra-casing", edge), path("hydra-paint", paint)];
    }));
    words.forEach((word, j) => {
      buttons[j].setAttribute("aria-pressed", j === i);
      outputs[j].style.setProperty("--paint", step === 5 ? css(output[j]) : EMPTY);
      outputs[j].classList.toggle("hydra-on", j === i);
      paints[j].classList.toggle("hydra-on", j === lit);
      paints[j].classList.toggle("hydra-none", !drawn(row[j])); // as in the sentence
      say(numbers[j], known && row[j] % 1 ? weight(row[j]) : brief(row[j]));
      numbers[j].classList.toggle("hydra-on", j === lit);
    });
    rest(buttons[i]);
  }
  return { root, buttons, draw };
}
