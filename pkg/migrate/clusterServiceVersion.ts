import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { CLASSIC_GROUP } from "../api/migration.ts";
import { rawProperties } from "../bundle/properties.ts";
import { isObject, nonEmptyText, objectAt, objectsAt, textsAt } from "../golang/members.ts";
import { targetsOf } from "./operatorGroup.ts";

/** Something that a ClusterServiceVersion depends on. */
interface CsvDependency {
  /** In words. */
  readonly text: string;
  /** What would do, as `package:NAME`, `crd:NAME` or `api:GROUP/VERSION/KIND`; none where it is nothing that an operator could provide. */
  readonly keys: readonly string[];
}

/** Where OLM classic keeps the properties that the catalog stated. */
const PROPERTIES = ["operatorframework.io/properties", "olm.properties"];
/** Of constraints within constraints. */
const MAX_DEPTH = 16;

/** What a ClusterServiceVersion depends on, by its properties and by what its spec requires, once each. */
function dependenciesOf(object: KubeObject): CsvDependency[] {
  const spec = objectAt(object, "spec");
  const [crds, apis] = [objectAt(spec, "customresourcedefinitions"), objectAt(spec, "apiservicedefinitions")];
  const required = [
    ...stated(object),
    ...objectsAt(crds, "required").map((crd) => {
      const name = nonEmptyText(crd, "name") ?? "(no name)";
      return { text: `CustomResourceDefinition ${name}`, keys: [`crd:${name}`] };
    }),
    ...objectsAt(apis, "required").map((api) => ({ text: `API ${apiName(api)}`, keys: [] })),
  ];
  return [...new Map(required.map((one) => [one.text, one])).values()];
}

/** As the API server names an APIService, such as "v1.example.com". */
function apiName(api: unknown): string {
  return `${nonEmptyText(api, "version") ?? ""}.${nonEmptyText(api, "group") ?? nonEmptyText(api, "name") ?? ""}`;
}

/** OLM classic writes `{"properties": [...]}`; bundles carry the bare list. */
function stated({ metadata: { annotations = {} } }: KubeObject): CsvDependency[] {
  return PROPERTIES.flatMap((key) => propertiesIn(annotations[key])).flatMap(({ type, value }) => {
    const content = parsed(value);
    if (type === "olm.package.required")
      return [
        {
          text: `package ${nonEmptyText(content, "packageName") ?? "?"} ${nonEmptyText(content, "versionRange") ?? ""}`.trim(),
          keys: [`package:${nonEmptyText(content, "packageName") ?? ""}`],
        },
      ];
    if (type === "olm.gvk.required") return [{ text: `API ${apiKey(content, true)}`, keys: [`api:${apiKey(content)}`] }];
    if (type !== "olm.constraint") return [];
    return [{ text: `constraint ${nonEmptyText(content, "failureMessage") ?? value.slice(0, 80)}`, keys: constraintKeys(content, 0) }];
  });
}

/** What would satisfy a constraint, wherever in it. What must not be there does not count. */
function constraintKeys(constraint: unknown, depth: number): string[] {
  if (!isObject(constraint) || depth > MAX_DEPTH) return [];
  const { package: named, gvk } = constraint;
  return [
    ...(isObject(named) ? [`package:${nonEmptyText(named, "packageName") ?? ""}`] : []),
    ...(isObject(gvk) ? [`api:${apiKey(gvk)}`] : []),
    ...["all", "any"].flatMap((member) =>
      objectsAt(objectAt(constraint, member), "constraints").flatMap((inner) => constraintKeys(inner, depth + 1)),
    ),
  ];
}

function apiKey(api: unknown, isShort = false): string {
  const parts = [nonEmptyText(api, "group"), nonEmptyText(api, "version"), nonEmptyText(api, "kind")];
  return (isShort ? parts.filter((part) => part !== undefined) : parts.map((part) => part ?? "")).join("/");
}

function propertiesIn(text: string | undefined): { type: string; value: string }[] {
  if (text === undefined) return [];
  try {
    const list: unknown = objectAt({ all: JSON.parse(text) as unknown }, "all")["properties"];
    return rawProperties(list === undefined ? text : JSON.stringify(list));
  } catch {
    return [];
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
    version: nonEmptyText(spec, "version") ?? "",
    phase: nonEmptyText(objectAt(object, "status"), "phase") ?? "",
    isDeleted: deletionTimestamp !== undefined,
    replaces: nonEmptyText(spec, "replaces"),
    targets: told === undefined ? undefined : targetsOf(told.split(",")),
    supportsAllNamespaces: objectsAt(spec, "installModes").some((mode) => mode["type"] === "AllNamespaces" && mode["supported"] === true),
    definitions: owned.flatMap((crd) => nonEmptyText(crd, "name") ?? []),
    dependencies: needed.map(({ text }) => text),
    requires: needed.flatMap(({ keys }) => keys),
    provides: owned.flatMap((crd) => providedKeys(crd)),
    apiServices: [...new Set(objectsAt(apis, "owned").map(apiName))],
    webhooks: webhooks.map((webhook) => nonEmptyText(webhook, "generateName") ?? nonEmptyText(webhook, "type") ?? ""),
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
  return object.metadata.labels?.["olm.copiedFrom"] !== undefined || nonEmptyText(objectAt(object, "status"), "reason") === "Copied";
}

/** The name of a definition is its plural and its group. */
function providedKeys(crd: JsonObject): string[] {
  const [name = "", version, kind] = [nonEmptyText(crd, "name"), nonEmptyText(crd, "version"), nonEmptyText(crd, "kind")];
  return [`crd:${name}`, `api:${name.slice(name.indexOf(".") + 1)}/${version ?? ""}/${kind ?? ""}`];
}
