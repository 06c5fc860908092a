import { type Bound, GO_ORIGIN, GOALS, type Goal } from "./goals.ts";
import type { Report, ReportedFigure } from "./report.ts";
import { digits, formatValue } from "./units.ts";

const NOTHING = "–";

/**
 * Formats the report: a row for each figure with ours (median, min–max), the goal, the Go figure, and ours in
 * calibration loops. Does not judge goals, because other processes on the machine influence the figures.
 * @param baseline an earlier report; adds the ratio of calibrated figures.
 */
export function formatTable(report: Report, baseline?: Report): string {
  const before = new Map(baseline?.figures.map((figure) => [figure.id, figure]));
  const head = ["work", "ours (median, min–max)", "goal", "Go", "calibrated", ...(baseline ? ["× baseline"] : [])];
  const rows = report.figures.map((figure) => [
    GOALS[figure.id].work,
    formatSamples(figure),
    formatGoal(GOALS[figure.id]),
    formatGoFigure(GOALS[figure.id]),
    figure.calibrated === undefined ? NOTHING : digits(figure.calibrated),
    ...(baseline ? [formatRatio(figure, before.get(figure.id))] : []),
  ]);
  const widths = head.map((text, column) => Math.max(text.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  const notes = report.figures.map(({ note }) => note);
  return [
    ...describeRun(report),
    "",
    line(head),
    line(widths.map((width) => "─".repeat(width))),
    ...rows.flatMap((row, at) => [line(row), ...(notes[at] === undefined ? [] : [`    ${notes[at]}`])]),
    ...listEnds(report),
    "",
    `Go: ${GO_ORIGIN}. calibrated: ours in calibration loops, or times in one loop.`,
  ].join("\n");
}

function describeRun({ machine, node, calibration }: Report): string[] {
  const { start, end } = calibration;
  return [`${machine}, Node ${node}`, `calibration loop: ${formatValue(start, "seconds")} before, ${formatValue(end, "seconds")} after`];
}

function listEnds({ skipped, failed, figures }: Report): string[] {
  return [
    ...(figures.length === 0 ? ["no figures"] : []),
    ...skipped.map(({ name, reason }) => `skipped ${name}: ${reason}`),
    ...failed.map(({ name, reason }) => `FAILED ${name}: ${reason}`),
  ];
}

function formatSamples({ samples, median, min, max, unit }: ReportedFigure): string {
  if (samples.length === 1) return formatValue(median, unit);
  return `${formatValue(median, unit)} (${formatValue(min, unit)} – ${formatValue(max, unit)})`;
}

function formatGoal({ goal, unit }: Goal): string {
  if (!goal) return NOTHING;
  return formatBound(goal, unit);
}

function formatBound(goal: Bound, unit: Goal["unit"]): string {
  if ("words" in goal) return goal.words;
  return "atMost" in goal ? `≤ ${formatValue(goal.atMost, unit)}` : `≥ ${formatValue(goal.atLeast, unit)}`;
}

function formatGoFigure({ go, unit }: Goal): string {
  if (go === undefined) return NOTHING;
  return typeof go === "string" ? go : formatValue(go, unit);
}

function formatRatio(figure: ReportedFigure, before: ReportedFigure | undefined): string {
  if (!before) return NOTHING;
  const value = (figure.calibrated ?? figure.median) / (before.calibrated ?? before.median);
  return digits(value);
}
