import { COLLECTOR_FINALIZERS, FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import type { Step } from "../../controller/reconcile.ts";
import type { Client } from "../../kube/client.ts";
import type { PassFacts } from "../facts.ts";
import { CHANGED_MS, writeFinalizers } from "../finalizers.ts";

/**
 * Removes finalizers of the garbage collector from an extension that is not being deleted. One that was there before the deletion would make
 * an ordinary deletion leave all objects behind, whoever had set it; the API server adds it when somebody deletes with `--cascade=orphan`.
 */
export function removeCollectorFinalizers(client: Pick<Client, "patch">, events: EventSink): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "RemoveCollectorFinalizers",
    async run(facts, { signal, log }) {
      const { extension } = facts;
      const { finalizers = [], deletionTimestamp } = extension.metadata;
      const removed = finalizers.filter((finalizer) => COLLECTOR_FINALIZERS.includes(finalizer));
      if (deletionTimestamp !== undefined || removed.length === 0) return undefined;
      const kept = finalizers.filter((finalizer) => !removed.includes(finalizer));
      const outcome = await writeFinalizers(client, extension, kept, signal);
      facts.leave = true;
      if (outcome === "gone") return {};
      if (outcome === "written") {
        log.warn({ finalizers: removed }, "finalizers removed from an extension that is not being deleted");
        const text = `finalizer ${removed.join(", ")} removed: the extension is not being deleted. To leave its objects behind, delete it with --cascade=orphan`;
        events.record(extension, "Warning", "FinalizerRemoved", text);
      }
      return { requeueAfterMs: CHANGED_MS };
    },
  };
}

/**
 * Makes sure that the extension waits for its uninstall when it is deleted, before anything of it is written. It waits no longer for
 * the Go operator-controller, whose finalizers nobody else would remove.
 */
export function ensureFinalizer(client: Pick<Client, "patch">): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "EnsureFinalizer",
    async run(facts, { signal }) {
      const { finalizers = [] } = facts.extension.metadata;
      const others = finalizers.filter((finalizer) => finalizer !== FINALIZER_UNINSTALL && !GO_FINALIZERS.includes(finalizer));
      const wanted = [...others, FINALIZER_UNINSTALL];
      if (wanted.length === finalizers.length && finalizers.includes(FINALIZER_UNINSTALL)) return undefined;
      const outcome = await writeFinalizers(client, facts.extension, wanted, signal);
      if (outcome === "written") return undefined;
      facts.leave = true;
      return outcome === "changed" ? { requeueAfterMs: CHANGED_MS } : {};
    },
  };
}
