import { borrowed, el, enable, update } from "./ui.js";

const MOST = 9; // one digit, so that every step stays legible
const TRAITS = { q: "q", kT: "k" }; // the tables whose numbers may be changed, and where they stand
const STEP_OF = { "+": 1, "-": -1 }; // keys on a number

/** Buttons that change the number of Q or K that is `chosen` by one, and one that takes all changes back. */
export function changer(model, chosen) {
  const given = Object.fromEntries(Object.values(TRAITS).map((trait) => [trait, model.get(trait)]));
  /** Where the number stands: its trait, row and column. None, if it is one that is computed. */
  const place = () => {
    const { name, i, j } = chosen();
    const [row, column] = name === "kT" ? [j, i] : [i, j];
    return Object.hasOwn(TRAITS, name) ? { trait: TRAITS[name], row, column } : null;
  };
  const add = (step) => {
    const { trait, row, column } = place();
    const changed = model.get(trait).map((numbers) => [...numbers]);
    changed[row][column] = Math.min(MOST, Math.max(-MOST, changed[row][column] + step));
    update(model, { [trait]: changed });
  };
  const by = (step) => el("button", { type: "button", onclick: () => add(step) }, step < 0 ? "−1" : "+1");
  const [less, more] = [by(-1), by(1)];
  const reset = el("button", { type: "button", onclick: () => update(model, given) }, "reset");
  const root = el("div", { class: "hydra-buttons hydra-change", role: "group" }, less, more);
  const key = (event) => {
    const step = STEP_OF[event.key];
    if (!step || !place() || borrowed(event)) return;
    event.preventDefault();
    add(step);
  };
  const draw = (label) => {
    const at = place();
    root.setAttribute("aria-label", `change ${label}`);
    root.hidden = !at;
    const number = at ? model.get(at.trait)[at.row][at.column] : 0;
    enable(less, number > -MOST); // beyond, a press changes nothing
    enable(more, number < MOST);
    reset.classList.toggle("hydra-away", Object.entries(given).every(([trait, own]) =>
      JSON.stringify(own) === JSON.stringify(model.get(trait))));
  };
  return { root, reset, key, draw };
}
