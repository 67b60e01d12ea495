// What the widgets share: elements, controls, tables, handles, one colour scale, and how numbers are written.

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export const el = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** The text of an element. The node that holds it stays: a new one would be styled and laid out anew. */
export function say(node, words) {
  const held = node.firstChild;
  if (held?.nodeType !== Node.TEXT_NODE || held.nextSibling) node.textContent = words;
  else if (held.data !== String(words)) held.data = words;
}

/** Four significant digits, a true minus sign, ∞ as a sign: the way the prose writes numbers. */
export function number(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "not a number" : x > 0 ? "∞" : "−∞";
  const text = x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5)
    ? x.toExponential(2)
    : String(Number(x.toPrecision(4)));
  return text.replaceAll("-", "−");
}

/** The same with three digits, for where the eye compares. */
export const brief = (x) => number(Number(x.toPrecision(3)));

/** A weight to the thousandth; one that is none of them, and not nothing, says so. */
export const weight = (p) => (p > 0 && p < 5e-4 ? "<.001" : p.toFixed(3));

/** Large numbers have a comma for each thousand, and may be typed so. */
export const grouped = (x) => x.toLocaleString("en");
export const ungrouped = (text) => (/^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(text.trim()) ? text.replaceAll(",", "") : text);

/** One decimal; what rounds to nothing has no sign. */
export const tenths = (x) => (x === -Infinity ? "−∞" : x.toFixed(1).replace(/^-0\.0$/, "0.0").replace("-", "−"));

/** a, b and c. */
export const listed = (items) => new Intl.ListFormat("en-GB").format(items.map(String));

/** What floating point leaves of a sum that is 0 is 0. */
export const tidy = (x) => Math.round(x * 1e9) / 1e9 + 0;

/** A colour as three numbers, to the hundredth. */
export const vector = (xs) => `(${xs.map((x) => x.toFixed(2).replace(/^0/, "")).join(", ")})`;

const FINE = 40; // steps of a slider from which on a phone gives it a line of its own
/** A labelled native range input; the label is a text or nodes. JupyterLab takes the arrow keys unless the input says no. */
export function slider(label, { min, max, step = 1 }, onInput) {
  let before;
  const input = el("input", {
    type: "range", min, max, step, "data-lm-suppress-shortcuts": "true",
    oninput: () => onInput(input.valueAsNumber),
    // A finger that scrolls the page may have begun on it: what it changed is taken back.
    onpointerdown: () => { before = input.value; },
    onpointercancel: () => {
      if (input.value === before) return;
      input.value = before;
      onInput(input.valueAsNumber);
    },
  });
  const output = el("output", { "aria-live": "off" }); // a slider says its value itself
  const fine = (max - min) / step > FINE ? " hydra-fine" : "";
  const root = el("label", { class: `hydra-control${fine}` }, el("span", {}, ...[label].flat()), input, output);
  const set = (value, text = number(value)) => {
    input.value = value;
    input.setAttribute("aria-valuetext", text);
    say(output, text);
  };
  return { root, input, set };
}

export function choice(label, options, onChange) {
  const select = el("select", { "data-lm-suppress-shortcuts": "true", onchange: () => onChange(select.value) },
    ...options.map(([value, text, shownOnly = false]) =>
      el("option", { value, disabled: shownOnly }, text)));
  return { root: el("label", { class: "hydra-control" }, el("span", {}, label), select), select };
}

const PILLS = Symbol.for("hydra.pills"); // each set has a name of its own in the page, whichever module made it
/** One of a few, all of them in sight: native radio buttons. */
export function pills(label, options, onChange) {
  globalThis[PILLS] = (globalThis[PILLS] ?? 0) + 1;
  const name = `pills ${globalThis[PILLS]}`;
  const inputs = options.map(([value]) => el("input", {
    type: "radio", name, value, "data-lm-suppress-shortcuts": "true", onchange: () => onChange(value),
  }));
  const root = el("fieldset", { class: "hydra-pills" }, el("legend", {}, label),
    ...inputs.map((input, at) => el("label", {}, input, el("span", {}, options[at][1]))));
  const set = (value) => inputs.forEach((input) => {
    input.checked = input.value === value;
  });
  return { root, inputs, set };
}

