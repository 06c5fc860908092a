import { toBundleVersion } from "../fbc/bundleOrder.ts";
import { selectReachable } from "../fbc/graph/subgraph.ts";
import type { GraphSource } from "../fbc/graph/updateGraph.ts";
import type { InstalledExtension } from "../rollout/extensions.ts";
import { findBundleByText, formatMissingChannel, type PackageInCatalog } from "./packageView.ts";

/** The part of an update graph to show. */
export interface GraphChoice {
  /** Empty for all channels. */
  readonly channel: readonly string[];
  /** Shows only this version and those that an installation of it can reach. */
  readonly from?: string | undefined;
  /** Extensions by the name of their installed bundle. */
  readonly installed: ReadonlyMap<string, readonly string[]>;
}

/** Returns the extensions that installed the package, by the name of their bundle. */
export function groupByInstalledBundle(packageName: string, installed: readonly InstalledExtension[] = []): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const one of installed) {
    if (one.package === packageName) names.set(one.bundle, [...(names.get(one.bundle) ?? []), one.extension]);
  }
  return names;
}

/** Returns the update graph of a package with marks for installed bundles. @throws Error if a channel or the version does not exist */
export function readGraphSource(found: PackageInCatalog, { channel, from, installed }: GraphChoice): GraphSource {
  const { name, content, facts } = found;
  const unknown = channel.find((one) => !content.channels.some((own) => own.name === one));
  if (unknown !== undefined)
    throw new Error(
      formatMissingChannel(
        name,
        unknown,
        content.channels.map((one) => one.name),
      ),
    );
  const versions = facts.bundles.flatMap(({ name: bundle, version, release }) =>
    version === undefined ? [] : [[bundle, toBundleVersion(version, release)] as const],
  );
  const source: GraphSource = {
    package: name,
    defaultChannel: content.package?.defaultChannel,
    channels: channel.length === 0 ? content.channels : content.channels.filter((own) => channel.includes(own.name)),
    versions: new Map(versions),
    deprecations: content.deprecations,
    installed,
  };
  return from === undefined ? source : selectFrom(source, found, from);
}

function selectFrom(source: GraphSource, found: PackageInCatalog, version: string): GraphSource {
  const { name } = findBundleByText(found, version);
  const reachable = selectReachable(source, name);
  if (reachable.channels.length === 0) throw new Error(`no selected channel contains ${name}`);
  return reachable;
}
