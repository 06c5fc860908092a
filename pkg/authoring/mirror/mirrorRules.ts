import { toYaml } from "../../golang/yaml.ts";
import { compareText } from "../../text/compare.ts";
import type { MirroredImage } from "./mirroredImages.ts";

/** What the configuration of a mirror is to say beside where it is. */
export interface MirrorRuleOptions {
  /** of the objects */
  readonly name: string;
  /** whether the sources are not to be asked at all */
  readonly blockSources: boolean;
  /** whether the mirror speaks plain HTTP, or has a certificate that nobody vouches for */
  readonly insecure: boolean;
}

/** A repository of a source, where it is mirrored, and how its images are named. */
interface Rule {
  readonly source: string;
  readonly mirror: string;
  readonly byDigest: boolean;
  readonly byTag: boolean;
}

const CATALOG_LABEL = { "operators.openshift.org/catalog": "true" };
const NEVER = { mirrorSourcePolicy: "NeverContactSource" };

/** `registries.conf` for operator-controller, catalogd, podman and CRI-O; an insecure mirror is one also under its own name. @see containers-registries.conf(5) */
export function registriesConf(images: readonly MirroredImage[], { blockSources, insecure }: MirrorRuleOptions): string {
  const hosts = new Set(images.map(({ repository }) => repository.slice(0, repository.indexOf("/"))));
  const own = insecure ? [...hosts].map((host) => `[[registry]]\nprefix = "${host}"\nlocation = "${host}"\ninsecure = true\n`) : [];
  const rules = rulesOf(images).map(({ source, mirror, byTag }) =>
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

/** An ImageContentSourcePolicy, for OpenShift before 4.13; images by tag it does not know. */
export function contentSourcePolicy(images: readonly MirroredImage[], { name }: MirrorRuleOptions): string {
  const repositoryDigestMirrors = rulesOf(images)
    .filter(({ byDigest }) => byDigest)
    .map(({ source, mirror }) => ({ mirrors: [mirror], source }));
  return toYaml({
    apiVersion: "operator.openshift.io/v1alpha1",
    kind: "ImageContentSourcePolicy",
    metadata: { labels: CATALOG_LABEL, name },
    spec: { repositoryDigestMirrors },
  });
}

/** An ImageDigestMirrorSet. */
export function digestMirrorSet(images: readonly MirroredImage[], options: MirrorRuleOptions): string {
  const rules = rulesOf(images).filter(({ byDigest }) => byDigest);
  return mirrorSet("ImageDigestMirrorSet", "imageDigestMirrors", rules, options);
}

/** An ImageTagMirrorSet; empty where no image is named by a tag. */
export function tagMirrorSet(images: readonly MirroredImage[], options: MirrorRuleOptions): string {
  const rules = rulesOf(images).filter(({ byTag }) => byTag);
  return rules.length === 0 ? "" : mirrorSet("ImageTagMirrorSet", "imageTagMirrors", rules, options);
}

/** A ClusterCatalog of the mirrored catalog; one by tag is looked up anew at intervals. */
export function clusterCatalog(name: string, ref: string): string {
  const poll = ref.includes("@") ? {} : { pollIntervalMinutes: 30 };
  return toYaml({
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterCatalog",
    metadata: { name },
    spec: { source: { type: "Image", image: { ref, ...poll } } },
  });
}

function mirrorSet(kind: string, member: string, rules: readonly Rule[], { name, blockSources }: MirrorRuleOptions): string {
  const mirrors = rules.map(({ source, mirror }) => ({ mirrors: [mirror], source, ...(blockSources ? NEVER : {}) }));
  return toYaml({ apiVersion: "config.openshift.io/v1", kind, metadata: { labels: CATALOG_LABEL, name }, spec: { [member]: mirrors } });
}

/** One rule for each repository, sorted: which tag or digest is meant stays as it is. */
function rulesOf(images: readonly MirroredImage[]): Rule[] {
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
