// Particles that hop between states by the rule of Metropolis et al. (1953). No DOM.

/** `tries` times a particle is offered a state, both drawn at random. It goes if the state lies no
 * higher, and with probability exp(−ΔE/τ) if it lies higher. `places` has a state for each particle.
 * @param {number[]} places @param {number} tries @param {number[]} scores @param {number} tau
 * @param {() => number} random */
export function hop(places, tries, scores, tau, random) {
  for (let t = 0; t < tries; t++) {
    const particle = Math.floor(random() * places.length);
    const state = Math.floor(random() * scores.length);
    const rise = scores[places[particle]] - scores[state]; // ΔE, for E = −s
    if (rise <= 0 || random() < Math.exp(-rise / tau)) places[particle] = state;
  }
}

/** How many particles stand on each of `n` states. */
export function counts(places, n) {
  const found = Array.from({ length: n }, () => 0);
  for (const state of places) found[state] += 1;
  return found;
}
