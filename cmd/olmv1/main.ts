#!/usr/bin/env node
import { basename } from "node:path";
import { EXIT } from "./cli/errors.ts";
import { createProcessTerminal } from "./cli/terminal.ts";
import { runCommandLine } from "./program.ts";

const stop = new AbortController();
const terminal = createProcessTerminal(stop.signal);
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    if (stop.signal.aborted && !terminal.handlesSigint) process.exit(EXIT.interrupted);
    stop.abort(new Error(`stopped by ${name}`));
  });
}
const calledAs = process.env["OLMV1_CALLED_AS"] ?? basename(process.argv[1] ?? "");
const name = calledAs === "kubectl-olmv1" ? "kubectl olmv1" : "olmv1";
const given = process.argv.slice(2);
const code = await runCommandLine(calledAs === "kubectl_complete-olmv1" ? ["__complete", "--", ...given] : given, terminal, name);
// Exits explicitly, because keep-alive connections would keep the process running.
if (stop.signal.aborted) process.exit(code);
process.exitCode = code;
