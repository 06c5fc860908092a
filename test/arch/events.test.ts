import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Reason } from "../../pkg/api/constants.ts";
import { EVENTS, getWarningReason } from "../../pkg/api/events.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Condition reasons that are also recorded as Events when the condition gets worse. One of them depends on the condition's message. */
const OF_CONDITIONS: readonly string[] = [
  Reason.Retrying,
  Reason.Blocked,
  Reason.AwaitingApproval,
  Reason.RequiredByOthers,
  Reason.BackupRequired,
  Reason.ConversionNeeded,
  Reason.InvalidConfiguration,
  Reason.UnsatisfiedDependencies,
  Reason.ProgressDeadlineExceeded,
  Reason.Unavailable,
  Reason.UserSpecifiedUnavailable,
  getWarningReason(Reason.Retrying, [{ type: "ImageRejected", severity: "Error" }]),
];

/** Returns the text of every source file of the two programs. */
function sources(): string {
  const names = ["pkg/operatorcontroller", "pkg/catalogd", "pkg/permissionmanager", "pkg/serving", "pkg/controller"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const files = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(50);
  return files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
}

/** Reports whether a source contains the reason, in quotes or as a key. The types already check that such a reason is in the reference. */
function isNamed(reason: string, text: string): boolean {
  return text.includes(`"${reason}"`) || new RegExp(`^ +${reason}: [{"]`, "m").test(text);
}

test("EVENTS lists only reasons that the servers record", () => {
  const text = sources();
  expect(Object.keys(EVENTS).filter((reason) => !OF_CONDITIONS.includes(reason) && !isNamed(reason, text))).toEqual([]);
  expect(isNamed("NoSuchReason", text)).toBe(false);
});

test("docs/reference/events.md lists each reason with its type", () => {
  const page = readFileSync(join(ROOT, "docs/reference/events.md"), "utf8");
  const lines = [...page.matchAll(/^- `(\w+)`(?: \((Warning)\))?: /gm)].map(([, reason, type = "Normal"]) => [reason, type]);
  expect(Object.fromEntries(lines)).toEqual(Object.fromEntries(Object.entries(EVENTS).map(([reason, { type }]) => [reason, type])));
});