/** A choice between the page's own value and named sets; what is none of them is the reader's own. */
export function setChoice(label, given, sets, onChange) {
  const names = Object.keys(sets);
  const { root, select } = choice(label, [["", "as given"], ...names.map((name) => [name, name]), ["own", "your own", true]],
    (name) => onChange(sets[name] ?? given));
  const set = (value) => {
    const is = (other) => JSON.stringify(other) === JSON.stringify(value);
    select.value = is(given) ? "" : names.find((name) => is(sets[name])) ?? "own";
  };
  return { root, set };
}

export function checkbox(label, onChange) {
  const input = el("input", { type: "checkbox", onchange: () => onChange(input.checked) });
  return { root: el("label", { class: "hydra-control hydra-check" }, input, el("span", {}, label)), input };
}

/** A labelled field for typing. `read` turns the text into a value or throws what is wrong with it. */
export function field(label, read, onValue) {
  const problem = el("span", { class: "hydra-problem", role: "alert" });
  const tell = (message) => {
    input.setAttribute("aria-invalid", message !== "");
    say(problem, message);
  };
  let typing = false; // from the first letter until it is taken
  let held = "";
  const input = el("input", {
    type: "text", size: 7, "data-lm-suppress-shortcuts": "true",
    oninput: () => { typing = true; },
    onchange: () => take(),
    onblur: () => { // what was typed and taken back, letter by letter, brings no change event
      if (!typing) return;
      typing = false;
      input.value = held;
    },
    // JupyterLab keeps Enter from ending the line, and with it the change event.
    onkeydown: (event) => event.key === "Enter" && take(),
  });
  const take = () => {
    if (!typing) return; // what stands there was made short: read again, it would be another number
    typing = false;
    let value;
    try {
      value = read(input.value);
    } catch (error) {
      tell(error.message);
      return;
    }
    tell("");
    onValue(value);
  };
  const root = el("label", { class: "hydra-control" }, el("span", {}, label), input, problem);
  const set = (text) => {
    const same = text === held;
    held = text;
    // A picture drawn meanwhile takes no letter from under the hand, and no reason why one was refused.
    if (typing || (same && problem.textContent !== "")) return;
    tell(""); // whatever was typed wrong is over once the value is set in another way
    input.value = text;
  };
  return { root, input, set };
}

/** A colour of the book's sentence, three numbers from 0 to 1, as CSS has it. */
export const css = (colour) => `rgb(${colour.map((x) => Math.round(255 * x)).join(" ")})`;

/** The colour of one of `n` heads or ranks, the same in every widget. */
export const hue = (i, n) => `--hue:${Math.round((360 * i) / n + 200) % 360}`;

/** A dot of paint: `--paint` says which. */
export function swatch(paint) {
  return el("span", { class: "hydra-swatch", style: `--paint:${paint}`, "aria-hidden": "true" });
}

