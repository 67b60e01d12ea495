// Shapes, strides and addresses, as torch has them. No DOM.

/** Strides of a tensor whose numbers lie in order without gaps. */
export function packed(shape) {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
}

export function offset(index, strides) {
  return index.reduce((total, i, axis) => total + i * strides[axis], 0);
}

/** Whether the numbers lie in order; an axis of length 1 is never stepped along. */
export function isPacked(shape, strides) {
  return packed(shape).every((stride, axis) => shape[axis] === 1 || stride === strides[axis]);
}

/** Addresses of all elements, the last index running fastest. */
export function addresses(shape, strides) {
  const walk = (axis, base) => (axis === shape.length ? [base]
    : Array.from({ length: shape[axis] }, (_, i) => walk(axis + 1, base + i * strides[axis])).flat());
  return walk(0, 0);
}

/** x (T, h·d_k) cut into heads: its view, the transpose, the packed copy, and the wrong view.
 * `memory` holds at each address the number that lies there; x itself counts 0, 1, 2 … */
export function stages(T, h, d) {
  const memory = Array.from({ length: T * h * d }, (_, n) => n);
  const view = { shape: [T, h, d], strides: packed([T, h, d]), memory };
  const [t, i, c] = view.strides;
  const transpose = { shape: [h, T, d], strides: [i, t, c], memory };
  // contiguous() hands back what is packed already, and copies the rest.
  const contiguous = isPacked(transpose.shape, transpose.strides) ? transpose : {
    shape: transpose.shape,
    strides: packed(transpose.shape),
    memory: addresses(transpose.shape, transpose.strides),
  };
  const wrong = { shape: [h, T, d], strides: packed([h, T, d]), memory };
  return { view, transpose, contiguous, wrong };
}

/** Which element of x lies at an address of the view. */
export function elementAt(address, h, d) {
  const inside = address % (h * d);
  return { position: Math.floor(address / (h * d)), head: Math.floor(inside / d), component: inside % d };
}

/** Addresses of the part of a layout with index i on one axis. */
export function slice({ shape, strides }, axis, i) {
  const others = [0, 1, 2].filter((a) => a !== axis);
  return addresses(others.map((a) => shape[a]), others.map((a) => strides[a]))
    .map((address) => address + i * strides[axis]);
}
