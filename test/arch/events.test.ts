import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Reason } from "../../pkg/api/constants.ts";
import { EVENTS, getWarningReason } from "../../pkg/api/events.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Reasons of conditions that become the reason of an Event by themselves, when the condition changes for the worse; one by the condition's message. */
const OF_CONDITIONS: readonly string[] = [
  Reason.Retrying,
  Reason.Blocked,
  Reason.AwaitingApproval,
  Reason.RequiredByOthers,
  Reason.ConversionNeeded,
  Reason.InvalidConfiguration,
  Reason.UnsatisfiedDependencies,
  Reason.ProgressDeadlineExceeded,
  Reason.Unavailable,
  Reason.UserSpecifiedUnavailable,
  getWarningReason(Reason.Retrying, [{ type: "ImageRejected", severity: "Error" }]),
];

/** The text of every source file of the two programs. */
function sources(): string {
  const names = ["pkg/operatorcontroller", "pkg/catalogd", "pkg/serving"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const files = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(50);
  return files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
}

/** Whether a source names the reason: in quotes, or as a key of a table. That a reason which is named is in the reference, the types see to. */
function isNamed(reason: string, text: string): boolean {
  return text.includes(`"${reason}"`) || new RegExp(`^ +${reason}: [{"]`, "m").test(text);
}

test("every reason in the reference is one that the programs record", () => {
  const text = sources();
  expect(Object.keys(EVENTS).filter((reason) => !OF_CONDITIONS.includes(reason) && !isNamed(reason, text))).toEqual([]);
  expect(isNamed("NoSuchReason", text)).toBe(false);
});

test("the page has a row for each reason, with its type", () => {
  const page = readFileSync(join(ROOT, "docs/reference/events.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (Normal|Warning) +\|/gm)].map(([, reason, type]) => [reason, type]);
  expect(rows).toEqual(Object.entries(EVENTS).map(([reason, { type }]) => [reason, type]));
});
