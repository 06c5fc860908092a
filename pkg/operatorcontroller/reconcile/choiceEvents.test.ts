import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import { authenticated, resolved } from "../../../test/support/phases.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { Phase, PinnedRevision, ResolvedBundle } from "../state/phases.ts";
import { choiceEvents } from "./resolve.ts";

const X = extensionNamed("x", { packageName: "p" });
const bundle = (version: string): InstalledBundle => ({ packageName: "p", name: `p.v${version}`, version, image: "i" });
const chosen = (version: string, catalog = "c"): ResolvedBundle => ({ ...bundle(version), explanation: `why ${version}`, catalog });

/** A pass, from what was installed before it to what was resolved. */
function pass(
  installed: InstalledBundle | undefined,
  chosenBundle: ResolvedBundle | undefined,
  parts: { pinned?: PinnedRevision } = {},
): Phase {
  const filtered = filterCandidates({ source: { packageName: "p" }, catalogs: [], installed });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const phase = chosenBundle ? resolved(X, chosenBundle, parts) : authenticated(X, parts);
  phase.report.catalogs.filtered = filtered;
  return phase;
}

// Source: D-24.
test.for<[why: string, passes: Phase[], told: string[]]>([
  ["the first bundle, once", [pass(undefined, chosen("1.0.0")), pass(bundle("1.0.0"), chosen("1.0.0"))], ["1.0.0"]],
  ["not what is installed already, after a start", [pass(bundle("1.0.0"), chosen("1.0.0"))], []],
  ["another bundle", [pass(bundle("1.0.0"), chosen("1.0.0")), pass(bundle("1.0.0"), chosen("1.1.0"))], ["1.1.0"]],
  ["the same of another catalog", [pass(bundle("1.0.0"), chosen("1.0.0")), pass(bundle("1.0.0"), chosen("1.0.0", "d"))], ["1.0.0"]],
  ["again after there was none", [chosen("1.0.0"), undefined, chosen("1.0.0")].map((one) => pass(bundle("1.0.0"), one)), ["1.0.0"]],
  ["not while a release is pinned", [pass(bundle("1.0.0"), chosen("1.1.0"), { pinned: { revision: 1 } as PinnedRevision })], []],
  ["not where no catalog was asked", [resolved(X, chosen("1.0.0"))], []],
])("an Event tells %s", ([, passes, told]) => {
  const events = new RecordedEvents();
  const tell = choiceEvents({ events, memory: new ExtensionCache() });
  for (const phase of passes) tell(phase);
  expect(events.seen).toEqual(told.map((version) => `Normal Resolved: why ${version}`));
});
