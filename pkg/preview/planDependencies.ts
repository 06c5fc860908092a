import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Client } from "../kube/client.ts";
import type { DependencyResolution } from "../operatorcontroller/dependencies/dependencyChoice.ts";
import type { PlanDependencies } from "../operatorcontroller/plan/planDependencies.ts";
import { readPlan } from "../operatorcontroller/state/knownPlan.ts";
import { declaresDependency } from "../resolve/constraint/parse.ts";
import type { FilteredCatalogs, Resolution } from "../resolve/resolution.ts";
import { chooseBest } from "../resolve/resolve.ts";
import type { CatalogFolderReader } from "../sources/clusterCatalogs.ts";
import { WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { type KnownInstallContext, readInstallContext } from "./installContext.ts";
import { createDependencySearch, type DependencySearch, PreviewChoice } from "./previewChoice.ts";

/** The sources of the dependency checks of a plan. */
export interface PlanDependencySources {
  readonly client: Client;
  /** All catalogs, whether or not an extension selects them. */
  readonly catalogs: readonly ClusterCatalog[];
  /** Whether they are the catalogs of the cluster. */
  readonly usesClusterCatalogs: boolean;
  readonly reader: CatalogFolderReader;
  /** Default: searches in this thread, see `createDependencySearch`. */
  readonly search?: DependencySearch | undefined;
}

/** Returns dependency checks that read the extensions, their plans and the served APIs from the cluster, but only if a plan needs them. */
export function createPlanDependencies(sources: PlanDependencySources): PlanDependencies {
  return new ClusterDependencies(sources);
}

class ClusterDependencies implements PlanDependencies {
  readonly #sources: PlanDependencySources;
  #known: KnownInstallContext | undefined;

  constructor(sources: PlanDependencySources) {
    this.#sources = sources;
  }

  get usesClusterCatalogs(): boolean {
    return this.#sources.usesClusterCatalogs;
  }

  get state(): PlanDependencies["state"] {
    return this.#known;
  }

  get unchecked(): string | undefined {
    return this.#known?.unknown === undefined ? undefined : this.#known.gaps.join("; ");
  }

  get gaps(): readonly string[] {
    return this.#known?.unknown === undefined ? (this.#known?.gaps ?? []) : [];
  }

  async choose(
    extension: ClusterExtension,
    filtered: FilteredCatalogs,
    selected: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<DependencyResolution> {
    const { client, catalogs, reader, search = createDependencySearch() } = this.#sources;
    const candidates = filtered.results.flatMap(({ allowed }) => allowed);
    const declares = candidates.some(({ bundle }) => declaresDependency(bundle.properties));
    const isNew = extension.status?.conditions === undefined && filtered.installed === undefined;
    if (!declares && isNew) return { resolution: chooseBest(filtered) };
    const whole = new WholeCatalogs(reader);
    const options = { installedPackage: [] };
    const { installed } = filtered;
    const known = await readInstallContext({
      extension,
      installed,
      catalogs,
      whole,
      constraints: search.constraints,
      client,
      options,
      signal,
    });
    this.#known = known;
    if (known.unknown !== undefined) return readStored(extension, chooseBest(filtered));
    return new PreviewChoice({ catalogs, whole, ...search, known, signal }).choose(extension, filtered, selected, signal);
  }
}

/** Returns a resolution with the plan in the status of the extension, if it contains the chosen bundle. */
function readStored(extension: ClusterExtension, resolution: Resolution): DependencyResolution {
  const plan = readPlan(extension);
  const isPlanned = resolution.kind === "resolved" && plan?.status.bundle.name === resolution.bundle.name;
  return { resolution, ...(isPlanned ? { plan } : {}) };
}
