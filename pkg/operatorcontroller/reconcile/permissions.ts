import { isDigestReference } from "../../api/imageReference.ts";
import { stopWithoutStatus } from "../../controller/stepSequence.ts";
import type { ReconcileStep, Resolved, Unpacked } from "../state/phases.ts";
import type { Services } from "./services.ts";
import { getPullReference } from "./unpack.ts";

/**
 * Requests the permissions to read the objects in `spec.config.valuesFrom`, if permission-manager grants those of the extension and has created no
 * ServiceAccount for it, and waits for them. Without such objects, the extension needs no permissions before its bundle is known.
 */
export function requestSources({ managed }: Pick<Services, "managed">): ReconcileStep<Resolved> {
  return {
    name: "RequestSources",
    async run(phase, { signal }) {
      const { extension } = phase;
      if (managed.covers(extension) && extension.spec.config?.valuesFrom && !managed.findAccount(extension))
        await managed.request(extension, undefined, signal);
      return phase;
    },
  };
}

/** Delay before the reconcile that has the ServiceAccount, in milliseconds. */
const AGAIN_MS = 1;

/** Requests the permissions for the bundle if permission-manager grants those of the extension, and waits for them. */
export function requestPermissions({ managed }: Pick<Services, "managed">): ReconcileStep<Unpacked> {
  return {
    name: "RequestPermissions",
    async run(phase, { signal }) {
      const { extension, bundle, pulledImage, held } = phase;
      const { catalog = extension.status?.install?.catalog, name, version } = bundle;
      // A bundle that was rolled back keeps its request, and with it the permissions of both bundles.
      if (!managed.covers(extension) || held) return phase;
      const image = pulledImage ?? getPullReference(bundle);
      if (catalog === undefined || !isDigestReference(image)) return phase;
      const packageName = extension.spec.source.catalog?.packageName ?? "";
      const isFirst = !managed.findAccount(extension);
      await managed.request(extension, { catalog, packageName, name, version, image }, signal);
      // Namespace and ServiceAccount exist now; the steps before this one did not know them.
      return isFirst ? stopWithoutStatus(phase, { requeueAfterMs: AGAIN_MS }) : phase;
    },
  };
}
