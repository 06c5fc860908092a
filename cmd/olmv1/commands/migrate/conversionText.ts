import { getNamespace } from "../../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../../pkg/api/k8s.ts";
import { toYaml } from "../../../../pkg/golang/yaml.ts";
import { getBackupRef } from "../../../../pkg/migrate/backup.ts";
import type { ConvertedObject } from "../../../../pkg/migrate/objectConversion.ts";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";

/** Formats a conversion as text: steps, findings, objects and manifests. */
export function formatConversion(conversion: Conversion): string {
  const { source, objects, findings, notes } = conversion;
  const { namespace } = source.extension.spec;
  const of = (action: ConvertedObject["action"]): ConvertedObject[] => objects.filter((object) => object.action === action);
  const restarting = objects.filter(({ restarts }) => restarts);
  const parts = [
    [
      `${describeObject(source.subscription)} becomes ${CLUSTER_EXTENSION} ${source.extension.metadata.name}`,
      restarting.length === 0
        ? "no Pod restarts"
        : `Pods restart, because the bundle differs from the running objects: ${restarting.map(({ ref }) => describeObject(ref)).join(", ")}`,
    ],
    ["Steps:", ...stepLines(conversion).map((line, i) => `  ${i + 1}. ${line}`)],
    formatSection(
      "Findings that block the conversion:",
      findings.map(({ text }) => text),
    ),
    formatSection(`Adopted unchanged (${of("keep").length}):`, of("keep").map(formatName)),
    formatSection(`Adopted and changed (${of("change").length}):`, of("change").flatMap(changeLines)),
    formatSection(`Created with the names in the bundle (${of("create").length}):`, of("create").map(formatName)),
    formatSection(`Kept until olmv1 migrate cleanup (${of("leave").length}):`, of("leave").map(formatName)),
    formatSection("Notes:", notes),
  ];
  const text = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.map((line) => escapeControlCharacters(line)).join("\n")}\n`)
    .join("\n");
  const manifests = [...conversion.installerManifests, extensionManifest(source.extension)];
  return `${text}\nManifests for namespace ${namespace} and the cluster:\n${manifests.map((object) => `---\n${toYaml(object)}`).join("")}`;
}

/** Returns a conversion as JSON. */
export function buildConversionData({ source, installerManifests, objects, findings, notes }: Conversion): unknown {
  return {
    subscription: describeObject(source.subscription),
    clusterExtension: extensionManifest(source.extension),
    rights: installerManifests,
    objects: objects.map(({ ref, ...object }) => ({ ...ref, ...object })),
    findings,
    notes,
  };
}

function stepLines({ source, installerManifests, objects, grants }: Conversion): string[] {
  const { extension, subscription, csv, group } = source;
  const { metadata, spec } = extension;
  const namespace = getNamespace(extension);
  const marked = objects.filter(({ action }) => action === "keep" || action === "change").length;
  const left = objects.filter(({ action }) => action === "leave").length;
  return [
    spec.serviceAccount === undefined
      ? "let permission-manager grant the permissions when the extension is resumed"
      : installerManifests.length > 0
        ? `create ServiceAccount ${namespace}/${spec.serviceAccount?.name ?? ""} and ${installerManifests.length - 1} roles and bindings`
        : `use ServiceAccount ${namespace}/${spec.serviceAccount?.name ?? ""}`,
    `create ${CLUSTER_EXTENSION} ${metadata.name}, suspended, with ${describeObject(subscription)}${group ? ` and ${describeObject(group)}` : ""} in its annotations`,
    ...(grants.length > 0 ? [`create ${grants.length} roles and bindings of the bundle, in addition to those of OLM v0`] : []),
    `back up ${describeObject(csv)} to ${describeObject(getBackupRef(metadata.name, namespace))}`,
    `delete ${describeObject(csv)}, but none of its objects; a finalizer keeps it terminating, so that OLM v0 ignores it`,
    `delete ${describeObject(subscription)}, but none of its objects`,
    `transfer ${marked} objects to the extension${left > 0 ? `, and mark ${left} as leftovers` : ""}; remove labels of OLM v0 and references to the ClusterServiceVersion`,
    "remove the finalizer from the ClusterServiceVersion",
    "resume the extension, and wait until it is ready",
  ];
}

/** Returns the manifest of an extension. */
function extensionManifest({ metadata: { name, annotations }, spec }: Conversion["source"]["extension"]): KubeObject {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name, ...(annotations ? { annotations } : {}) }, spec };
}

function changeLines(object: ConvertedObject): string[] {
  const fields = object.changes.map(({ path, before = "(none)", after = "(none)" }) =>
    `    ${path}: ${before} → ${after}`.replaceAll("\n", "\\n"),
  );
  return [`${formatName(object)}${object.restarts ? "  (its Pods restart)" : ""}`, ...fields];
}

function formatName({ ref }: ConvertedObject): string {
  return describeObject(ref);
}

function formatSection(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, ...texts.map((text) => `  ${text.trimEnd().replaceAll("\n", "\n    ")}`)];
}
