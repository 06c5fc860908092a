import type { CatalogSource } from "../api/clusterExtension.ts";
import { messageOf } from "../errors/errors.ts";
import type { ClusterVersion } from "../gate/clusterVersion.ts";
import { parseConstraint } from "../version/masterminds.ts";
import type { Query } from "./filters.ts";
import { type InstalledBundle, installedVersion } from "./successors.ts";

/** What a source asks of every catalog, or what of it cannot be read. */
export type ReadQuery =
  | { readonly kind: "read"; readonly query: Query }
  | { readonly kind: "badRange"; readonly error: Error }
  /** The version of what is installed cannot be read and edges decide; `query` is as if nothing were installed. */
  | { readonly kind: "badInstalled"; readonly error: Error; readonly query: Query };

/** Reads version range and installed version. Under SelfCertified an installed version that cannot be read counts as none. */
export function readQuery(source: CatalogSource, installed: InstalledBundle | undefined, cluster: ClusterVersion): ReadQuery {
  const range = rangeFrom(source.version);
  if (range instanceof Error) return { kind: "badRange", error: range };
  const before = readInstalled(installed);
  const query: Query = {
    packageName: source.packageName,
    channels: source.channels ?? [],
    edgesDecide: source.upgradeConstraintPolicy !== "SelfCertified",
    cluster,
    clusterDecides: source.clusterVersionPolicy === "Enforce",
    ...(installed ? { keeps: installed.name } : {}),
    ...(range ? { range } : {}),
    ...(before instanceof Error || before === undefined ? {} : { installed: before }),
  };
  if (before instanceof Error && query.edgesDecide) return { kind: "badInstalled", error: before, query };
  return { kind: "read", query };
}

function rangeFrom(text: string | undefined): Query["range"] | Error {
  if (!text) return undefined;
  try {
    return { text, constraint: parseConstraint(text) };
  } catch (err) {
    return new Error(messageOf(err), { cause: err });
  }
}

function readInstalled(installed: InstalledBundle | undefined): Query["installed"] | Error {
  if (!installed) return undefined;
  try {
    return { ...installed, parsed: installedVersion(installed) };
  } catch (err) {
    return new Error(messageOf(err), { cause: err });
  }
}
