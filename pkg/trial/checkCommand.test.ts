import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { type CheckCommand, runCheckCommand } from "./checkCommand.ts";
import { StepFailed } from "./trialReport.ts";

const run = (command: string, more: Partial<CheckCommand> = {}): Promise<string> =>
  runCheckCommand({
    command,
    env: { PATH: process.env["PATH"], NAME: "try-1" },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    print: () => undefined,
    ...more,
  });

/** A killed process stays a zombie if the first process of a container does not wait for it. */
const isRunning = (pid: number): boolean => {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !/\) Z /.test(readFileSync(stat, "utf8"));
};

test("runCheckCommand returns the output of a command with its environment", async () => {
  await expect(run('echo "$NAME"; echo more >&2')).resolves.toMatch(/^(?:try-1\nmore|more\ntry-1)\n$/);
});

test.for([2 ** 31, 2 ** 40, 60_000.5])("runCheckCommand runs a command to its end when its time is %d ms", async (timeoutMs) => {
  await expect(run("sleep 0.1; echo done", { timeoutMs })).resolves.toBe("done\n");
});

test.for<[what: string, command: string, message: string]>([
  ["fails", "echo reason; exit 3", "the command failed with exit code 3"],
  ["is killed", "echo reason; kill -KILL $$", "the command ended with SIGKILL"],
])("runCheckCommand throws an error with the output when the command %s", async ([, command, message]) => {
  const err = await run(command).catch((thrown: unknown) => thrown);
  expect(err).toBeInstanceOf(StepFailed);
  expect(err).toMatchObject({ message, output: "reason\n" });
});

test("runCheckCommand kills the processes of a command when its time ends", async () => {
  let pid = 0;
  const print = (text: string): void => void (pid = Number(text));
  await expect(run("sleep 600 & echo $!; wait", { timeoutMs: 500, print })).rejects.toThrow("the command was stopped after 0.5 s");
  await eventually(() => expect([pid > 0, isRunning(pid)]).toEqual([true, false]));
});

test("runCheckCommand kills the command when the signal aborts", async () => {
  const stop = new AbortController();
  const print = (): void => stop.abort(new Error("stopped by SIGINT"));
  await expect(run("echo started; sleep 600", { signal: stop.signal, print })).rejects.toThrow("stopped by SIGINT");
});
