import type { ClusterExtensionSpec } from "../../../pkg/api/clusterExtension.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { type ReaderOptions, withReader } from "../rbac/bundleReader.ts";
import { type BundleRights, bundleRights } from "../rbac/bundleRights.ts";

/** What of an extension decides about the rights that its bundles need; without a namespace it is the one that the first bundle suggests. */
export interface RightsRequest extends Pick<ClusterExtensionSpec, "config" | "install" | "uninstall"> {
  readonly namespace: string | undefined;
  readonly serviceAccount: string;
}

/** The rights for bundle images, each pulled, in their order. @throws Error that names the image. */
export async function rightsFor(
  terminal: Terminal,
  images: readonly string[],
  { namespace, serviceAccount, config, install, uninstall }: RightsRequest,
  options: ReaderOptions,
): Promise<BundleRights[]> {
  const bundleOptions = {
    ...(namespace === undefined ? {} : { namespace }),
    serviceAccount,
    config: config?.inline,
    strategy: "escalate" as const,
    crdPolicy: uninstall?.crdPolicy ?? "DeleteIfUnused",
    webhookCertProvider: "auto" as const,
    aggregateUserRoles: install?.userRoles === "Aggregate",
    valuesFrom: config?.valuesFrom ?? [],
  };
  return withProgress(terminal, `pulling ${images.join(", ")}`, () =>
    withReader(options, (reader) => bundleRights(terminal, images, bundleOptions, reader)),
  );
}
