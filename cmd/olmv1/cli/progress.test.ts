import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withProgress } from "./progress.ts";
import { CommandTerminal } from "./terminal.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

async function readOutput(interactive: boolean, ms: number): Promise<string> {
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const terminal = new CommandTerminal({ out: write, err: write, interactive, width: 40 });
  const done = withProgress(terminal, "pulling", async (progress) => {
    await vi.advanceTimersByTimeAsync(ms / 2);
    progress.now("unpacking");
    await vi.advanceTimersByTimeAsync(ms / 2);
    return "result";
  });
  expect(await done).toBe("result");
  return text;
}

test("withProgress prints nothing when the work takes less than a second", async () => {
  expect(await readOutput(true, 900)).toBe("");
  expect(await readOutput(false, 900)).toBe("");
});

test("withProgress updates one line on a terminal, and clears the line at the end", async () => {
  const text = await readOutput(true, 5_000);
  expect(text).toContain("pulling (2 s)");
  expect(text).toContain("unpacking (4 s)");
  expect(text).not.toContain("\n");
  expect(text.endsWith("\r\u001B[K")).toBe(true);
});

test("withProgress prints a line every 15 seconds when the output is not a terminal", async () => {
  expect(await readOutput(false, 40_000)).toBe("olmv1: pulling (15 s)\nolmv1: unpacking (30 s)\n");
});

test.for([
  [true, "\r\u001B[Kolmv1: catalogd retries: no route to host\n"],
  [false, "olmv1: catalogd retries: no route to host\n"],
] as const)("withProgress keeps reported messages on the screen when interactive is %s", async ([interactive, want]) => {
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const terminal = new CommandTerminal({ out: write, err: write, interactive, width: 40 });
  await withProgress(terminal, "waiting", async (progress) => {
    await vi.advanceTimersByTimeAsync(2_000);
    progress.report("catalogd retries: no\troute\nto host".replace("\t", " "));
  });
  expect(text).toContain(want);
  expect(text.endsWith(want)).toBe(true);
});

test.for(["out", "err"] as const)("withProgress clears its line before the command writes to %s, and shows it again", async (stream) => {
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const terminal = new CommandTerminal({ out: write, err: write, interactive: true, width: 40 });
  await withProgress(terminal, "waiting", async () => {
    await vi.advanceTimersByTimeAsync(2_000);
    text = "";
    terminal[stream]("result\n");
    await vi.advanceTimersByTimeAsync(100);
  });
  expect(text.split("\r\u001B[K")).toEqual(["", "result\n", expect.stringMatching(/^\S waiting \(2 s\)$/), ""]);
});

test("withProgress clears its line before the command asks a question", async () => {
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const ask = (question: string): Promise<string> => Promise.resolve(((text += question), "y"));
  const terminal = new CommandTerminal({ out: write, err: write, ask, interactive: true, width: 40 });
  await withProgress(terminal, "waiting", async () => {
    await vi.advanceTimersByTimeAsync(2_000);
    text = "";
    await terminal.ask("Continue?");
  });
  expect(text).toBe("\r\u001B[KContinue?");
});
