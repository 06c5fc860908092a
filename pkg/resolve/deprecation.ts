import type { DeprecationReference, FbcDeprecations } from "../fbc/types.ts";

/** What deprecation is asked about. */
export interface DeprecationQuery {
  /** Channels named in spec; none means every channel of the package. */
  readonly channels?: readonly string[] | undefined;
  /** The installed bundle, if there is one. */
  readonly bundleName?: string | undefined;
}

/** The messages of deprecation, in the catalog's order; empty messages are left out. */
export interface DeprecationMessages {
  package: string[];
  channel: string[];
  bundle: string[];
}

/**
 * What a catalog's deprecations say about the package, about the channels asked for and about one bundle.
 * Without channels in the query all deprecated channels are told, whether the bundle is in them or not.
 * @see operator-controller internal/operator-controller/controllers/clusterextension_controller.go SetDeprecationStatus
 */
export function deprecationsFor(
  deprecations: FbcDeprecations | undefined,
  { channels = [], bundleName }: DeprecationQuery,
): DeprecationMessages {
  const messages = (isMeant: (reference: DeprecationReference) => boolean): string[] =>
    (deprecations?.entries ?? []).filter(({ reference, message }) => message !== "" && isMeant(reference)).map(({ message }) => message);
  return {
    package: messages(({ schema }) => schema === "olm.package"),
    channel: messages(({ schema, name }) => schema === "olm.channel" && (channels.length === 0 || channels.includes(name ?? ""))),
    bundle: messages(({ schema, name }) => schema === "olm.bundle" && bundleName !== undefined && name === bundleName),
  };
}

/** Names of the bundles that are deprecated themselves; a deprecated channel or package does not make its bundles so. */
export function deprecatedBundles(deprecations: FbcDeprecations | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { reference } of deprecations?.entries ?? []) if (reference.schema === "olm.bundle") names.add(reference.name ?? "");
  return names;
}
