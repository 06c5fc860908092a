/** Resources of a program at one time. */
export interface Sample {
  /** Seconds since the start of the run. */
  readonly seconds: number;
  readonly rssBytes: number;
  readonly sockets: number;
  /** Watches of objects of extensions; 0 for a program without any. */
  readonly watches: number;
}

/** Samples of one program in a run. */
export interface Course {
  readonly program: string;
  readonly samples: readonly Sample[];
  /** Resources at rest with the same extensions installed, before and after all changes. */
  readonly first: Sample;
  readonly last: Sample;
}

/** Maximum growth of a program in ten minutes after the warm-up, in bytes. */
const GROWTH_MAX = 1024 * 1024;
const TEN_MINUTES = 600;

/**
 * Returns the growth of a program in ten minutes, in bytes: the slope of the line that fits its samples best.
 * @param from seconds; earlier samples are warm-up. @returns 0 for fewer than two samples.
 */
export function computeGrowth(samples: readonly Sample[], from: number): number {
  const warm = samples.filter(({ seconds }) => seconds >= from);
  const mean = (of: (sample: Sample) => number): number => warm.reduce((sum, sample) => sum + of(sample), 0) / warm.length;
  const [at, size] = [mean(({ seconds }) => seconds), mean(({ rssBytes }) => rssBytes)];
  const spread = warm.reduce((sum, { seconds }) => sum + (seconds - at) ** 2, 0);
  const slope = warm.reduce((sum, { seconds, rssBytes }) => sum + (seconds - at) * (rssBytes - size), 0) / spread;
  return warm.length < 2 || spread === 0 ? 0 : slope * TEN_MINUTES;
}

/**
 * Returns the resources of a program at rest: the last sample, with the fewest sockets of all samples.
 * A request that runs at the time of one sample has a socket, and a leaked one is in all samples.
 * @param from seconds; earlier samples are not at rest. @returns undefined without samples.
 */
export function summarizeRest(samples: readonly Sample[], from: number): Sample | undefined {
  const atRest = samples.filter(({ seconds }) => seconds >= from);
  const last = atRest.at(-1);
  return last && { ...last, sockets: Math.min(...atRest.map(({ sockets }) => sockets)) };
}

/** Returns the faults of a run, a sentence each. */
export function listFaults({ program, samples, first, last }: Course, warmUpSeconds: number): string[] {
  const grown = computeGrowth(samples, warmUpSeconds);
  const more = (what: string, before: number, after: number): string[] =>
    after > before ? [`${program} has ${after} ${what} at the end but had ${before} at the start`] : [];
  return [
    ...(grown > GROWTH_MAX ? [`${program} grows by ${megabytes(grown)} MB in ten minutes, more than ${megabytes(GROWTH_MAX)}`] : []),
    ...more("sockets", first.sockets, last.sockets),
    ...more("watches", first.watches, last.watches),
  ];
}

/** Formats megabytes with two decimal places. */
export function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(2);
}
