// Random numbers for pictures: the same in every browser. No DOM.

// SplitMix (Steele, Lea, Flood 2014) in 32 bits: a counter whose bits are stirred by the last steps
// of MurmurHash3 (Appleby). Good enough to look at.
const GOLDEN = 0x9e3779b9;

function stir(bits) {
  let x = bits;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}

/** A function that draws numbers evenly from (0, 1).
 * Every pair of a seed and a stream starts at another place. */
export function uniforms(seed, stream = 0) {
  let counter = stir(stir(seed + GOLDEN) + stream);
  return () => {
    counter = (counter + GOLDEN) | 0;
    return ((stir(counter) >>> 0) + 0.5) / 2 ** 32;
  };
}
