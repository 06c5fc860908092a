import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { buildPrograms, environmentOfImage } from "../bench/programs.ts";
import type { Cost, Dimension } from "./dimension.ts";
import { bundlesDimension } from "./dimensions/bundles.ts";
import { catalogsDimension } from "./dimensions/catalogs.ts";
import { clientsDimension } from "./dimensions/clients.ts";
import { extensionsDimension, managedExtensionsDimension } from "./dimensions/extensions.ts";
import { namespacesDimension } from "./dimensions/namespaces.ts";
import { measureFootprint } from "./footprint.ts";
import { formatDimension } from "./report.ts";

const DIMENSIONS: readonly Dimension[] = [
  extensionsDimension,
  managedExtensionsDimension,
  namespacesDimension,
  bundlesDimension,
  catalogsDimension,
  clientsDimension,
];
const FOOTPRINT = "footprint";

const USAGE = `npm run -s scale -- [${[...DIMENSIONS.map(({ name }) => name), FOOTPRINT].join(" | ")}]... [--divide N] [--report FILE]

Measures how the servers grow: each dimension with three sizes, each with new programs on a new control plane. Prints a Markdown table for
each dimension with the exponent of growth: 1 is linear. Without names, it measures all dimensions, which takes about an hour on an idle
machine. --divide divides all sizes, to try a measurement.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { divide: { type: "string", default: "1" }, report: { type: "string" }, help: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => name !== FOOTPRINT && !DIMENSIONS.some((one) => one.name === name));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) process.stderr.write(`unknown: ${unknown.join(", ")}\n`);
  console.log(USAGE);
  process.exitCode = unknown.length > 0 ? 2 : 0;
} else await measureAll();

async function measureAll(): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  for (const [name, value] of Object.entries(await environmentOfImage())) process.env[name] ??= value;
  const context = { say, programs: buildPrograms(say) };
  const isChosen = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
  const parts: string[] = [];
  for (const dimension of DIMENSIONS.filter(({ name }) => isChosen(name))) {
    const costs = new Map<number, Cost>();
    for (const size of dimension.sizes.map((full) => Math.ceil(full / Number(values.divide)))) {
      say(`${size} ${dimension.unit}`);
      costs.set(size, await dimension.measure(size, context));
    }
    parts.push(formatDimension({ dimension, costs }));
    console.log(parts.at(-1));
  }
  if (isChosen(FOOTPRINT)) {
    parts.push(await measureFootprint(context));
    console.log(parts.at(-1));
  }
  if (values.report !== undefined) await writeFile(values.report, parts.join("\n"));
}
