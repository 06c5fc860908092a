import type { Sign } from "./textTree.ts";

/** How values are written. */
export interface FormatOptions {
  /** Which side is written; "" writes both, as a difference. */
  readonly side: Sign;
  /** Whether the type comes first: always, for structs, lists and maps, or never. */
  readonly types: "always" | "composites" | "never";
  /** How much is written before an ellipsis stands for the rest; it falls with each level. */
  readonly verbosity: number;
  /** Whether String methods are passed over. */
  readonly plain: boolean;
}

/** Differences are written with this much at least, on every level. */
const LEAST_VERBOSITY = 3;
const MOST_VERBOSITY = 16;

export const DIFFERENCE: FormatOptions = { side: "", types: "always", verbosity: LEAST_VERBOSITY, plain: false };
/** How often more is written when two values that differ would read the same. */
export const LOUDER_STEPS = 7;

/** 2 to the power of the verbosity, the unit of all limits. */
export function unit({ verbosity }: FormatOptions): number {
  return 2 ** clamped(verbosity);
}

/** How many members of a struct, list or map are written. */
export function maxMembers(options: FormatOptions): number {
  return Math.floor(unit(options) / 2) * 4;
}

/** One level further down. */
export function deeper(options: FormatOptions): FormatOptions {
  return { ...options, verbosity: options.verbosity - 1 };
}

export function atLeastDefault(options: FormatOptions): FormatOptions {
  return clamped(options.verbosity) < LEAST_VERBOSITY ? { ...options, verbosity: LEAST_VERBOSITY } : options;
}

/** The options of the `step`th try to tell two values apart. */
export function louder(options: FormatOptions, step: number): FormatOptions {
  return { ...options, verbosity: clamped(options.verbosity) + 2 * step, plain: options.plain || step > 0 };
}

function clamped(verbosity: number): number {
  return Math.min(Math.max(verbosity, 0), MOST_VERBOSITY);
}
