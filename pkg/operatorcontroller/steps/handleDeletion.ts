import { ANNOTATION_FORCE_DELETE, FINALIZER_ORPHAN, FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import type { Step, StepContext } from "../../controller/reconcile.ts";
import { messageOf, RetryableError, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { unreadableText } from "../../release/storage/decode.ts";
import { Applier } from "../apply/applier.ts";
import { changes, listed, summary } from "../apply/objectAction.ts";
import { hideSourced } from "../configuration/hiding.ts";
import type { DependencyExtensions } from "../dependencies/dependencyExtensions.ts";
import type { Dependents } from "../dependencies/dependents.ts";
import { hasSpec, type PassFacts } from "../facts.ts";
import { CHANGED_MS, writeFinalizers } from "../finalizers.ts";
import type { ExtensionMemory } from "../memory.ts";
import { type ReleaseStore, requireReadable } from "../releases/releaseStore.ts";
import { type Identities, ServiceAccountMissing } from "../rights/identity.ts";
import { Uninstaller, type UninstallProgress } from "../uninstaller.ts";
import { holdUninstall } from "./holdUninstall.ts";
import { installedOf } from "./retrieveReleases.ts";

/** What removal needs from the outside. */
export interface DeletionDependencies {
  client: Pick<Client, "patch">;
  identities: Pick<Identities, "clientFor">;
  releases: Pick<ReleaseStore, "history" | "remove">;
  events: EventSink;
  memory: ExtensionMemory;
  dependents: Pick<Dependents, "of">;
  /** Lets go what policy Install made for the extension. */
  dependencies: Pick<DependencyExtensions, "release">;
  /** Drops what is kept for an extension of that name, such as unpacked images. */
  forget: (extension: string) => Promise<void>;
}

type Context = StepContext<PassFacts["extension"]>;

/** How soon an uninstall that waits for objects to go looks again. */
const POLL_MS = 250;

/**
 * Takes a deleted extension's objects off the cluster, removes its releases and then lets it go:
 *
 * | deleted                                  | objects                                                       | releases |
 * | while others depend on it                | stay until they do not, or it is annotated, see holdUninstall | stay     |
 * | with --cascade=orphan                    | stay                                                          | stay     |
 * | naming a ServiceAccount that is gone     | are waited for: the condition says what to do                 | stay     |
 * | the same, with annotation force-delete   | go by their ownerReferences; CRDs, which carry none, stay     | go       |
 * | naming no ServiceAccount                 | the same                                                      | go       |
 * | while a release cannot be read           | stay until its Secret is repaired or deleted                  | stay     |
 * | in any other way                         | are deleted as the ServiceAccount, in stages, and waited for  | go       |
 */
export function handleDeletion(deps: DeletionDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "HandleDeletion",
    async run(facts, context) {
      const { extension } = facts;
      const { name, uid = "", deletionTimestamp, finalizers = [] } = extension.metadata;
      if (deletionTimestamp === undefined) return undefined;
      facts.deleting = "uninstalling";
      const others = finalizers.filter((finalizer) => finalizer !== FINALIZER_UNINSTALL && !GO_FINALIZERS.includes(finalizer));
      if (others.length === finalizers.length) {
        facts.deleting = `uninstalled; it goes when these finalizers of others are removed: ${listed(others)}`;
        return {};
      }
      const { signal } = context;
      try {
        facts.history = await deps.releases.history({ name, uid }, { signal });
      } catch (err) {
        facts.unknownBecause = messageOf(err);
        throw err;
      }
      hideSourced(facts);
      deps.memory.of(extension).hidden = facts.hidden;
      facts.installed = installedOf(facts.history.current);
      facts.unreadable = facts.history.unreadable.map(unreadableText);
      deps.memory.of(extension).awaitsReleases = facts.unreadable.length > 0;
      const { current, older, unfinished, orphaned } = facts.history;
      if (orphaned || finalizers.includes(FINALIZER_ORPHAN)) {
        deps.events.record(extension, "Normal", "Orphaned", "deleted with --cascade=orphan: objects and releases are left as they are");
      } else {
        stopAtUnreadable(facts);
        await holdUninstall(deps, facts);
        if (!(await uninstall(deps, facts, context))) return { requeueAfterMs: POLL_MS };
        const versions = [...[...current, ...older].map(({ version }) => version), ...unfinished];
        for (const version of versions) await deps.releases.remove(name, version, { signal });
        facts.installed = undefined;
        await deps.dependencies.release(extension, signal);
      }
      await deps.forget(name);
      const outcome = await writeFinalizers(deps.client, extension, others, signal);
      if (outcome === "changed") return { requeueAfterMs: CHANGED_MS };
      facts.leave = true;
      context.log.info("extension removed");
      return {};
    },
  };
}

/**
 * Stops an uninstallation that would leave objects behind.
 * @throws ReleaseUnreadable when some release cannot be read: the objects that it may own are not known.
 */
function stopAtUnreadable(facts: PassFacts): void {
  try {
    requireReadable(facts.history);
  } catch (err) {
    facts.unknownBecause = facts.unreadable?.join("; ") ?? messageOf(err);
    throw err;
  }
}

/** @returns whether everything that is to go is gone. */
async function uninstall(deps: DeletionDependencies, facts: PassFacts, context: Context): Promise<boolean> {
  const { extension, history } = facts;
  deps.memory.record(extension, history.current, { keep: true });
  const { recorded } = deps.memory.of(extension);
  if (recorded.length === 0) return true;
  const client = await clientOrReason(deps, facts, context);
  if (typeof client === "string") {
    const text = `objects are left to the garbage collector and CustomResourceDefinitions stay: ${client}`;
    context.log.warn({ reason: client }, "objects are left to the garbage collector");
    deps.events.record(extension, "Warning", "UninstalledByGarbageCollector", text);
    return true;
  }
  const applier = new Applier(client, context.log, context.signal);
  let progress: UninstallProgress;
  try {
    progress = await new Uninstaller(client, applier, extension, context.signal).run(recorded, (text) => {
      context.log.info({ dropped: text }, "conversion webhook dropped");
      deps.events.record(extension, "Normal", "ConversionDropped", text);
    });
  } finally {
    const done = changes(applier.actions);
    if (done.length > 0) deps.events.record(extension, "Normal", "Uninstalled", summary(done));
  }
  if (progress.waitingFor.length > 0) {
    facts.deleting = `uninstalling: waiting for ${listed(progress.waitingFor)} to be gone`;
    return false;
  }
  for (const { text } of progress.kept) {
    context.log.info({ kept: text }, "custom resource definition kept");
    deps.events.record(extension, "Normal", "Kept", text);
  }
  return true;
}

/**
 * The client that may delete the extension's objects, or why it is to go without one.
 * @throws RetryableError Retrying when the one it names does not exist, with what to do about it.
 */
async function clientOrReason(deps: DeletionDependencies, { extension }: PassFacts, { signal }: Context): Promise<Client | string> {
  if (!hasSpec(extension)) return "spec is missing, so that no ServiceAccount is named";
  const { name, annotations } = extension.metadata;
  try {
    return await deps.identities.clientFor(extension, signal);
  } catch (err) {
    const why = messageOf(err);
    if (err instanceof TerminalError) return why;
    if (!(err instanceof ServiceAccountMissing)) throw err;
    if (annotations?.[ANNOTATION_FORCE_DELETE] === "true") return why;
    const text =
      `${why}; nobody may delete the objects of the bundle: create the ServiceAccount and its rules again (olmv1 rbac prints them), or leave ` +
      `the objects to the garbage collector, CustomResourceDefinitions staying: kubectl annotate clusterextension ${name} ${ANNOTATION_FORCE_DELETE}=true`;
    throw new RetryableError(err.reason, text, { cause: err });
  }
}
