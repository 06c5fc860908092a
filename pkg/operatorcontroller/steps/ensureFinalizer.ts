import { FINALIZER_UNINSTALL } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import type { Client } from "../../kube/client.ts";
import type { PassFacts } from "../facts.ts";
import { CHANGED_MS, writeFinalizers } from "../finalizers.ts";

/** Makes sure that the extension waits for its uninstall when it is deleted, before anything of it is written. */
export function ensureFinalizer(client: Pick<Client, "patch">): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "EnsureFinalizer",
    async run(facts, { signal }) {
      const { finalizers = [] } = facts.extension.metadata;
      if (finalizers.includes(FINALIZER_UNINSTALL)) return undefined;
      const outcome = await writeFinalizers(client, facts.extension, [...finalizers, FINALIZER_UNINSTALL], signal);
      if (outcome === "written") return undefined;
      facts.leave = true;
      return outcome === "changed" ? { requeueAfterMs: CHANGED_MS } : {};
    },
  };
}
