// Commands of the job that publishes a release. It imports only runtime dependencies: that job installs no other packages, and runs no scripts of them.
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { getChartLayoutFile, getNpmFile, PROJECT, readVersion } from "./project.ts";
import { publishLayout } from "./publishChart.ts";
import { computeIntegrity, formatOutputs, planPublication, readPublishedVersions } from "./publishPlan.ts";

const USAGE = `usage: node release/publish.ts COMMAND [options]

Commands:
  chart      send the chart to ${PROJECT.charts}/${PROJECT.name}, with the logins of docker, and print its digest
  plan       compare the release with the registry of npm, and print the outputs of a step: npm-tag (empty if npm has the version), and flags of
             gh release edit

Options:
  --out DIR  folder with the files of the release (default: dist-release)`;

const COMMANDS: Readonly<Record<string, (out: string) => Promise<string>>> = {
  async chart(out) {
    const target = { repository: `${PROJECT.charts}/${PROJECT.name}` };
    // Ctrl-C ends the whole process, so nothing else needs to stop.
    const published = await publishLayout(join(out, getChartLayoutFile(readVersion())), target, new AbortController().signal);
    const digest = published.get(readVersion());
    if (digest === undefined) throw new Error(`the chart has another version than ${readVersion()}`);
    return digest;
  },
  async plan(out) {
    const version = readVersion();
    return formatOutputs(planPublication(version, await computeIntegrity(join(out, getNpmFile(version))), await readPublishedVersions()));
  },
};

try {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { out: { type: "string", default: "dist-release" } } });
  const [name = "", ...others] = positionals;
  const command = Object.hasOwn(COMMANDS, name) && others.length === 0 ? COMMANDS[name] : undefined;
  if (command === undefined) throw new Error(USAGE);
  console.log(await command(resolve(values.out)));
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 2;
}
