import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Runs a program in which `code` causes an uncaught error. @returns its exit code and log. */
function programWith(code: string): { status: number | null; logged: { level: number; msg: string; origin: string }[]; ended: boolean } {
  const url = (path: string): string => JSON.stringify(join(import.meta.dirname, path));
  const script = `
    const { ignoreConnectionResets } = await import(${url("program.ts")});
    const { createLogger } = await import(${url("../../pkg/telemetry/log.ts")});
    ignoreConnectionResets(createLogger({ component: "test", destination: { write: (line) => process.stderr.write(line) } }));
    const errorWith = (code) => Object.assign(new Error("other side closed"), { code });
    setTimeout(() => process.stdout.write("ended"), 200);
    ${code}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
  return {
    status,
    logged: lines.map((line) => JSON.parse(line) as { level: number; msg: string; origin: string }),
    ended: stdout === "ended",
  };
}

test.for([
  ["an error event without a listener", `new (await import("node:events")).EventEmitter().emit("error", errorWith("UND_ERR_SOCKET"));`],
  ["an error of a connection that was closed", `void Promise.reject(errorWith("UND_ERR_DESTROYED"));`],
  ["an unhandled rejection", `void Promise.reject(errorWith("ERR_HTTP2_SESSION_ERROR"));`],
])("ignoreConnectionResets keeps the process running after a connection error: %s", ([, code]) => {
  const { status, logged, ended } = programWith(code ?? "");
  expect(logged).toEqual([expect.objectContaining({ level: 50, msg: "uncaught connection error, continuing" })]);
  expect({ status, ended }).toEqual({ status: 0, ended: true });
});

test.for([
  ["an error in the program's code", `setTimeout(() => { throw new TypeError("x is undefined"); });`],
  ["an error of the file system", `void Promise.reject(errorWith("ENOSPC"));`],
])("ignoreConnectionResets exits with 1 after any other error: %s", ([, code]) => {
  const { status, logged, ended } = programWith(code ?? "");
  expect(logged).toEqual([expect.objectContaining({ level: 60, msg: "uncaught error" })]);
  expect({ status, ended }).toEqual({ status: 1, ended: false });
});
