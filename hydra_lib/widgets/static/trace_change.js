import { el, update } from "./ui.js";

const MOST = 9; // one digit, so that every step stays legible
const TRAITS = { q: "q", kT: "k" }; // the tables whose numbers may be changed, and where they stand
const STEP_OF = { "+": 1, "-": -1 }; // keys on a number

/** Buttons that change the number of Q or K that was chosen by one, and one that takes all changes back. */
export function changer(model) {
  const given = Object.fromEntries(Object.values(TRAITS).map((trait) => [trait, model.get(trait)]));
  let place; // of the number: its trait, row and column
  const number = () => model.get(place.trait)[place.row][place.column];
  const add = (step) => update(model, {
    [place.trait]: model.get(place.trait).map((row, i) => row.map((x, j) =>
      (i === place.row && j === place.column ? Math.min(MOST, Math.max(-MOST, x + step)) : x))),
  });
  const by = (step) => el("button", { type: "button", onclick: () => add(step) }, step < 0 ? "−1" : "+1");
  const [less, more] = [by(-1), by(1)];
  const reset = el("button", { type: "button", onclick: () => update(model, given) }, "reset");
  const root = el("div", { class: "hydra-buttons hydra-change", role: "group" }, less, more);
  const key = (event) => {
    const step = STEP_OF[event.key];
    if (!step || !place) return;
    event.preventDefault();
    add(step);
  };
  /** The number is at `i`, `j` of the table `name`, which may be one that is computed, or none. */
  const draw = ({ name, i, j }, label) => {
    place = Object.hasOwn(TRAITS, name)
      ? { trait: TRAITS[name], row: name === "kT" ? j : i, column: name === "kT" ? i : j } : null;
    const changed = Object.entries(given).some(([trait, own]) => JSON.stringify(own) !== JSON.stringify(model.get(trait)));
    root.setAttribute("aria-label", place ? `change ${label}` : "change a number");
    root.hidden = !place;
    less.disabled = !place || number() <= -MOST;
    more.disabled = !place || number() >= MOST;
    reset.classList.toggle("hydra-away", !changed);
  };
  return { root, reset, key, draw };
}
