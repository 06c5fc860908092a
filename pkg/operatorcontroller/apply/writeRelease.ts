import { CLUSTER_EXTENSION, LABEL_BUNDLE_NAME } from "../../api/constants.ts";
import { CLASSIC_FIELD_MANAGERS, isMigrated } from "../../api/migration.ts";
import { describeObject } from "../../release/identity.ts";
import { withoutDrifted } from "../../release/drift.ts";
import { GO_FIELD_MANAGER } from "../../release/managedFields.ts";
import type { LeftObject } from "../../release/record.ts";
import type { ExtensionCertificates } from "../certificates/extensionCertificates.ts";
import type { PassFacts } from "../facts.ts";
import type { Need } from "./handovers.ts";
import { isKept } from "./keptCrds.ts";
import { dropConversions } from "./lostConversions.ts";
import type { NextRelease } from "./nextRelease.ts";
import { listed } from "./objectAction.ts";
import type { PassObjects } from "./passObjects.ts";
import type { Passed } from "./preflight.ts";
import { prune } from "./prune.ts";
import type { ReleaseEvents } from "./releaseEvents.ts";

/** What writing a release works with. */
export interface WriteTools {
  pass: PassObjects;
  certificates: ExtensionCertificates;
  events: ReleaseEvents;
}

/** What writing a release came to. */
export interface Written {
  /** Something is left as somebody changed it. */
  isDriftLeft: boolean;
  /** What the release no longer contains and stays: what other extensions want, and kept definitions. */
  left: LeftObject[];
}

/**
 * Writes the objects of a release, those of other extensions included that they give up, and removes what they replace.
 * @throws RetryableError with every refusal of the kind, or of the removals, at which it stopped.
 */
export async function writeRelease(
  { pass, certificates, events }: WriteTools,
  { bundle, objects, base, content, leavesDrift }: NextRelease,
  { live: found, after, needs }: Pick<Passed, "live" | "after" | "needs">,
): Promise<Written> {
  const { applier, facts, deps, scoped, context, owner } = pass;
  const live = await pass.takeFromOthers(needs, found);
  for (const need of needs) events.record("Normal", "HandedOver", handedOverText(need));
  await certificates.withdraw(objects, live);
  const taken = await pass.take(live, writersBefore(facts.extension, base, content));
  const applied = pass.applied(objects, taken, base === undefined && isMigrated(facts.extension));
  const written = leavesDrift ? withoutDrifted(applied, { recorded: base?.objects ?? [], live: taken, after }) : applied;
  await applier.apply(written, taken);
  for (const text of await dropConversions(scoped, await pass.lostConversions(objects), context.signal))
    events.record("Normal", "ConversionDropped", text);
  const { kept, left } = await prune(applier, scoped, pass.pruneRequest(objects), context.signal);
  for (const { text } of kept) events.record("Normal", "Kept", text);
  const given = left.filter((one) => !isKept(one));
  if (given.length > 0) events.record("Normal", "HandedOver", `left for other extensions: ${listed(given.map(describeObject))}`);
  await certificates.keep(objects);
  events.applied(bundle.name, applier.actions, live, owner, deps.extensionExists);
  return { isDriftLeft: written.length < applied.length || written.some((object) => !applied.includes(object)), left };
}

function handedOverText({ object, owner }: Need): string {
  return `took ${describeObject(object)} from ${CLUSTER_EXTENSION} "${owner}", which gives it up`;
}

/**
 * Whose fields become ours with a release: those of the Go operator-controller always. What OLM classic added to a Pod stays until the first other
 * bundle of an extension that a Subscription was converted to, whose Pods are made anew anyhow.
 */
function writersBefore(
  extension: PassFacts["extension"],
  base: NextRelease["base"],
  { labels }: NextRelease["content"],
): readonly string[] {
  const isOtherBundle = base !== undefined && base.labels[LABEL_BUNDLE_NAME] !== labels[LABEL_BUNDLE_NAME];
  return isMigrated(extension) && isOtherBundle ? [GO_FIELD_MANAGER, ...CLASSIC_FIELD_MANAGERS] : [GO_FIELD_MANAGER];
}
