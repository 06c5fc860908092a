import { FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import type { Client } from "../../kube/client.ts";
import type { PassFacts } from "../facts.ts";
import { CHANGED_MS, writeFinalizers } from "../finalizers.ts";

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
