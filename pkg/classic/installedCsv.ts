import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { apiName, dependenciesOf } from "./csvDependencies.ts";
import { objectAt, objectsAt, textAt, textsAt } from "./members.ts";
import { CLASSIC_GROUP } from "./names.ts";
import { targetsOf } from "./operatorGroup.ts";

/** What of a ClusterServiceVersion on a cluster counts for a migration. */
export interface InstalledCsv {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly version: string;
  /** Such as Succeeded. */
  readonly phase: string;
  /** It is on its way out. */
  readonly isDeleted: boolean;
  /** The one whose place it takes in an upgrade. */
  readonly replaces?: string | undefined;
  /** The namespaces that the operator was told to watch, sorted; empty for all; absent where it was told nothing. */
  readonly targets?: readonly string[] | undefined;
  readonly supportsAllNamespaces: boolean;
  /** Names of the CustomResourceDefinitions that it owns. */
  readonly definitions: readonly string[];
  /** What it depends on, each in words. */
  readonly dependencies: readonly string[];
  /** The same as keys, and those of the APIs that it provides: `package:NAME`, `crd:NAME` and `api:GROUP/VERSION/KIND`. */
  readonly requires: readonly string[];
  readonly provides: readonly string[];
  /** APIs that it serves itself, such as "v1.example.com". */
  readonly apiServices: readonly string[];
  readonly webhooks: readonly string[];
  /** CustomResourceDefinitions whose versions it converts. */
  readonly converts: readonly string[];
  /** Deleting it would delete the custom resources, too: spec.cleanup. */
  readonly deletesOperands: boolean;
  /** Its roles let it read or write Subscriptions and other objects of OLM classic. */
  readonly usesClassicApis: boolean;
}

const CLASSIC_APIS: ReadonlySet<string> = new Set(["subscriptions", "installplans", "clusterserviceversions", "catalogsources", "*"]);
const ANNOTATION_TARGETS = "olm.targetNamespaces";

/** Reads a ClusterServiceVersion. Never throws: what cannot be read is not there. */
export function installedCsvFrom(object: KubeObject): InstalledCsv {
  const { name, namespace = "", uid, annotations, deletionTimestamp } = object.metadata;
  const spec = objectAt(object, "spec");
  const [crds, apis] = [objectAt(spec, "customresourcedefinitions"), objectAt(spec, "apiservicedefinitions")];
  const owned = objectsAt(crds, "owned");
  const needed = dependenciesOf(object);
  const webhooks = objectsAt(spec, "webhookdefinitions");
  const told = annotations?.[ANNOTATION_TARGETS];
  const strategy = objectAt(objectAt(spec, "install"), "spec");
  const rules = ["permissions", "clusterPermissions"].flatMap((member) =>
    objectsAt(strategy, member).flatMap((one) => objectsAt(one, "rules")),
  );
  return {
    namespace,
    name,
    uid,
    version: textAt(spec, "version") ?? "",
    phase: textAt(objectAt(object, "status"), "phase") ?? "",
    isDeleted: deletionTimestamp !== undefined,
    replaces: textAt(spec, "replaces"),
    targets: told === undefined ? undefined : targetsOf(told.split(",")),
    supportsAllNamespaces: objectsAt(spec, "installModes").some((mode) => mode["type"] === "AllNamespaces" && mode["supported"] === true),
    definitions: owned.flatMap((crd) => textAt(crd, "name") ?? []),
    dependencies: needed.map(({ text }) => text),
    requires: needed.flatMap(({ keys }) => keys),
    provides: owned.flatMap((crd) => providedKeys(crd)),
    apiServices: [...new Set(objectsAt(apis, "owned").map(apiName))],
    webhooks: webhooks.map((webhook) => textAt(webhook, "generateName") ?? textAt(webhook, "type") ?? ""),
    converts: [
      ...new Set(webhooks.flatMap((webhook) => (webhook["type"] === "ConversionWebhook" ? textsAt(webhook, "conversionCRDs") : []))),
    ],
    deletesOperands: objectAt(spec, "cleanup")["enabled"] === true,
    usesClassicApis: rules.some(
      (rule) =>
        textsAt(rule, "apiGroups").includes(CLASSIC_GROUP) && textsAt(rule, "resources").some((resource) => CLASSIC_APIS.has(resource)),
    ),
  };
}

/** Copies say that they are some by a label, and by the reason of their status. */
export function isCopiedCsv(object: KubeObject): boolean {
  return object.metadata.labels?.["olm.copiedFrom"] !== undefined || textAt(objectAt(object, "status"), "reason") === "Copied";
}

/** The name of a definition is its plural and its group. */
function providedKeys(crd: JsonObject): string[] {
  const [name = "", version, kind] = [textAt(crd, "name"), textAt(crd, "version"), textAt(crd, "kind")];
  return [`crd:${name}`, `api:${name.slice(name.indexOf(".") + 1)}/${version ?? ""}/${kind ?? ""}`];
}
