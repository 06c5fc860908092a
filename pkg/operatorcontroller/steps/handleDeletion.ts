import { FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import type { Step, StepContext } from "../../controller/steps.ts";
import { messageOf, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { Applier } from "../applier.ts";
import type { PassFacts } from "../facts.ts";
import { type Identities, ServiceAccountMissing } from "../identity.ts";
import type { ReleaseStore } from "../releaseStore.ts";
import { Uninstaller } from "../uninstaller.ts";
import { summary } from "./applyBundle.ts";
import { installedOf } from "./retrieveReleases.ts";

/** What removal needs from the outside. */
export interface DeletionDependencies {
  client: Client;
  identities: Identities;
  releases: ReleaseStore;
  events: EventRecorder;
  /** Drops what is cached for the extension, such as unpacked images. */
  forget: (extension: PassFacts["extension"]) => Promise<void>;
}

/** How soon an uninstall that waits for objects to go looks again. */
const POLL_MS = 250;
const LISTED = 5;

/**
 * Adds the finalizer to a living extension; takes a deleted one's objects off the cluster and then lets it go.
 * Without a usable ServiceAccount nothing is deleted here: the objects' ownerReferences let the garbage collector
 * remove them once the extension is gone, and CRDs, which carry none, stay.
 */
export function handleDeletion(deps: DeletionDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "HandleDeletion",
    async run(facts, context) {
      const { extension } = facts;
      const finalizers = extension.metadata.finalizers ?? [];
      const isOurs = (finalizer: string): boolean => finalizer === FINALIZER_UNINSTALL || GO_FINALIZERS.includes(finalizer);
      if (extension.metadata.deletionTimestamp === undefined) {
        if (!finalizers.includes(FINALIZER_UNINSTALL)) await setFinalizers(deps.client, extension, [...finalizers, FINALIZER_UNINSTALL]);
        return undefined;
      }
      facts.deleting = "uninstalling";
      if (!finalizers.some(isOurs)) return {};
      facts.history = await deps.releases.history(extension.metadata.name);
      facts.installed = installedOf(facts.history.current);
      if (!(await uninstall(deps, facts, context))) return { requeueAfterMs: POLL_MS };
      for (const { version } of [...facts.history.current, ...facts.history.older])
        await deps.releases.remove(extension.metadata.name, version);
      await deps.forget(extension);
      const others = finalizers.filter((finalizer) => !isOurs(finalizer));
      await setFinalizers(deps.client, extension, others);
      facts.gone = true;
      context.log.info("extension removed");
      return {};
    },
  };
}

/** @returns whether everything that is to go is gone. */
async function uninstall(deps: DeletionDependencies, facts: PassFacts, context: StepContext<PassFacts["extension"]>): Promise<boolean> {
  const { extension } = facts;
  const leaving = facts.history.current;
  if (leaving.length === 0) return true;
  let client: Client;
  try {
    client = await deps.identities.clientFor(extension);
  } catch (err) {
    if (!(err instanceof ServiceAccountMissing) && !(err instanceof TerminalError)) throw err;
    const text = `objects are left to the garbage collector and CustomResourceDefinitions stay: ${messageOf(err)}`;
    deps.events.record(extension, "Warning", "UninstalledByGarbageCollector", text);
    return true;
  }
  const applier = new Applier(client, context.log, context.signal);
  const progress = await new Uninstaller(client, applier, extension).run(leaving);
  if (progress.actions.length > 0) deps.events.record(extension, "Normal", "Uninstalled", summary(progress.actions));
  const { waitingFor } = progress;
  if (waitingFor.length > 0) {
    const more = waitingFor.length > LISTED ? ` and ${waitingFor.length - LISTED} more` : "";
    facts.deleting = `uninstalling: waiting for ${waitingFor.slice(0, LISTED).join(", ")}${more} to be gone`;
    return false;
  }
  for (const kept of progress.kept) {
    context.log.info({ kept }, "custom resource definition kept");
    deps.events.record(extension, "Normal", "Kept", kept);
  }
  return true;
}

async function setFinalizers(client: Client, extension: PassFacts["extension"], finalizers: readonly string[]): Promise<void> {
  const { apiVersion, kind, metadata } = extension;
  const body = { metadata: { resourceVersion: metadata.resourceVersion, finalizers } };
  await client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "merge" });
}
