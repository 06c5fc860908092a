import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated, buildResolved } from "../../../test/support/phases.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { Phase, PinnedRevision, ResolvedBundle } from "../state/phases.ts";
import { createChoiceRecorder } from "./resolve.ts";

const X = createExtension("x", { packageName: "p" });
const bundle = (version: string): InstalledBundle => ({ packageName: "p", name: `p.v${version}`, version, image: "i" });
const chosen = (version: string, catalog = "c"): ResolvedBundle => ({ ...bundle(version), explanation: `why ${version}`, catalog });

/** Returns the phase of a reconcile, with the bundle that was installed before it and the resolved one. */
function pass(
  installed: InstalledBundle | undefined,
  chosenBundle: ResolvedBundle | undefined,
  parts: { pinned?: PinnedRevision } = {},
): Phase {
  const filtered = filterCandidates({ source: { packageName: "p" }, catalogs: [], installed });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const phase = chosenBundle ? buildResolved(X, chosenBundle, parts) : buildAuthenticated(X, parts);
  phase.report.catalogs.filtered = filtered;
  return phase;
}

// Source: D-24.
test.for<[why: string, passes: Phase[], want: string[]]>([
  ["one Event for the first bundle", [pass(undefined, chosen("1.0.0")), pass(bundle("1.0.0"), chosen("1.0.0"))], ["1.0.0"]],
  ["no Event for the installed bundle after a start", [pass(bundle("1.0.0"), chosen("1.0.0"))], []],
  ["an Event for another bundle", [pass(bundle("1.0.0"), chosen("1.0.0")), pass(bundle("1.0.0"), chosen("1.1.0"))], ["1.1.0"]],
  [
    "an Event for the same bundle from another catalog",
    [pass(bundle("1.0.0"), chosen("1.0.0")), pass(bundle("1.0.0"), chosen("1.0.0", "d"))],
    ["1.0.0"],
  ],
  [
    "an Event after resolution had failed",
    [chosen("1.0.0"), undefined, chosen("1.0.0")].map((one) => pass(bundle("1.0.0"), one)),
    ["1.0.0"],
  ],
  ["no Event while a release is pinned", [pass(bundle("1.0.0"), chosen("1.1.0"), { pinned: { revision: 1 } as PinnedRevision })], []],
  ["no Event without catalogs", [buildResolved(X, chosen("1.0.0"))], []],
])("createChoiceRecorder records %s", ([, passes, want]) => {
  const events = new RecordedEvents();
  const record = createChoiceRecorder({ events, memory: new ExtensionCache() });
  for (const phase of passes) record(phase);
  expect(events.seen).toEqual(want.map((version) => `Normal Resolved: why ${version}`));
});
