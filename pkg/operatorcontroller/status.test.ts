import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { extensionNamed } from "../../test/support/extensions.ts";
import type { Condition } from "../api/k8s.ts";
import { RetryableError, TerminalError } from "../errors/errors.ts";
import { newFacts, type PassFacts } from "./facts.ts";
import { statusFrom } from "./status.ts";

interface StatusCase extends CaseHead {
  channels?: string[];
  facts: Partial<PassFacts>;
  error?: { kind: "retryable" | "terminal"; reason?: string; message: string };
  want: Record<string, [Condition["status"], string, string]>;
  install?: unknown;
}

const NOW = "2026-01-01T00:00:00Z";

test.for(loadCases<StatusCase>("status"))("$name", ({ channels, facts, error, want, install }) => {
  const extension = extensionNamed("x", { packageName: "p", ...(channels ? { channels } : {}) });
  const thrown = error && new (error.kind === "terminal" ? TerminalError : RetryableError)(error.reason ?? "Blocked", error.message);
  const status = statusFrom(extension, { ...newFacts(extension), ...facts }, thrown, NOW);
  const got = Object.fromEntries((status.conditions ?? []).map((c) => [c.type, [c.status, c.reason, c.message]]));
  expect(got).toMatchObject(want);
  const deprecations = facts.deleting === undefined ? ["BundleDeprecated", "ChannelDeprecated", "Deprecated", "PackageDeprecated"] : [];
  expect(Object.keys(got).sort()).toEqual([...deprecations, "Available", "Installed", "Progressing", "Ready"].sort());
  expect(status.install).toEqual(install);
});

test("a second pass with the same facts changes nothing, a change of status moves the transition time", () => {
  const extension = extensionNamed("x", { packageName: "p" });
  const first = statusFrom(extension, newFacts(extension), undefined, NOW);
  const again = statusFrom({ ...extension, status: first }, newFacts(extension), undefined, "2026-01-02T00:00:00Z");
  expect(again).toEqual(first);
  const blocked = statusFrom(
    { ...extension, status: first },
    newFacts(extension),
    new TerminalError("Blocked", "no"),
    "2026-01-02T00:00:00Z",
  );
  const moved = (blocked.conditions ?? []).filter((c) => c.lastTransitionTime === "2026-01-02T00:00:00Z").map((c) => c.type);
  expect(moved).toEqual(["Progressing"]);
});
