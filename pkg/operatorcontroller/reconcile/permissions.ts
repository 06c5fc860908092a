import { keepsEarlierRelease, type ReconcileStep, type Unpacked } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** Requests the permissions for the bundle if permission-manager grants those of the extension, and waits for them. */
export function requestPermissions({ managed }: Pick<Services, "managed">): ReconcileStep<Unpacked> {
  return {
    name: "RequestPermissions",
    async run(phase, { signal }) {
      const { extension, bundle, pulledImage: image } = phase;
      const { catalog, name, version } = bundle;
      if (!managed.covers(extension) || image === undefined || catalog === undefined || keepsEarlierRelease(phase)) return phase;
      const packageName = extension.spec.source.catalog?.packageName ?? "";
      await managed.request(extension, { catalog, packageName, name, version, image }, signal);
      return phase;
    },
  };
}
