/** Iterations of the integer part and of the text part, which together take a few tenths of a second. */
const STEPS = 40_000_000;
const ROUND_TRIPS = 4_000;
const RUNS = 5;

/**
 * Runs a fixed amount of work on one core, half integers and half text. @returns a number that depends on every iteration.
 */
export function calibrationLoop(steps: number = STEPS, roundTrips: number = ROUND_TRIPS): number {
  let state = 0x9e3779b9 | 0;
  for (let i = 0; i < steps; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
  }
  let document = { seed: state, items: Array.from({ length: 40 }, (_, i) => ({ name: `item-${i}`, value: i, tags: ["a", "b", "c"] })) };
  for (let i = 0; i < roundTrips; i++) {
    document = JSON.parse(JSON.stringify(document)) as typeof document;
    document.seed = (document.seed * 31 + document.items.length) | 0;
  }
  return document.seed;
}

/**
 * Returns the duration of the calibration loop in seconds: the shortest of several runs, because other processes slow
 * it down.
 */
export function calibrate(): number {
  const times = Array.from({ length: RUNS }, () => {
    const started = performance.now();
    calibrationLoop();
    return (performance.now() - started) / 1_000;
  });
  return Math.min(...times);
}
