import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { splitLine } from "../../cmd/olmv1/commands/completion/complete.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";
import { DevEnvironment } from "../../pkg/devcluster/devEnvironment.ts";
import { Narrator } from "../../pkg/devcluster/narrator.ts";
import { renderAnimation } from "./animation.ts";
import { type RecordedLine, splitRecordedLines } from "./screen.ts";

const USAGE = `npm run -s record

Runs typical commands on an embedded control plane with both servers, and writes docs/story.svg: an animation of their real output at
its real time on this machine.`;

const COLUMNS = 110;
/** The typed commands, in order. */
const STORY = [
  "olmv1 catalog add hello CATALOG --wait",
  "olmv1 search hello",
  "olmv1 versions hello-operator",
  "olmv1 install hello-operator --version 1.0.0 --yes",
  "olmv1 list",
  "olmv1 why-not hello-operator 1.2.0",
  "olmv1 upgrade hello-operator --version '>=1.0.0' --yes",
  "olmv1 tree hello-operator",
  "olmv1 rollback hello-operator",
  "olmv1 uninstall hello-operator --yes",
];
/** Typing and reading speed of a person. */
const TYPING_MS = 900;
const READING_MS = 1_800;

/** Runs the commands and records their output, with time for typing and reading added. */
async function record(environment: DevEnvironment): Promise<RecordedLine[]> {
  const lines: RecordedLine[] = [];
  let atMs = 0;
  for (const line of STORY) {
    const spans = [
      { text: "$ ", style: "prompt" },
      { text: line.replace("CATALOG", "registry.example.com/hello-catalog"), style: "strong" },
    ];
    lines.push({ atMs, spans });
    atMs += TYPING_MS;
    const { text, tookMs, code } = await run(line.replace("CATALOG", `${environment.registry}/hello-catalog:latest`));
    if (code !== 0 && !line.includes("why-not")) throw new Error(`${line} exited with ${code}:\n${text}`);
    lines.push(...splitRecordedLines(text.replaceAll(environment.registry, "registry.example.com"), atMs + tookMs, COLUMNS), {
      atMs: atMs + tookMs,
      spans: [],
    });
    atMs += tookMs + READING_MS;
  }
  return lines;
}

async function run(line: string): Promise<{ text: string; tookMs: number; code: number }> {
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const terminal = new CommandTerminal({ out: write, err: write, width: COLUMNS, colour: true, env: process.env });
  const began = performance.now();
  const code = await runCommandLine(splitLine(line).slice(1), terminal);
  return { text, code, tookMs: Math.round(performance.now() - began) };
}

if (process.argv.includes("--help")) console.log(USAGE);
else {
  const narrator = new Narrator(() => undefined);
  const environment = await DevEnvironment.start({ kubeconfig: undefined, narrator, signal: new AbortController().signal });
  try {
    process.env["KUBECONFIG"] = environment.kubeconfig;
    process.env["CONTAINERS_REGISTRIES_CONF"] = environment.registriesConf;
    const lines = await record(environment);
    const picture = renderAnimation(
      lines,
      COLUMNS,
      "olmv1 on the command line: add a catalog; install, upgrade, roll back and uninstall an operator",
    );
    await writeFile(join(import.meta.dirname, "../../docs/story.svg"), picture);
    for (const { spans } of lines) console.log(spans.map(({ text }) => text).join(""));
  } finally {
    await environment.stop();
  }
}
