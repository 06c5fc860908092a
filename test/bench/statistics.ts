/** Spread of the samples of one figure. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** @throws Error without samples. */
export function computeSpread(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.ceil((sorted.length - 1) / 2)];
  if (low === undefined || high === undefined) throw new Error("a figure needs at least one sample");
  return { median: (low + high) / 2, min: Math.min(...sorted), max: Math.max(...sorted) };
}
