import { groupOf, type KubeObject } from "../../api/k8s.ts";
import { ANNOTATIONS_FILE, UnsupportedMediaTypeError } from "../../bundle/annotations.ts";
import { legacyCrd, legacyCrdFaults } from "../../bundle/legacyCrds.ts";
import { readCrdKind } from "../../crdsafety/crdParts.ts";
import { messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent } from "./content.ts";
import { type Breach, defineErrorRule, type RuleTable, Source } from "./rule.ts";

/** What must be there, and be readable, before anything else can be looked at. */
export const LOADING_RULES: RuleTable = {
  unreadable: defineErrorRule("Every file of the bundle can be read, and what is needed is there.", Source.controller, unreadable),
  "csv-count": defineErrorRule("There is exactly one ClusterServiceVersion.", Source.format, csvCount),
};

function unreadable({ unreadable: parts, loaded }: BundleContent): Breach[] {
  const breaches = parts.map(({ file, message }) => ({ message, at: { file } }));
  if (!(loaded instanceof Error) || parts.some(({ message }) => message === loaded.message)) return breaches;
  const isOfAnnotations = loaded.cause instanceof UnsupportedMediaTypeError;
  return [...breaches, { message: messageOf(loaded), ...(isOfAnnotations ? { at: { file: ANNOTATIONS_FILE } } : {}) }];
}

function csvCount({ csvs }: BundleContent): Breach[] {
  return csvs.slice(1).map((manifest) => ({
    message: `ClusterServiceVersion "${manifest.object.metadata?.name ?? ""}" is one of ${csvs.length}: a bundle holds one, and only the last of them would be installed`,
    at: { manifest },
  }));
}

/** Since when an API of a kind that bundles may hold is no longer served, and what is instead. @see Kubernetes, deprecated API migration guide */
const REMOVED: Readonly<Record<string, readonly [since: string, instead: string]>> = {
  "rbac.authorization.k8s.io/v1beta1": ["1.22", "rbac.authorization.k8s.io/v1"],
  "rbac.authorization.k8s.io/v1alpha1": ["1.23", "rbac.authorization.k8s.io/v1"],
  "scheduling.k8s.io/v1beta1": ["1.22", "scheduling.k8s.io/v1"],
  "scheduling.k8s.io/v1alpha1": ["1.23", "scheduling.k8s.io/v1"],
  "policy/v1beta1": ["1.25", "policy/v1"],
  "extensions/v1beta1": ["1.22", "networking.k8s.io/v1"],
};

/** What every manifest must be. */
export const OBJECT_RULES: RuleTable = {
  "object-identity": defineErrorRule("Every manifest has apiVersion and metadata.name.", Source.controller, identities),
  "custom-resource": defineErrorRule(
    "No manifest is an object of an API that the bundle itself brings.",
    Source.apiServer,
    customResources,
  ),
  "crd-legacy": defineErrorRule("CustomResourceDefinitions are of apiextensions.k8s.io/v1.", Source.controller, legacyCrds),
  "api-removed": defineErrorRule("Manifests use APIs that Kubernetes still serves.", Source.apiServer, removed),
};

function identities({ crds, others }: BundleContent): Breach[] {
  return [...crds, ...others].flatMap((manifest) => {
    const { apiVersion, kind, metadata }: Partial<KubeObject> = manifest.object;
    const lacks = [apiVersion ? "" : "apiVersion", metadata?.name ? "" : "metadata.name"].filter((member) => member !== "");
    if (lacks.length === 0) return [];
    return [{ message: `${kind ?? "object"} ${goQuote(metadata?.name ?? "")} has no ${lacks.join(" and no ")}`, at: { manifest } }];
  });
}

/** Kinds are looked at by name alone, so that a custom resource called Secret is let through. */
function customResources({ crds, others }: BundleContent): Breach[] {
  const brought = new Set(crds.map(({ crd }) => `${readCrdKind(crd).group}/${readCrdKind(crd).kind}`));
  return others
    .filter(({ object }) => brought.has(`${groupOf(object.apiVersion ?? "")}/${object.kind}`))
    .map((manifest) => ({
      message: `${manifest.object.kind} ${goQuote(manifest.object.metadata?.name ?? "")} is of ${manifest.object.apiVersion}, which is not served before the bundle is installed: let the operator make it`,
      at: { manifest },
    }));
}

function legacyCrds({ crds }: BundleContent): Breach[] {
  return crds.flatMap((manifest) => {
    const legacy = legacyCrd(manifest.object);
    const faults = legacy ? legacyCrdFaults({ legacyCrds: [legacy] }) : [];
    return faults.map((message) => ({ message, at: { manifest, path: ["apiVersion"] } }));
  });
}

function removed({ manifests }: BundleContent): Breach[] {
  return manifests.flatMap((manifest) => {
    const { apiVersion, kind, metadata } = manifest.object;
    const found = Object.hasOwn(REMOVED, apiVersion) ? REMOVED[apiVersion] : undefined;
    if (!found) return [];
    const [since, instead] = found;
    const named = `${kind} ${goQuote(metadata?.name ?? "")}`;
    return [
      {
        message: `${named} uses ${apiVersion}, which Kubernetes does not serve since ${since}: use ${instead}`,
        at: { manifest, path: ["apiVersion"] },
      },
    ];
  });
}
