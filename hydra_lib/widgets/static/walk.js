// A setting that walks to its end by itself.
import { el, say, update } from "./ui.js";

/** A button that walks a setting, a step every so many milliseconds, at most one in a frame. Whatever else changes it,
 * or one of `others`, ends the walk. Who asked for less motion gets the end at once. */
export function walker(model, trait, { last, step = 1, pause = 0, go, others = [] }) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let running = 0; // the frame that is waited for
  const set = (value) => update(model, { [trait]: value });
  const now = () => JSON.stringify([trait, ...others].map((one) => model.get(one)));
  const atEnd = () => model.get(trait) === last;
  const tell = () => {
    say(button, running ? "stop" : atEnd() ? "begin again" : go);
    // Who listens hears where it ends, not each step.
    button.closest(".hydra")?.setAttribute("aria-busy", running > 0);
  };
  const halt = () => {
    cancelAnimationFrame(running);
    running = 0;
    tell();
  };
  const walk = (before, since) => {
    running = requestAnimationFrame((time) => {
      if (now() !== before || atEnd()) return halt();
      if (time - (since ?? time) < pause) return walk(before, since ?? time);
      set(model.get(trait) + step);
      walk(now());
    });
  };
  const button = el("button", { type: "button", class: "hydra-walk", onclick: () => {
    if (running) return halt();
    if (still.matches) return set(atEnd() ? 0 : last);
    if (atEnd()) set(0);
    walk(now());
    tell();
  } }, go);
  return { button, tell };
}
