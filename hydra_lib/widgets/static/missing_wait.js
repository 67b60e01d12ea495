// A stopwatch for a queue, and what is wrong with the waits in it. No DOM.

/** The lines of the stopwatch; between two of them there is a place for a wait, null. */
export const STOPWATCH = [
  "queue.submit([earlier]);", null, "const start = performance.now();", null, "queue.submit([kernel]);", null,
  "const stop = performance.now();", null,
];

/** Whether waits at the four places measure the kernel, and what they measure otherwise. */
export function verdict([first, second, third, last]) {
  if (!third) {
    const late = last ? " The wait after it comes too late." : "";
    const before = first ? ", and one way to the device and back for the wait before it" : " and the earlier work";
    const shown = `the time of asking${second ? before : ""}`;
    return { right: false, words: `Before the clock stops a wait is missing: that is ${shown}, the kernel still stands in the queue.${late}` };
  }
  if (!first) {
    const counted = second ? " The wait for it is counted too: it stands after the start." : "";
    return { right: false, words: `The queue was not empty when the clock started: this time holds the earlier work.${counted}` };
  }
  const round = second ? " The wait before the launch is counted too, one way to the device and back." : "";
  const more = round + (last ? " The last wait comes after the clock and changes nothing." : "");
  return { right: true, words: `Right: the queue is empty when the clock starts, and the kernel is done when it stops.${more}` };
}

/** Seconds that the stopwatch shows. `earlier` and `kernel` queue work, `wait` waits for all of it. */
export async function stopwatchTime(waits, { earlier, kernel, wait, now }) {
  const here = async (place) => waits[place] && wait();
  earlier();
  await here(0);
  const start = now();
  await here(1);
  kernel();
  await here(2);
  const seconds = now() - start;
  await wait(); // whatever was forgotten: the next run begins with an empty queue
  return seconds;
}