/** Shades an element by a weight between 0 and 1; a table's cell also prints the number. */
export function heat(node, weight) {
  node.classList.add("hydra-heat");
  node.style.setProperty("--heat", `${(100 * Math.min(1, Math.max(0, weight))).toFixed(1)}%`);
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

/** Heads over the columns of a table, each a text or nodes; `corner` stands over its row heads. */
export function columnHeads({ root }, corner, heads) {
  root.createTHead().append(el("tr", {}, ...[corner, ...heads].map((head) =>
    (head === "" ? el("td") : el("th", { scope: "col" }, ...[head].flat())))));
}

/** Whether a key is the browser's or the system's own: a page back, the end of the page, a larger type. */
export const borrowed = (event) => event.altKey || event.ctrlKey || event.metaKey;

const STEPS_OF_KEY = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The nearest button of the next line up or down, where a page has broken a row into lines. */
function beyond(button, row, way) {
  const at = (one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const [x, y] = at(button);
  const far = (one) => [way * (at(one)[1] - y), Math.abs(at(one)[0] - x)];
  return row.filter((one) => far(one)[0] > button.offsetHeight / 2)
    .sort((a, b) => Math.round(far(a)[0] - far(b)[0]) || far(a)[1] - far(b)[1])[0];
}

/** One tab stop for a grid of buttons; arrow keys move inside it. Returns what moves the tab stop. */
export function roving(rows) {
  let stop = rows[0][0];
  const rest = (button) => {
    stop.tabIndex = -1;
    stop = button;
    stop.tabIndex = 0;
  };
  rows.forEach((row, i) => row.forEach((button, j) => {
    button.tabIndex = -1;
    button.setAttribute("data-lm-suppress-shortcuts", "true");
    button.addEventListener("focus", () => rest(button));
    button.addEventListener("keydown", (event) => {
      const step = STEPS_OF_KEY[event.key];
      const end = { Home: row[0], End: row.at(-1) }[event.key];
      if (borrowed(event) || (!step && !end)) return;
      event.preventDefault();
      event.stopPropagation();
      const next = end ?? (rows.length === 1 && step[0] ? beyond(button, row, step[0]) : rows[i + step[0]]?.[j + step[1]]);
      next?.focus();
    });
  }));
  rest(stop);
  return rest;
}

export const line = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });
export const text = (x, y, words, anchor, more = {}) => svg("text", { x, y, "text-anchor": anchor, ...more }, words);

/** Several attributes at once. One that stays is left alone: a drawing lays out anew whatever is set. */
export const put = (node, attributes) =>
  Object.entries(attributes).forEach(([name, value]) => {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  });

/**
 * A handle to drag over a picture: `move(x, y)` gets where the pointer is, in shares of its width and height.
 * One that only goes `sideways` leaves to the page a finger that starts up or down.
 */
export function grab(handle, picture, move, sideways = false) {
  // Inside a drawing touch-action is not heeded: a finger on the handle would scroll the page.
  let start;
  handle.addEventListener("touchstart", (event) => {
    start = sideways && event.touches[0];
    if (!sideways) event.preventDefault();
  }, { passive: false });
  handle.addEventListener("touchmove", (event) => {
    const { clientX, clientY } = event.touches[0];
    if (start && Math.abs(clientY - start.clientY) > Math.abs(clientX - start.clientX)) return;
    start = false;
    event.preventDefault();
  }, { passive: false });
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId) || (start && event.pointerType === "touch")) return;
    const box = picture.getBoundingClientRect();
    move((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height, event);
  });
}

/** Where a handle is let go the mouse happens to be: until it moves, the answer is yes. */
export function droppedBy(handles) {
  let letGo = false;
  for (const handle of handles) {
    handle.addEventListener("lostpointercapture", ({ pointerType }) => {
      if (pointerType === "touch") return; // a finger that is lifted points nowhere
      letGo = true;
      document.addEventListener("pointermove", () => { letGo = false; }, { once: true });
    });
  }
  return () => letGo;
}

/** Tell `draw`, now and whenever it changes, how many units of a picture make a pixel across; `width` of them are its own. */
export function whenWide(picture, width, draw) {
  new ResizeObserver(([{ contentRect }]) => contentRect.width && draw(width / contentRect.width)).observe(picture);
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

/** Whether a button acts. `disabled` would take the focus from under a key: what it calls must ask by itself. */
export const enable = (button, on) => button.setAttribute("aria-disabled", !on);

/** Change traits and tell everyone who shares the model. */
export function update(model, changes) {
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  model.save_changes();
}
