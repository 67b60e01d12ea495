import { elementAt, offset, slice, stages } from "./strides.js";
import { checkbox, el, follow, hue, listed, say, slider, update } from "./ui.js";

// Order of the axes in each stage: head i, position t, component c.
const AXES = { view: "tic", transpose: "itc", contiguous: "itc", wrong: "itc" };
const TITLES = {
  view: "view(T, h, d_k)",
  transpose: "transpose → (h, T, d_k)",
  contiguous: "contiguous",
  wrong: "wrong: view(h, T, d_k)",
};
const INDEX = { i: ["Head i", "head"], t: ["Position t", "position"], c: ["Component c", "component"] };

function render({ model, el: root }) {
  const sliders = Object.fromEntries(Object.entries(INDEX).map(([axis, [name, trait]]) =>
    [axis, slider(name, { min: 0, max: 1 }, (value) => update(model, { [trait]: value }))]));
  const wrong = checkbox("wrong reshape", (value) => update(model, { wrong: value }));
  const legend = el("div", { class: "hydra-strip", "aria-hidden": "true" });
  const panels = Object.fromEntries(Object.keys(TITLES).map((stage) => [stage, panel(stage)]));
  const summary = el("p", { class: "hydra-summary", style: "--lines:3;--narrow:7", role: "status" });
  root.classList.add("hydra");
  root.append(
    el("div", { class: "hydra-controls" }, ...Object.values(sliders).map((s) => s.root), wrong.root),
    el("p", { class: "hydra-note" }, "One sequence (batch 1), everything counted from 0. The cells are memory, in "
      + "order; each number says where it lay in x, its colour which head it belongs to. Underlined: what the stage "
      + "calls head i. Press a number to follow it."),
    legend, ...Object.values(panels).map((p) => p.root), summary,
  );

  return follow(model, ["T", "n_heads", "head_dim", "head", "position", "component", "wrong"], () => {
    const [T, h, d] = [model.get("T"), model.get("n_heads"), model.get("head_dim")];
    const sizes = { i: h, t: T, c: d };
    const index = {};
    for (const [axis, size] of Object.entries(sizes)) {
      index[axis] = Math.min(model.get(INDEX[axis][1]), size - 1);
      sliders[axis].input.max = size - 1;
      sliders[axis].set(index[axis]);
    }
    wrong.input.checked = model.get("wrong");
    // One in the other's place, and of its height, so that nothing below them moves.
    panels.contiguous.root.hidden = model.get("wrong");
    panels.wrong.root.hidden = !model.get("wrong");
    legend.replaceChildren(...Array.from({ length: h }, (_, i) =>
      el("span", { style: hue(i, h) }, `head ${i}`)));

    const all = stages(T, h, d);
    const places = Object.fromEntries(Object.entries(all).map(([stage, layout]) =>
      [stage, panels[stage].draw(layout, index, h, d, (at) =>
        update(model, Object.fromEntries(Object.entries(at).map(([axis, value]) => [INDEX[axis][1], value]))))]));
    const copied = all.contiguous !== all.transpose;
    say(summary, `Head ${index.i} of token ${index.t}, component ${index.c}, lies at address `
      + `${places.view} before and after the transpose: nothing moved. `
      + (model.get("wrong") ? diagnosis(all.wrong, places.wrong, index, h, d)
        : copied ? `contiguous wrote a copy, where it lies at ${places.contiguous}.`
          : "Its numbers lie in order already, so contiguous moves nothing either."));
  });
}

/** What the wrong view has at the same index, and whose numbers it calls one head. */
function diagnosis(layout, address, { i, t, c }, h, d) {
  const real = elementAt(address, h, d);
  const right = real.position === t && real.head === i && real.component === c;
  const tokens = [...new Set(slice(layout, 0, i).map((a) => elementAt(a, h, d).position))];
  return `At [${i}, ${t}, ${c}] the wrong view has `
    + (right ? "the same number" : `head ${real.head} of token ${real.position}, component ${real.component}`)
    + `; what it calls head ${i} `
    + `is made of token${tokens.length > 1 ? "s" : ""} ${listed(tokens)} alone.`;
}

/** One stage: its shape, strides, formula with numbers, and memory. */
function panel(stage) {
  const facts = el("div", { class: "hydra-facts" });
  const formula = el("div", { class: "hydra-facts" });
  const strip = el("div", { class: "hydra-strip", role: "img" });
  const root = el("section", { class: "hydra-stage", "data-stage": stage },
    el("div", { class: "hydra-title" }, TITLES[stage]), facts, formula, strip);
  let press; // a cell of memory: that element is then looked at
  strip.addEventListener("click", ({ target }) => target !== strip && press([...strip.children].indexOf(target)));
  const draw = (layout, index, h, d, choose) => {
    const { shape, strides, memory } = layout;
    const axes = [...AXES[stage]];
    press = (place) => {
      const [T, at] = [shape[axes.indexOf("t")], elementAt(memory[place], h, d)];
      choose(stage === "wrong" // there an address has another meaning
        ? { i: Math.floor(place / (T * d)), t: Math.floor(place / d) % T, c: place % d }
        : { i: at.head, t: at.position, c: at.component });
    };
    const address = offset(axes.map((axis) => index[axis]), strides);
    const own = new Set(slice(layout, axes.indexOf("i"), index.i));
    say(facts, `shape (${shape.join(", ")}), strides (${strides.join(", ")})`);
    say(formula, `offset = ${axes.map((axis, a) => `${axis}·${strides[a]}`).join(" + ")}`
      + ` = ${axes.map((axis, a) => `${index[axis]}·${strides[a]}`).join(" + ")} = ${address}`);
    strip.setAttribute("aria-label", `memory holds ${memory.join(", ")}`);
    strip.replaceChildren(...memory.map((number, place) => el("span", {
      style: hue(elementAt(number, h, d).head, h),
      class: `${place === address ? "hydra-framed" : ""} ${own.has(place) ? "hydra-own" : ""}`,
    }, number)));
    return address;
  };
  return { root, draw };
}

/** What a link may ask for; the sizes are the page's own. */
function valid(trait, value, { T, n_heads, head_dim }) {
  if (trait === "wrong") return typeof value === "boolean";
  const size = { head: n_heads, position: T, component: head_dim }[trait];
  return size !== undefined && Number.isInteger(value) && value >= 0 && value < size;
}

export default { render, valid };
