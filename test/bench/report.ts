import { cpus } from "node:os";
import { type FigureId, GOALS, type Goal } from "./goals.ts";
import type { Outcome } from "./runMeasurements.ts";
import { computeSpread, type Spread } from "./statistics.ts";
import { calibrate, type Unit } from "./units.ts";

/** One figure in a report. */
export interface ReportedFigure extends Spread {
  readonly id: FigureId;
  readonly unit: Unit;
  readonly samples: readonly number[];
  /** The median in calibration loops, or the count per loop; absent for memory. */
  readonly calibrated?: number;
  readonly note?: string;
}

/** The results of a run. */
export interface Report {
  readonly at: string;
  readonly node: string;
  readonly machine: string;
  /** Duration of the calibration loop before and after the measurements; a difference means that something else ran meanwhile. */
  readonly calibration: { readonly start: number; readonly end: number };
  readonly figures: readonly ReportedFigure[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
}

/** Creates the report of a run; figures have the order of the goals. */
export function createReport(outcomes: readonly Outcome[], calibration: Report["calibration"], at: Date): Report {
  const [first] = cpus();
  const found = new Map(outcomes.flatMap(({ figures }) => figures.map((figure) => [figure.id, figure])));
  const figures = (Object.entries(GOALS) as [FigureId, Goal][]).flatMap(([id, { unit }]): ReportedFigure[] => {
    const figure = found.get(id);
    if (!figure) return [];
    const spread = computeSpread(figure.samples);
    const ratio = calibrate(spread.median, unit, calibration.start);
    return [{ ...figure, unit, ...spread, ...(ratio === undefined ? {} : { calibrated: ratio }) }];
  });
  return {
    at: at.toISOString(),
    node: process.version,
    machine: `${cpus().length} × ${first?.model ?? "unknown processor"}`,
    calibration,
    figures,
    skipped: outcomes.flatMap(({ name, skipped: reason }) => (reason === undefined ? [] : [{ name, reason }])),
    failed: outcomes.flatMap(({ name, failed: reason }) => (reason === undefined ? [] : [{ name, reason }])),
  };
}
