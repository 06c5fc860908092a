import { toYaml } from "../../golang/yaml.ts";
import { compareText } from "../../text/compare.ts";
import type { MirroredImage } from "./mirroredImages.ts";

/** Options for the configuration of a mirror. */
export interface MirrorRuleOptions {
  /** Name of the objects. */
  readonly name: string;
  /** Whether clients must never contact the sources. */
  readonly blockSources: boolean;
  /** Whether the mirror uses plain HTTP or an untrusted certificate. */
  readonly insecure: boolean;
}

/** A source repository, its mirror, and whether its images are referenced by digest or tag. */
interface MirrorRule {
  readonly source: string;
  readonly mirror: string;
  readonly byDigest: boolean;
  readonly byTag: boolean;
}

const CATALOG_LABEL = { "operators.openshift.org/catalog": "true" };
const NEVER = { mirrorSourcePolicy: "NeverContactSource" };

/**
 * Formats `registries.conf` for operator-controller, catalogd, podman and CRI-O. An insecure mirror is also insecure when it is accessed directly.
 * @see containers-registries.conf(5)
 */
export function renderRegistriesConf(images: readonly MirroredImage[], { blockSources, insecure }: MirrorRuleOptions): string {
  const hosts = new Set(images.map(({ repository }) => repository.slice(0, repository.indexOf("/"))));
  const own = insecure ? [...hosts].map((host) => `[[registry]]\nprefix = "${host}"\nlocation = "${host}"\ninsecure = true\n`) : [];
  const rules = buildRules(images).map(({ source, mirror, byTag }) =>
    [
      "[[registry]]",
      `prefix = "${source}"`,
      `location = "${source}"`,
      ...(blockSources ? ["blocked = true"] : []),
      ...(byTag ? [] : ["mirror-by-digest-only = true"]),
      "",
      "[[registry.mirror]]",
      `location = "${mirror}"`,
      ...(insecure ? ["insecure = true"] : []),
      "",
    ].join("\n"),
  );
  return [...own, ...rules].join("\n");
}

/** Formats an ImageContentSourcePolicy, for OpenShift before 4.13. This kind does not support images by tag. */
export function renderContentSourcePolicy(images: readonly MirroredImage[], { name }: MirrorRuleOptions): string {
  const repositoryDigestMirrors = buildRules(images)
    .filter(({ byDigest }) => byDigest)
    .map(({ source, mirror }) => ({ mirrors: [mirror], source }));
  return toYaml({
    apiVersion: "operator.openshift.io/v1alpha1",
    kind: "ImageContentSourcePolicy",
    metadata: { labels: CATALOG_LABEL, name },
    spec: { repositoryDigestMirrors },
  });
}

/** Formats an ImageDigestMirrorSet. */
export function renderDigestMirrorSet(images: readonly MirroredImage[], options: MirrorRuleOptions): string {
  const rules = buildRules(images).filter(({ byDigest }) => byDigest);
  return mirrorSet("ImageDigestMirrorSet", "imageDigestMirrors", rules, options);
}

/** Formats an ImageTagMirrorSet; empty if no image is referenced by tag. */
export function renderTagMirrorSet(images: readonly MirroredImage[], options: MirrorRuleOptions): string {
  const rules = buildRules(images).filter(({ byTag }) => byTag);
  return rules.length === 0 ? "" : mirrorSet("ImageTagMirrorSet", "imageTagMirrors", rules, options);
}

/** Formats a ClusterCatalog for the mirrored catalog. If the catalog is referenced by tag, sets a poll interval. */
export function renderClusterCatalog(name: string, ref: string): string {
  const poll = ref.includes("@") ? {} : { pollIntervalMinutes: 30 };
  return toYaml({
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterCatalog",
    metadata: { name },
    spec: { source: { type: "Image", image: { ref, ...poll } } },
  });
}

function mirrorSet(kind: string, member: string, rules: readonly MirrorRule[], { name, blockSources }: MirrorRuleOptions): string {
  const mirrors = rules.map(({ source, mirror }) => ({ mirrors: [mirror], source, ...(blockSources ? NEVER : {}) }));
  return toYaml({ apiVersion: "config.openshift.io/v1", kind, metadata: { labels: CATALOG_LABEL, name }, spec: { [member]: mirrors } });
}

/** Returns a rule for each repository, sorted. Tags and digests are the same in the mirror. */
function buildRules(images: readonly MirroredImage[]): MirrorRule[] {
  const grouped = Map.groupBy(images, ({ sourceRepository }) => sourceRepository);
  return [...grouped]
    .map(([source, [first, ...rest]]) => ({
      source,
      mirror: first?.repository ?? "",
      byDigest: [first, ...rest].some((image) => image?.digest !== undefined),
      byTag: [first, ...rest].some((image) => image?.digest === undefined),
    }))
    .sort((a, b) => compareText(a.source, b.source));
}
