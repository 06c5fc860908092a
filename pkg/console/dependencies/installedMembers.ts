import { LRUCache } from "lru-cache";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { ConstraintCache } from "../../operatorcontroller/dependencies/constraintCache.ts";
import type { InstalledProvider } from "../../operatorcontroller/releases/installedReleases.ts";
import { ReadOnlyReleases } from "../../operatorcontroller/releases/readOnlyReleases.ts";
import { readInstalledProvider } from "../../preview/installedDependents.ts";
import { findBundleVersion } from "../../resolve/candidates.ts";
import type { InstalledMember } from "../../resolve/dependencies/dependents.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";

const PARALLEL = 8;
const MAX_HELD = 1_000;
const NO_CONSTRAINTS = { constraints: [], faults: [] };

/** The installed bundles, and what could not be read, one sentence each. */
export interface InstalledMembers {
  readonly members: readonly InstalledMember[];
  readonly unknown: readonly string[];
}

/** Reads the installed bundles of extensions from their releases. Remembers them for each user, because a release is large. */
export class InstalledMemberReader {
  readonly #held = new WeakMap<ClusterIdentity, LRUCache<string, InstalledProvider>>();
  readonly #systemNamespace: string;
  readonly #constraints: ConstraintCache;

  constructor(systemNamespace: string, constraints: ConstraintCache) {
    this.#systemNamespace = systemNamespace;
    this.#constraints = constraints;
  }

  /** Returns the installed bundles. A bundle whose release cannot be read has the APIs in the status, and no requirements. */
  async read(identity: ClusterIdentity, extensions: readonly ClusterExtension[], signal: AbortSignal): Promise<InstalledMembers> {
    const releases = new ReadOnlyReleases(identity.client, this.#systemNamespace);
    const held = this.#held.get(identity) ?? new LRUCache({ max: MAX_HELD });
    this.#held.set(identity, held);
    const unknown: string[] = [];
    const found = await mapInParallel(extensions, PARALLEL, async (extension): Promise<InstalledProvider | undefined> => {
      const { metadata, status } = extension;
      const installed = status?.install?.bundle;
      if (!installed) return undefined;
      const key = JSON.stringify([metadata.uid, installed]);
      const known = held.get(key);
      if (known) return known;
      try {
        const provider = await readInstalledProvider(releases, extension, signal);
        if (provider?.name !== installed.name) return readStatusProvider(extension);
        held.set(key, provider);
        return provider;
      } catch (err) {
        signal.throwIfAborted();
        unknown.push(
          `The requirements of extension ${goQuote(metadata.name)} are unknown: ${truncate(getErrorMessage(err), CAUSE_LENGTH)}.`,
        );
        return readStatusProvider(extension);
      }
    });
    const providers = found.flatMap((one) => one ?? []);
    await this.#constraints.prepare(providers.map(({ properties }) => properties));
    const ignoring = new Set(extensions.filter(({ spec }) => spec.dependencies?.policy === "Ignore").map(({ metadata }) => metadata.name));
    const members = providers.map((provider): InstalledMember => {
      const { extension, name: bundle } = provider;
      return { extension, bundle, provider, declared: ignoring.has(extension) ? NO_CONSTRAINTS : this.#constraints.read(provider) };
    });
    return { members, unknown };
  }
}

/** Returns the installed bundle with the APIs in the status of its extension. */
function readStatusProvider({ metadata, spec, status }: ClusterExtension): InstalledProvider | undefined {
  const bundle = status?.install?.bundle;
  const packageName = spec.source.catalog?.packageName;
  if (!bundle || packageName === undefined) return undefined;
  const { name, version, release } = bundle;
  const identity = { type: "olm.package", value: { packageName, version, ...(release === undefined ? {} : { release }) } };
  const apis = (status.providedAPIs ?? []).flatMap(({ group, kind, versions }) =>
    versions.map((served) => ({ group, kind, version: served })),
  );
  const properties = [identity];
  return { extension: metadata.name, name, packageName, version: findBundleVersion({ name, properties }), apis, properties };
}
