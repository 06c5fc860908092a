import { COLLECTOR_FINALIZERS, FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import { writeFinalizers } from "../../controller/finalizers.ts";
import { stopWithoutStatus } from "../../controller/stepSequence.ts";
import type { Observed, ReconcileStep, Started } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** Delay before the next reconcile of an extension that changed during this one. */
export const CHANGED_MS = 20;

/** Reports whether a finalizer delays the deletion of an extension until this or the Go implementation has uninstalled it. */
export function isUninstallFinalizer(finalizer: string): boolean {
  return finalizer === FINALIZER_UNINSTALL || GO_FINALIZERS.includes(finalizer);
}

/**
 * Removes finalizers of the garbage collector from an extension that is not being deleted. If such a finalizer stayed,
 * a later deletion would not delete any objects of the extension. The API server itself adds it only for a deletion
 * with `--cascade=orphan`.
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
      if (outcome === "gone") return stopWithoutStatus(phase);
      if (outcome === "written") {
        log.warn({ finalizers: removed }, "finalizers removed from an extension that is not being deleted");
        const text = `removed finalizer ${removed.join(", ")} because the extension is not being deleted. To keep its objects, delete the extension with --cascade=orphan`;
        events.record(extension, "Warning", "FinalizerRemoved", text);
      }
      return stopWithoutStatus(phase, { requeueAfterMs: CHANGED_MS });
    },
  };
}

/**
 * Adds the finalizer of this implementation before the controller writes any object. Removes the finalizers of the Go
 * operator-controller, because nothing else removes them.
 */
export function ensureFinalizer({ client }: Pick<Services, "client">): ReconcileStep<Observed> {
  return {
    name: "EnsureFinalizer",
    async run(phase, { signal }) {
      const { finalizers = [] } = phase.extension.metadata;
      const others = finalizers.filter((finalizer) => !isUninstallFinalizer(finalizer));
      const desired = [...others, FINALIZER_UNINSTALL];
      if (desired.length === finalizers.length && finalizers.includes(FINALIZER_UNINSTALL)) return phase;
      const outcome = await writeFinalizers(client, phase.extension, desired, signal);
      if (outcome === "written") return phase;
      return stopWithoutStatus(phase, outcome === "changed" ? { requeueAfterMs: CHANGED_MS } : {});
    },
  };
}
