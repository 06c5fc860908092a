import { API_VERSION, CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../../pkg/api/k8s.ts";
import { toYaml } from "../../../../pkg/golang/yaml.ts";
import { getBackupRef } from "../../../../pkg/migrate/backup.ts";
import type { ConvertedObject } from "../../../../pkg/migrate/objectConversion.ts";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";

/** A conversion for people, before it is carried out: what it makes, deletes and changes, in which order. */
export function conversionText(conversion: Conversion): string {
  const { source, objects, findings, notes } = conversion;
  const { namespace } = source.extension.spec;
  const of = (action: ConvertedObject["action"]): ConvertedObject[] => objects.filter((object) => object.action === action);
  const restarting = objects.filter(({ restarts }) => restarts);
  const parts = [
    [
      `${describeObject(source.subscription)} becomes ${CLUSTER_EXTENSION} ${source.extension.metadata.name}`,
      restarting.length === 0
        ? "what runs is not touched: no Pod restarts"
        : `Pods restart, since the bundle says something else than what runs: ${restarting.map(({ ref }) => describeObject(ref)).join(", ")}`,
    ],
    ["In this order:", ...stepLines(conversion).map((line, i) => `  ${i + 1}. ${line}`)],
    listed(
      "Findings, for which it is not done:",
      findings.map(({ text }) => text),
    ),
    listed(`Taken over as they are (${of("keep").length}):`, of("keep").map(named)),
    listed(`Taken over and changed (${of("change").length}):`, of("change").flatMap(changeLines)),
    listed(`Made under the name that the bundle gives them (${of("create").length}):`, of("create").map(named)),
    listed(`Left over, until olmv1 migrate cleanup removes them (${of("leave").length}):`, of("leave").map(named)),
    listed("Notes:", notes),
  ];
  const text = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.map((line) => escapeControlCharacters(line)).join("\n")}\n`)
    .join("\n");
  const manifests = [...conversion.rights, extensionManifest(source.extension)];
  return `${text}\nWhat is written in namespace ${namespace} and in the cluster:\n${manifests.map((object) => `---\n${toYaml(object)}`).join("")}`;
}

/** The same for programs. */
export function conversionData({ source, rights, objects, findings, notes }: Conversion): unknown {
  return {
    subscription: describeObject(source.subscription),
    clusterExtension: extensionManifest(source.extension),
    rights,
    objects: objects.map(({ ref, ...object }) => ({ ...ref, ...object })),
    findings,
    notes,
  };
}

function stepLines({ source, rights, objects }: Conversion): string[] {
  const { extension, subscription, csv, group } = source;
  const { metadata, spec } = extension;
  const marked = objects.filter(({ action }) => action === "keep" || action === "change").length;
  const left = objects.filter(({ action }) => action === "leave").length;
  return [
    rights.length > 0
      ? `make ServiceAccount ${spec.namespace}/${spec.serviceAccount?.name ?? ""} and ${rights.length - 1} roles and bindings for it`
      : `use ServiceAccount ${spec.namespace}/${spec.serviceAccount?.name ?? ""}`,
    `make ${CLUSTER_EXTENSION} ${metadata.name}, suspended, with ${describeObject(subscription)}${group ? ` and ${describeObject(group)}` : ""} in its annotations`,
    `keep ${describeObject(csv)} in ${describeObject(getBackupRef(metadata.name, spec.namespace))}`,
    `delete ${describeObject(subscription)}, and nothing that belongs to it`,
    `give ${marked} objects to the extension${left > 0 ? `, and mark ${left} as left over` : ""}: labels of OLM v0 and references to the ClusterServiceVersion go`,
    `delete ${describeObject(csv)}, and nothing that belongs to it`,
    "let operator-controller take over, and wait until it is ready",
  ];
}

/** As somebody would apply it. */
function extensionManifest({ metadata: { name, annotations }, spec }: Conversion["source"]["extension"]): KubeObject {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name, ...(annotations ? { annotations } : {}) }, spec };
}

function changeLines(object: ConvertedObject): string[] {
  const fields = object.changes.map(({ path, before = "(none)", after = "(none)" }) =>
    `    ${path}: ${before} → ${after}`.replaceAll("\n", "\\n"),
  );
  return [`${named(object)}${object.restarts ? "  (its Pods restart)" : ""}`, ...fields];
}

function named({ ref }: ConvertedObject): string {
  return describeObject(ref);
}

function listed(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, ...texts.map((text) => `  ${text.trimEnd().replaceAll("\n", "\n    ")}`)];
}
