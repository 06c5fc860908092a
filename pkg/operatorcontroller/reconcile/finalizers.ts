import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { COLLECTOR_FINALIZERS, FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import { leave } from "../../controller/story.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { Observed, ReconcileStep, Started } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** How soon to look again at an extension that changed while it was looked at. */
export const CHANGED_MS = 20;

/**
 * Replaces the finalizers of an extension, if it is still as it was read.
 * @returns `changed` when it is not, which is no error: it has to be looked at again; `gone` when it does not exist any more.
 */
export async function writeFinalizers(
  client: Pick<Client, "patch">,
  extension: Readonly<ClusterExtension>,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<"written" | "changed" | "gone"> {
  const { apiVersion, kind, metadata } = extension;
  const body = { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion, finalizers } };
  try {
    await client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "merge", signal });
    return "written";
  } catch (err) {
    if (isConflict(err)) return "changed";
    if (isNotFound(err)) return "gone";
    throw err;
  }
}

/**
 * Removes finalizers of the garbage collector from an extension that is not being deleted. One that was there before the deletion would make
 * an ordinary deletion leave all objects behind, whoever had set it; the API server adds it when somebody deletes with `--cascade=orphan`.
 */
export function removeCollectorFinalizers({ client, events }: Pick<Services, "client" | "events">): ReconcileStep<Started> {
  return {
    name: "RemoveCollectorFinalizers",
    async run(phase, { signal, log }) {
      const { extension } = phase;
      const { finalizers = [], deletionTimestamp } = extension.metadata;
      const removed = finalizers.filter((finalizer) => COLLECTOR_FINALIZERS.includes(finalizer));
      if (deletionTimestamp !== undefined || removed.length === 0) return phase;
      const kept = finalizers.filter((finalizer) => !removed.includes(finalizer));
      const outcome = await writeFinalizers(client, extension, kept, signal);
      if (outcome === "gone") return leave(phase);
      if (outcome === "written") {
        log.warn({ finalizers: removed }, "finalizers removed from an extension that is not being deleted");
        const text = `finalizer ${removed.join(", ")} removed: the extension is not being deleted. To leave its objects behind, delete it with --cascade=orphan`;
        events.record(extension, "Warning", "FinalizerRemoved", text);
      }
      return leave(phase, { requeueAfterMs: CHANGED_MS });
    },
  };
}

/**
 * Makes sure that the extension waits for its uninstall when it is deleted, before anything of it is written. It waits no longer for
 * the Go operator-controller, whose finalizers nobody else would remove.
 */
export function ensureFinalizer({ client }: Pick<Services, "client">): ReconcileStep<Observed> {
  return {
    name: "EnsureFinalizer",
    async run(phase, { signal }) {
      const { finalizers = [] } = phase.extension.metadata;
      const others = finalizers.filter((finalizer) => finalizer !== FINALIZER_UNINSTALL && !GO_FINALIZERS.includes(finalizer));
      const wanted = [...others, FINALIZER_UNINSTALL];
      if (wanted.length === finalizers.length && finalizers.includes(FINALIZER_UNINSTALL)) return phase;
      const outcome = await writeFinalizers(client, phase.extension, wanted, signal);
      if (outcome === "written") return phase;
      return leave(phase, outcome === "changed" ? { requeueAfterMs: CHANGED_MS } : {});
    },
  };
}
