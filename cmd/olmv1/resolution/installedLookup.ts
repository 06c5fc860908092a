import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { servedFrom } from "../../../pkg/operatorcontroller/catalogs/catalogContents.ts";
import type { InstalledProvider } from "../../../pkg/operatorcontroller/installed/installedBundles.ts";
import { providedApis } from "../../../pkg/release/providedBundle.ts";
import { candidatesFrom } from "../../../pkg/resolve/candidates.ts";
import { providerFrom } from "../../../pkg/resolve/constraint/parse.ts";
import { candidatesMeant } from "../../../pkg/resolve/whyNot.ts";
import type { OfferedBundle } from "../../../pkg/resolve/dependencies/offerIndex.ts";
import type { InstalledBundle } from "../../../pkg/resolve/successors.ts";
import type { WholeCatalog, WholeCatalogs } from "./wholeCatalogs.ts";

/** A bundle that counts as installed. */
export interface LookedUp {
  readonly bundle: InstalledProvider;
  /** Whether a catalog says what it provides and requires. */
  readonly isOffered: boolean;
}

/** Where bundles are looked up. */
export interface LookupSources {
  readonly extension: ClusterExtension;
  readonly installed: InstalledBundle | undefined;
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
}

/** Tells what catalogs say about bundles that are installed. */
export class InstalledLookup {
  readonly #sources: LookupSources;

  constructor(sources: LookupSources) {
    this.#sources = sources;
  }

  /** What an extension has installed by its status; undefined where that is nothing. */
  async installedBy({ metadata, spec, status }: ClusterExtension): Promise<LookedUp | undefined> {
    const packageName = spec?.source.catalog?.packageName;
    const installed = status?.install?.bundle;
    if (packageName === undefined || !installed) return undefined;
    return this.#lookUp(metadata.name, packageName, installed, status?.providedAPIs);
  }

  /** What counts as installed by the extension that is asked about. */
  async own(): Promise<LookedUp | undefined> {
    const { extension, installed } = this.#sources;
    if (!installed) return undefined;
    const { metadata, spec, status } = extension;
    const apis = status?.install?.bundle.name === installed.name ? status.providedAPIs : undefined;
    return this.#lookUp(metadata.name, spec.source.catalog?.packageName ?? "", installed, apis);
  }

  /** What "NAME=VERSION" says is installed, as an extension called like the package. @throws Error where no catalog has it. */
  async stated(given: string): Promise<LookedUp> {
    const at = given.indexOf("=");
    const [packageName, version] = [given.slice(0, at), given.slice(at + 1)];
    if (at < 1 || version === "") throw new Error(`--installed-package ${goQuote(given)} is not written as NAME=VERSION`);
    for (const catalog of await this.#catalogs()) {
      const [found] = candidatesMeant(candidatesFrom(catalog.packageContent(packageName), new Set()), version);
      if (found) return { bundle: { ...providerFrom(found.bundle), name: found.bundle.name, extension: packageName }, isOffered: true };
    }
    throw new Error(`--installed-package: no catalog has version ${goQuote(version)} of package ${goQuote(packageName)}`);
  }

  async #lookUp(
    extension: string,
    packageName: string,
    { name, version, release }: InstalledBundle,
    provided: NonNullable<ClusterExtension["status"]>["providedAPIs"] = [],
  ): Promise<LookedUp> {
    const offered = await this.#offered(packageName, name);
    const identity = { type: "olm.package", value: { packageName, version, ...(release === undefined ? {} : { release }) } };
    const bundle = offered ?? { package: packageName, name, properties: [identity] };
    const stated = providerFrom({ ...bundle, properties: [...bundle.properties] });
    const served = provided.flatMap(({ group, kind, versions }) => versions.map((of) => ({ group, version: of, kind })));
    return { bundle: { ...stated, name, extension, apis: providedApis(served, stated.apis) }, isOffered: offered !== undefined };
  }

  async #offered(packageName: string, name: string): Promise<OfferedBundle | undefined> {
    const found = (await this.#catalogs()).map(({ index }) => index.bundlesOf(packageName).find((bundle) => bundle.name === name));
    return found.find((bundle) => bundle !== undefined);
  }

  /** Those that can be asked, in their order. */
  async #catalogs(): Promise<WholeCatalog[]> {
    const { catalogs, whole } = this.#sources;
    const read = await Promise.all(
      catalogs.map(async (catalog) => {
        const state = servedFrom(catalog);
        return typeof state === "string" ? undefined : whole.of(state.ref).catch(() => undefined); // the resolution names it
      }),
    );
    return read.flatMap((one) => one ?? []);
  }
}
