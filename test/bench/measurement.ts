import type { FigureId } from "./goals.ts";

/** Samples of one row of the table. */
export interface Figure {
  readonly id: FigureId;
  /** One value for each run in its order, in the unit of the row. */
  readonly samples: readonly number[];
  /** Information to interpret the figure: sizes, counts, deviations from the conditions of the goal. */
  readonly note?: string;
}

/** Services and limits for measurements. */
export interface BenchContext {
  /** Folder of real catalogs and bundles; undefined if it does not exist. */
  readonly data: string | undefined;
  /** Number of runs; if undefined, each measurement uses its own default. */
  readonly runs: number | undefined;
  /** Duration of each run of a throughput measurement. */
  readonly seconds: number;
  /** Number of extensions; if undefined, each measurement uses its own default. */
  readonly extensions: number | undefined;
  /** Time that steady-state waits before it measures. */
  readonly settleSeconds: number;
  /** Time that steady-state measures. */
  readonly restSeconds: number;
  /** Returns the folder of the bundled programs, as in an image. The first call builds them. */
  readonly programs: () => Promise<string>;
  /** Prints progress. */
  readonly say: (line: string) => void;
}

/** A named measurement. */
export interface Measurement {
  readonly name: string;
  /** Group for selecting several measurements of one program. */
  readonly group?: string;
  /** Description for the list. */
  readonly title: string;
  /** The table rows that the measurement fills. */
  readonly figures: readonly FigureId[];
  /** @throws Skipped if a prerequisite is missing. */
  run(context: BenchContext): AsyncIterable<Figure>;
}

/** Thrown if the measurement cannot run here; the message is the reason. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}
