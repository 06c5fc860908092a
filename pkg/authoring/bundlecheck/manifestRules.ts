import { getGroup, type KubeObject } from "../../api/k8s.ts";
import { ANNOTATIONS_FILE, UnsupportedMediaTypeError } from "../../bundle/annotations.ts";
import { explainLegacyCrds, readLegacyCrd } from "../../bundle/legacyCrds.ts";
import { readCrdKind } from "../../crdsafety/crdParts.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent } from "./content.ts";
import { type Breach, defineErrorRule, type RuleTable, Source } from "./rule.ts";

/** Rules for files that all other rules depend on. */
export const LOADING_RULES: RuleTable = {
  unreadable: defineErrorRule("All required files must exist, and every bundle file must be readable.", Source.controller, unreadable),
  "csv-count": defineErrorRule("The bundle must contain exactly one ClusterServiceVersion.", Source.format, csvCount),
};

function unreadable({ unreadable: parts, loaded }: BundleContent): Breach[] {
  const breaches = parts.map(({ file, message }) => ({ message, at: { file } }));
  if (!(loaded instanceof Error) || parts.some(({ message }) => message === loaded.message)) return breaches;
  const isOfAnnotations = loaded.cause instanceof UnsupportedMediaTypeError;
  return [...breaches, { message: getErrorMessage(loaded), ...(isOfAnnotations ? { at: { file: ANNOTATIONS_FILE } } : {}) }];
}

function csvCount({ csvs }: BundleContent): Breach[] {
  return csvs.slice(1).map((manifest) => ({
    message: `ClusterServiceVersion "${manifest.object.metadata?.name ?? ""}" is one of ${csvs.length} in the bundle: keep exactly one, because only the last one would be installed`,
    at: { manifest },
  }));
}

/**
 * Removed API versions of supported kinds, each with the Kubernetes version that removed it and with its replacement. @see Kubernetes, deprecated API
 * migration guide
 */
const REMOVED: Readonly<Record<string, readonly [since: string, replacement: string]>> = {
  "rbac.authorization.k8s.io/v1beta1": ["1.22", "rbac.authorization.k8s.io/v1"],
  "rbac.authorization.k8s.io/v1alpha1": ["1.23", "rbac.authorization.k8s.io/v1"],
  "scheduling.k8s.io/v1beta1": ["1.22", "scheduling.k8s.io/v1"],
  "scheduling.k8s.io/v1alpha1": ["1.23", "scheduling.k8s.io/v1"],
  "policy/v1beta1": ["1.25", "policy/v1"],
  "extensions/v1beta1": ["1.22", "networking.k8s.io/v1"],
};

/** Rules for every manifest. */
export const OBJECT_RULES: RuleTable = {
  "object-identity": defineErrorRule("Every manifest must have apiVersion and metadata.name.", Source.controller, identities),
  "custom-resource": defineErrorRule("The bundle must not contain custom resources of its own CRDs.", Source.apiServer, customResources),
  "crd-legacy": defineErrorRule("CRDs must use apiextensions.k8s.io/v1.", Source.controller, legacyCrds),
  "api-removed": defineErrorRule("Manifests must not use APIs that Kubernetes removed.", Source.apiServer, removed),
};

function identities({ crds, others }: BundleContent): Breach[] {
  return [...crds, ...others].flatMap((manifest) => {
    const { apiVersion, kind, metadata }: Partial<KubeObject> = manifest.object;
    const lacks = [apiVersion ? "" : "apiVersion", metadata?.name ? "" : "metadata.name"].filter((member) => member !== "");
    if (lacks.length === 0) return [];
    return [{ message: `${kind ?? "object"} ${goQuote(metadata?.name ?? "")} has no ${lacks.join(" and no ")}`, at: { manifest } }];
  });
}

/** The loader compares only kind names, so it accepts a custom resource of kind Secret. This rule also compares groups. */
function customResources({ crds, others }: BundleContent): Breach[] {
  const provided = new Set(crds.map(({ crd }) => `${readCrdKind(crd).group}/${readCrdKind(crd).kind}`));
  return others
    .filter(({ object }) => provided.has(`${getGroup(object.apiVersion ?? "")}/${object.kind}`))
    .map((manifest) => ({
      message: `${manifest.object.kind} ${goQuote(manifest.object.metadata?.name ?? "")} uses ${manifest.object.apiVersion}, which is not served until the bundle is installed: let the operator create this object`,
      at: { manifest },
    }));
}

function legacyCrds({ crds }: BundleContent): Breach[] {
  return crds.flatMap((manifest) => {
    const legacy = readLegacyCrd(manifest.object);
    const faults = legacy ? explainLegacyCrds({ legacyCrds: [legacy] }) : [];
    return faults.map((message) => ({ message, at: { manifest, path: ["apiVersion"] } }));
  });
}

function removed({ manifests }: BundleContent): Breach[] {
  return manifests.flatMap((manifest) => {
    const { apiVersion, kind, metadata } = manifest.object;
    const found = Object.hasOwn(REMOVED, apiVersion) ? REMOVED[apiVersion] : undefined;
    if (!found) return [];
    const [since, replacement] = found;
    const objectName = `${kind} ${goQuote(metadata?.name ?? "")}`;
    return [
      {
        message: `${objectName} uses ${apiVersion}, which Kubernetes ${since} removed: use ${replacement}`,
        at: { manifest, path: ["apiVersion"] },
      },
    ];
  });
}
