// Work that no hand has asked for yet.

/** A function that has `some` of it done again and again, until that says that it is done: once the page has nothing
 * else to do, and bit by bit, so that what a hand does meanwhile is heard before the next. */
export function leisurely(some) {
  let running = false;
  const go = () => setTimeout(() => {
    running = !some();
    if (running) go();
  });
  return () => {
    if (running) return;
    running = true;
    (window.requestIdleCallback ?? setTimeout)(go, { timeout: 500 }); // a page at rest may never be called idle
  };
}
