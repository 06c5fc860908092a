import { type ClusterCapabilities, listObstacles } from "../../browse/clusterCapabilities.ts";
import { buildPackageDetails } from "../../browse/details/packageDetails.ts";
import { findRequestedBundle, type PackageInCatalog } from "../../browse/packageView.ts";
import type { PackageDetails } from "../../consoleapi/packages.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { findRepresentative } from "../../fbc/summary/packageSummary.ts";
import type { InstalledExtension } from "../../rollout/extensions.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { toSupportQuery } from "./openPackages.ts";

const MAX_INSTALLED = 100;

/** What is known about the cluster. */
interface KnownCluster {
  readonly installed: readonly InstalledExtension[] | undefined;
  readonly capabilities: ClusterCapabilities | undefined;
  /** Whether extensions require a ServiceAccount. */
  readonly needsAccount: boolean;
}

/** Describes a package and one version of it, with its installations. @throws ConsoleError notFound if it has no such version */
export function buildClusterPackage(
  [found, ...others]: readonly [PackageInCatalog, ...PackageInCatalog[]],
  version: string | undefined,
  { installed, capabilities, needsAccount }: KnownCluster,
): PackageDetails {
  const { name, catalog, facts, metas, content } = found;
  const bundle = findBundle(found, version);
  const meta = metas.find((one) => one.schema === "olm.bundle" && one.name === bundle.name);
  const stated = content.bundles.find((one) => one.name === bundle.name);
  const alsoIn = others.map((other) => ({ catalog: other.catalog, version: findRepresentative(other.facts)?.bundle.version }));
  const when = toSupportQuery(capabilities);
  const details = buildPackageDetails({ when, catalog, facts, bundle, meta, stated }, alsoIn);
  const own = installed?.filter((one) => one.package === name);
  const { described, install } = details;
  return {
    ...details,
    install: needsAccount ? { ...install, command: `${install.command} --create-service-account` } : install,
    versions: own
      ? details.versions.map((one) => ({
          ...one,
          installedBy: own.filter((extension) => extension.bundle === one.bundle).map(({ extension }) => extension),
        }))
      : details.versions,
    ...(own
      ? { installed: own.slice(0, MAX_INSTALLED).map((one) => ({ extension: one.extension, version: one.version, catalog: one.catalog })) }
      : {}),
    ...(capabilities ? { obstacles: listObstacles(described, described, capabilities) } : {}),
  };
}

function findBundle(found: PackageInCatalog, version: string | undefined): ReturnType<typeof findRequestedBundle> {
  try {
    return findRequestedBundle(found, { version });
  } catch (err) {
    throw new ConsoleError("notFound", getErrorMessage(err), { cause: err });
  }
}
