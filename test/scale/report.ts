import { INSTALLED_SERVERS } from "../../pkg/devcluster/installation.ts";
import type { Cost, Dimension } from "./dimension.ts";
import { fitExponent } from "./growth.ts";

/** The costs of a dimension, in the order of its sizes. */
export interface Measured {
  readonly dimension: Dimension;
  readonly costs: ReadonlyMap<number, Cost>;
}

interface Column {
  readonly title: string;
  readonly value: (cost: Cost) => number;
  readonly format: (value: number) => string;
}

const seconds = (value: number): string =>
  value < 0.1 ? `${(value * 1_000).toFixed(1)} ms` : `${value < 10 ? value.toFixed(1) : value.toFixed(0)} s`;
const megabytes = (value: number): string => `${Math.round(value / 1e6)} MB`;

const COLUMNS: readonly Column[] = [
  { title: "time", value: (cost) => cost.seconds, format: seconds },
  { title: "API requests", value: ({ requests }) => requests, format: (value) => value.toLocaleString("en") },
  ...INSTALLED_SERVERS.flatMap((name): Column[] => [
    { title: `CPU time of ${name}`, value: ({ cpuSeconds }) => cpuSeconds[name] ?? 0, format: seconds },
    { title: "peak memory", value: ({ peakBytes }) => peakBytes[name] ?? 0, format: megabytes },
    { title: "memory at rest", value: ({ restBytes }) => restBytes[name] ?? 0, format: megabytes },
  ]),
];

/** Formats a dimension as a Markdown table, with the exponent of growth of each column in the last row. */
export function formatDimension({ dimension: { unit, description }, costs }: Measured): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rows = [...costs].map(([size, cost]) =>
    line([size.toLocaleString("en"), ...COLUMNS.map(({ value, format }) => format(value(cost)))]),
  );
  const exponents = COLUMNS.map(({ value }) => fitExponent([...costs].map(([size, cost]) => [size, value(cost)])));
  return [
    `### ${unit.charAt(0).toUpperCase()}${unit.slice(1)}`,
    "",
    description,
    "",
    line([unit, ...COLUMNS.map(({ title }) => title)]),
    line(["---", ...COLUMNS.map(() => "---")]),
    ...rows,
    line(["exponent", ...exponents.map((exponent) => exponent?.toFixed(2) ?? "")]),
    "",
  ].join("\n");
}
