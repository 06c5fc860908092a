import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { runCases } from "./runCases.ts";
import { runMain, UsageError } from "./runMain.ts";
import type { Topic } from "./topic.ts";
import { crdUpgradeTopic } from "./topics/crdUpgrade.ts";
import { fbcLoadTopic } from "./topics/fbcLoad.ts";
import { rangesTopic } from "./topics/ranges.ts";
import { renderTopic } from "./topics/render.ts";
import { resolveTopic } from "./topics/resolve.ts";

const TOPICS: Readonly<Record<string, Topic>> = {
  ranges: rangesTopic,
  resolve: resolveTopic,
  render: renderTopic,
  "crd-upgrade": crdUpgradeTopic,
  "fbc-load": fbcLoadTopic,
};
const USAGE = `usage: npm run -s cases -- TOPIC PATH... [--data FOLDER]
  TOPIC   ${Object.keys(TOPICS).join(", ")}
  PATH    a case file (.json, .jsonl) or a folder with case files
  --data  base folder of paths in cases (default: the nearest folder above PATH that contains fbc or bundles)`;

/** Runs the cases in the arguments and prints the summary. @returns the exit status: 0, or 1 if a case failed. */
async function main(args: readonly string[]): Promise<number> {
  const { positionals, values } = argumentsFrom(args);
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const [name, ...paths] = positionals;
  if (name === undefined) throw new UsageError("no topic given");
  const topic = Object.hasOwn(TOPICS, name) ? TOPICS[name] : undefined;
  if (!topic) throw new UsageError(`unknown topic ${name}`);
  if (paths.length === 0) throw new UsageError("no path given");
  const base = process.env["INIT_CWD"] ?? process.cwd();
  const started = performance.now();
  const { passed, failed } = await runCases(topic, {
    paths: paths.map((path) => resolve(base, path)),
    dataFolder: values.data === undefined ? undefined : resolve(base, values.data),
    print: (line) => console.log(line),
    progress: (done) => console.error(`${done} cases in ${seconds(started)}`),
  });
  console.log(`whole run: ${seconds(started)}`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

function argumentsFrom(args: readonly string[]): { positionals: string[]; values: { data?: string; help?: boolean } } {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { data: { type: "string" }, help: { type: "boolean", short: "h" } },
    });
  } catch (err) {
    throw new UsageError(getErrorMessage(err), { cause: err });
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

await runMain(main, USAGE);
