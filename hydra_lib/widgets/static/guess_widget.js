import { withinLimits } from "./limits.js";
import { three } from "./records.js";
import { el, follow, grouped, pills, say, update } from "./ui.js";

const THUMB = 20; // pixels, 1.25rem in ui.css
const lengthsOf = (factors) => [...new Set(factors.flatMap(({ times }) => Object.keys(times)))]
  .map(Number).sort((a, b) => a - b);
const short = (factor) => `${grouped(factor >= 10 ? Math.round(factor) : Number(factor.toPrecision(2)))} ×`;

function render({ model, el: root }) {
  const factors = model.get("factors");
  const kernels = factors.map(({ kernel }) => kernel);
  const measured = lengthsOf(factors);
  const reference = model.get("reference");
  const { min, max } = model.get("limits").guesses;
  const [low, high] = [min, max].map(Math.log10);
  /** Where a factor stands on the axis, in percent. */
  const at = (factor) => (100 * (Math.log10(factor) - low)) / (high - low);
  const lengths = pills("Tokens T", measured.map((T) => [String(T), grouped(T)]),
    (T) => update(model, { T: Number(T) }));
  /** The place of the length that is shown, among all. */
  const place = () => measured.indexOf(model.get("T"));
  const button = el("button", {
    type: "button",
    onclick: () => update(model, { looked: model.get("looked").map((seen, l) => (l === place() ? !seen : seen)) }),
  });
  const rows = kernels.map((kernel, i) => {
    const guess = () => {
      const [at, factor] = [place(), Number((10 ** input.valueAsNumber).toPrecision(3))];
      update(model, {
        guesses: model.get("guesses").map((row, l) => row.map((old, k) => (l === at && k === i ? factor : old))),
      });
    };
    let before, untouched;
    const input = el("input", {
      type: "range", min: low, max: high, step: 0.05, "data-lm-suppress-shortcuts": "true",
      oninput: guess,
      onpointerdown: () => { [before, untouched] = [input.value, model.get("guesses")]; },
      // A finger that scrolls the page may have begun on a mark: that was no guess.
      onpointercancel: () => {
        before = undefined;
        update(model, { guesses: untouched });
      },
      // A press on a mark that stays says that it belongs there; a finger's may end without a click. Of a finger's
      // presses only those on the mark are the input's own: one elsewhere on the track is handed on by the label, as is
      // one on the name, which is no guess.
      onpointerup: () => { if (input.value === before) guess(); },
      onclick: ({ clientX, clientY }) => {
        const pressed = before;
        before = undefined;
        const { left, right, top, bottom, width } = input.getBoundingClientRect();
        const within = clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
        if (pressed === undefined ? !within : input.value !== pressed) return;
        if (pressed === undefined) input.value = low + (high - low) * ((clientX - left - THUMB / 2) / (width - THUMB));
        guess();
      },
    });
    const truth = el("div", { class: "hydra-truth", "aria-hidden": "true" });
    const said = el("b");
    const own = el("small", {});
    const label = el("label", {}, el("span", {}, kernel), el("div", { class: "hydra-track" }, truth, input));
    return { input, truth, said, own, root: el("div", { class: "hydra-guess" }, label, el("div", {}, said, own)) };
  });
  const unit = el("div", { class: "hydra-guess", "aria-hidden": "true" },
    el("div", {}, el("span", {}, reference), el("div", { class: "hydra-track" })), el("div", {}, el("b", {}, "1 ×"), el("small")));
  const decades = Array.from({ length: Math.round(high - low) + 1 }, (_, i) => 10 ** (low + i));
  const mark = (where, text) => el("span", { style: `--at:${where}%` }, text);
  const axis = el("div", { class: "hydra-guess", "aria-hidden": "true" }, el("div", {}, el("span"),
    el("div", { class: "hydra-track hydra-decades" }, ...decades.map((factor) =>
      mark(at(factor), factor < 1000 ? factor : `${factor / 1000}k`))),
    el("span"), el("div", { class: "hydra-track hydra-decades" }, mark(at(1), "← faster | slower →"))));
  const summary = el("p", { class: "hydra-summary", style: "--lines:2;--narrow:5", role: "status" });
  const board = el("div", { class: "hydra-guesses-made", style: `--decades:${decades.length - 1};--one:${at(1)}%` },
    ...rows.map((row) => row.root), unit, axis);
  const prompt = el("span", {}, "Drag each mark to your guess.");
  root.classList.add("hydra");
  root.append(
    lengths.root,
    el("p", { class: "hydra-note hydra-apart" }, `How many times as long as ${reference} does each take? `, prompt),
    board,
    el("div", { class: "hydra-buttons" }, button),
    summary,
    el("p", { class: "hydra-note hydra-apart" }, model.get("about")),
  );

  return follow(model, ["guesses", "T", "looked"], () => {
    const looked = model.get("looked")[place()];
    const T = model.get("T");
    lengths.set(String(T));
    say(button, looked ? "cover again" : "look");
    board.classList.toggle("hydra-covered", !looked);
    const known = factors.map(({ times }) => times[T] ?? null);
    const guesses = model.get("guesses")[place()];
    prompt.classList.toggle("hydra-away", looked);
    rows.forEach(({ input, truth, said, own }, i) => {
      const guess = guesses[i];
      input.value = Math.log10(guess ?? 1);
      input.setAttribute("aria-valuetext", guess === null ? "no guess yet" : `${short(guess)} as long`);
      input.hidden = known[i] === null || (looked && guess === null);
      input.disabled = looked || input.hidden; // who has looked guesses no more
      truth.hidden = !looked || known[i] === null;
      if (!truth.hidden) {
        const ends = [at(1), at(known[i])];
        truth.style = `--from:${Math.min(...ends)}%;--to:${Math.max(...ends)}%`;
      }
      say(said, known[i] === null ? "not run" : looked ? `${three(known[i])} ×` : guess === null ? "?" : short(guess));
      say(own, looked && guess !== null && known[i] !== null ? ` you: ${short(guess)}` : "");
    });
    say(summary, looked ? told(kernels, known, guesses, reference, T)
      : "Covered: the measured times. All of these compute the same numbers from the same q, k and v.");
  });
}

/** What was measured, and which guess is farthest from it, both ways by their ratio. */
function told(kernels, known, guesses, reference, T) {
  const shown = kernels.map((kernel, i) => ({ kernel, factor: known[i], guess: guesses[i] }))
    .filter(({ factor }) => factor !== null);
  const [slowest, fastest] = [-1, 1].map((way) =>
    shown.reduce((best, one) => (way * one.factor < way * best.factor ? one : best)));
  const off = ({ factor, guess }) => (guess === null ? 0 : Math.max(factor / guess, guess / factor));
  const worst = shown.reduce((best, one) => (off(one) > off(best) ? one : best));
  return `At T = ${grouped(T)}, ${slowest.kernel}: ${three(slowest.factor)} times as long as `
    + reference + (fastest === slowest ? ". " : `; ${fastest.kernel}: ${three(fastest.factor)} times. `)
    + (worst.guess === null ? "You made no guess for this length."
      : `Farthest off is the guess for ${worst.kernel}, by a factor of ${three(off(worst))}.`);
}

/** A link may ask for a guess for each length and kernel, and for a length that was measured. */
function valid(trait, value, state) {
  if (!withinLimits(trait, value, state)) return false;
  const measured = lengthsOf(state.factors);
  if (trait === "looked") return value.length === measured.length;
  if (trait === "guesses") return value.length === measured.length && value[0].length === state.factors.length;
  return trait !== "T" || measured.includes(value);
}

export default { render, valid };
