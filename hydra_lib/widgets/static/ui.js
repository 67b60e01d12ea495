// What the widgets share: elements, one slider, one colour scale, one number format, one chart.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Four significant digits, a true minus sign, ∞ as a sign: the way the prose writes numbers. */
export function number(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "not a number" : x > 0 ? "∞" : "−∞";
  const text = x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5)
    ? x.toExponential(2)
    : String(Number(x.toPrecision(4)));
  return text.replaceAll("-", "−");
}

/** A labelled native range input. JupyterLab takes the arrow keys unless the input says no. */
export function slider(label, { min, max, step = 1 }, onInput) {
  const input = el("input", {
    type: "range", min, max, step, "data-lm-suppress-shortcuts": "true",
    oninput: () => onInput(input.valueAsNumber),
  });
  const output = el("output");
  const root = el("label", { class: "hydra-control" }, el("span", {}, label), input, output);
  const set = (value, text = number(value)) => {
    input.value = value;
    input.setAttribute("aria-valuetext", text);
    output.textContent = text;
  };
  return { root, input, set };
}

export function choice(label, options, onChange) {
  const select = el("select", { onchange: () => onChange(select.value) },
    ...options.map(([value, text, shownOnly = false]) =>
      el("option", { value, disabled: shownOnly }, text)));
  return { root: el("label", { class: "hydra-control" }, el("span", {}, label), select), select };
}

/** Background of a weight between 0 and 1; the table cell also prints the number. */
export function heat(weight) {
  return `--heat:${(100 * Math.min(1, Math.max(0, weight))).toFixed(1)}%`;
}

/** A captioned table of numbers. `cell(i, j)` gives `{text, style, label}`; returns the cells too. */
export function table(caption, rows, columns, rowHead) {
  const cells = [];
  const body = Array.from({ length: rows }, (_, i) => {
    cells.push(Array.from({ length: columns }, () => el("td")));
    return el("tr", {}, ...(rowHead ? [el("th", { scope: "row" }, rowHead(i))] : []), ...cells[i]);
  });
  const root = el("table", { class: "hydra-table" },
    el("caption", {}, caption), el("tbody", {}, ...body));
  return { root, cells, rows: body };
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Follow a model's traits: `draw` runs now and once a frame in which any of them changed. */
export function follow(model, names, draw) {
  let asked = 0;
  const later = () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  };
  for (const name of names) model.on(`change:${name}`, later);
  draw();
  return () => {
    cancelAnimationFrame(asked);
    for (const name of names) model.off(`change:${name}`, later);
  };
}

/** Whether a value is a non-empty matrix (rows of one length) whose entries all pass `entry`. */
export function isMatrix(value, entry) {
  return Array.isArray(value) && value.length > 0 && value.every((row) =>
    Array.isArray(row) && row.length > 0 && row.length === value[0].length && row.every(entry));
}

/** Change traits and tell everyone who shares the model. */
export function update(model, changes) {
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  model.save_changes();
}
