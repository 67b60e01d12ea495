// The model of hydra_lib/toy/model.py in double precision: attention layers on a residual path. No DOM.

const EPSILON = 1e-5; // as torch.nn.LayerNorm
const BASE = 10000;

/** Weights by name, out of `data`: all of them in the order of `shapes` ([name, shape]), each row by
 * row, in half precision: the high bytes of all, then the low ones, in base64. */
export function readModel({ n_heads: heads, shapes, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const count = bytes.length / 2;
  const model = { heads, layers: shapes.filter(([name]) => name.endsWith("W_q.weight")).length };
  let place = 0;
  for (const [name, shape] of shapes) {
    model[name] = Float64Array.from({ length: shape.reduce((a, b) => a * b) }, () => {
      place += 1;
      return fromHalf((bytes[place - 1] << 8) | bytes[count + place - 1]);
    });
  }
  model.width = model["norms.0.weight"].length;
  return model;
}

function fromHalf(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits >> 15 ? -size : size;
}

/** One document through the model, from the indices of its T symbols. `off` is {layer, head} whose
 * output becomes zeros on its way to W_o. Matrices are rows after rows:
 * weights[layer][head] (T, T), logits (T, symbols). */
export function forward(model, ids, off) {
  const T = ids.length;
  const { width, heads: h } = model;
  let x = new Float64Array(T * width);
  ids.forEach((id, t) => x.set(model["embed.weight"].subarray(id * width, (id + 1) * width), t * width));
  const weights = [];
  for (let layer = 0; layer < model.layers; layer++) {
    const y = norm(x, model, layer);
    const [q, k, v] = ["q", "k", "v"].map((name) => timesTransposed(y, model[`layers.${layer}.W_${name}.weight`], width));
    rotate(q, T, h);
    rotate(k, T, h);
    const merged = new Float64Array(T * width);
    const found = Array.from({ length: h }, (_, head) => attend(q, k, v, T, h, head));
    found.forEach(({ output }, head) => {
      if (off?.layer === layer && off.head === head) output.fill(0);
      const d = width / h;
      for (let t = 0; t < T; t++) merged.set(output.subarray(t * d, (t + 1) * d), t * width + head * d);
    });
    weights.push(found.map((one) => one.weights));
    const added = timesTransposed(merged, model[`layers.${layer}.W_o.weight`], width);
    x = x.map((value, n) => value + added[n]);
  }
  return { weights, logits: timesTransposed(norm(x, model, model.layers), model["unembed.weight"], width) };
}

/** x Wᵀ, both with rows of `width` numbers. */
function timesTransposed(x, W, width) {
  const [rows, columns] = [x.length / width, W.length / width];
  const product = new Float64Array(rows * columns);
  for (let t = 0; t < rows; t++) {
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      for (let n = 0, a = t * width, b = c * width; n < width; n++) sum += x[a + n] * W[b + n];
      product[t * columns + c] = sum;
    }
  }
  return product;
}

/** Each row with mean 0 and variance 1, then scaled and shifted by the norm's own weights. */
function norm(x, model, index) {
  const { width } = model;
  const [scale, shift] = [model[`norms.${index}.weight`], model[`norms.${index}.bias`]];
  const y = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    let [mean, variance] = [0, 0];
    for (let n = 0; n < width; n++) mean += x[start + n] / width;
    for (let n = 0; n < width; n++) variance += (x[start + n] - mean) ** 2 / width;
    const root = Math.sqrt(variance + EPSILON);
    for (let n = 0; n < width; n++) y[start + n] = ((x[start + n] - mean) / root) * scale[n] + shift[n];
  }
  return y;
}

/** Turn neighbouring pairs of every head by t · 10000^(−2i/d_k), in place. */
function rotate(x, T, h) {
  const width = x.length / T;
  const d = width / h;
  for (let i = 0; i < d; i += 2) {
    const speed = BASE ** (-i / d);
    for (let t = 0; t < T; t++) {
      const [cos, sin] = [Math.cos(t * speed), Math.sin(t * speed)];
      for (let n = t * width + i; n < (t + 1) * width; n += d) {
        const [a, b] = [x[n], x[n + 1]];
        x[n] = a * cos - b * sin;
        x[n + 1] = a * sin + b * cos;
      }
    }
  }
}

/** Causal attention of one head: its weights (T, T) and its output (T, d_k). */
function attend(q, k, v, T, h, head) {
  const width = q.length / T;
  const d = width / h;
  const weights = new Float64Array(T * T);
  const output = new Float64Array(T * d);
  const at = (t) => t * width + head * d;
  for (let i = 0; i < T; i++) {
    const row = weights.subarray(i * T, i * T + i + 1);
    let top = -Infinity;
    for (let j = 0; j <= i; j++) {
      let score = 0;
      for (let n = 0, a = at(i), b = at(j); n < d; n++) score += q[a + n] * k[b + n];
      row[j] = score / Math.sqrt(d);
      top = Math.max(top, row[j]);
    }
    softmax(row, top);
    for (let j = 0; j <= i; j++) {
      for (let n = 0, b = at(j); n < d; n++) output[i * d + n] += row[j] * v[b + n];
    }
  }
  return { weights, output };
}

function softmax(row, top) {
  let total = 0;
  for (let j = 0; j < row.length; j++) {
    row[j] = Math.exp(row[j] - top);
    total += row[j];
  }
  for (let j = 0; j < row.length; j++) row[j] /= total;
}

/** Probabilities of the symbol that follows position t. */
export function predict({ logits }, t, symbols) {
  const row = logits.slice(t * symbols, (t + 1) * symbols);
  softmax(row, Math.max(...row));
  return row;
}
