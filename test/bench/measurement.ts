import type { FigureId } from "./goals.ts";

/** What a measurement found out about one row of the table. */
export interface Figure {
  readonly id: FigureId;
  /** In the row's unit, one for each run, in order of time. */
  readonly samples: readonly number[];
  /** What has to be known to read the figure: sizes, counts, what differs from the goal's conditions. */
  readonly note?: string;
}

/** What measurements may use, and how much they are to do. */
export interface BenchContext {
  /** Folder of real catalogs and bundles; undefined where there is none. */
  readonly data: string | undefined;
  /** How often each thing is done; undefined: each measurement's own number. */
  readonly runs: number | undefined;
  /** Length of each run of a throughput measurement. */
  readonly seconds: number;
  /** How many extensions are installed where there are many; undefined: each measurement's own number. */
  readonly extensions: number | undefined;
  /** How long the servers rest before their rest is looked at, and how long it is looked at. */
  readonly settleSeconds: number;
  readonly restSeconds: number;
  /** Gives the folder of the bundled programs, as an image has them; the first call builds them. */
  readonly programs: () => Promise<string>;
  /** Told what goes on, for people who wait. */
  readonly say: (line: string) => void;
}

/** Something that is measured under its own name. */
export interface Measurement {
  readonly name: string;
  /** The program that several measurements are about; they can be chosen together by it. */
  readonly group?: string;
  /** What is measured, for the list. */
  readonly title: string;
  /** The rows of the table that it fills. */
  readonly figures: readonly FigureId[];
  /** @throws Skipped when what it needs is not here. */
  run(context: BenchContext): AsyncIterable<Figure>;
}

/** The measurement cannot be made here; the message says why. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}
