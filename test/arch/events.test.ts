import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Reason } from "../../pkg/api/constants.ts";
import { EVENTS } from "../../pkg/api/events.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Reasons of conditions that become the reason of an Event by themselves, when the condition changes for the worse. */
const OF_CONDITIONS: readonly string[] = [
  Reason.Retrying,
  Reason.Blocked,
  Reason.AwaitingApproval,
  Reason.InvalidConfiguration,
  Reason.ProgressDeadlineExceeded,
  Reason.Unavailable,
  Reason.UserSpecifiedUnavailable,
];

/** The text of every source file of the two programs. */
function sources(): string {
  const names = ["pkg/operatorcontroller", "pkg/catalogd"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const files = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(50);
  return files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
}

/** Reasons that stand in a call that records an Event, or are chosen just before one. */
function recorded(text: string): Set<string> {
  const calls = [...text.matchAll(/record\(\s*(?:[\w.]+,\s*)?"(?:Normal|Warning)",\s*([^;]*?)[,)]\s*/g)].map(([, reason = ""]) => reason);
  expect(calls.length).toBeGreaterThan(15);
  const chosen = [...text.matchAll(/const reason = [^;]*;/g)].map(([line]) => line);
  const said = [...text.matchAll(/#say\([^;]*;/g)].map(([line]) => line);
  return new Set(
    [...calls, ...chosen, ...said].flatMap((code) => [...code.matchAll(/"([A-Z][A-Za-z]+)"/g)].map(([, reason = ""]) => reason)),
  );
}

test("every reason in the reference is one that the programs record, and the other way round", () => {
  const reasons = [...new Set([...recorded(sources()), ...OF_CONDITIONS])].sort();
  expect(reasons).toEqual(Object.keys(EVENTS).sort());
});

test("the page has a row for each reason, with its type", () => {
  const page = readFileSync(join(ROOT, "docs/reference/events.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (Normal|Warning) +\|/gm)].map(([, reason, type]) => [reason, type]);
  expect(rows).toEqual(Object.entries(EVENTS).map(([reason, { type }]) => [reason, type]));
});
