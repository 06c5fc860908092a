import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { CLASSIC_GROUP } from "../api/migration.ts";
import { parseRawProperties } from "../bundle/properties.ts";
import { tryParseJson } from "../golang/json.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt, getTextsAt, isObject } from "../golang/members.ts";
import { toOneLine } from "../text/escape.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { normalizeTargets } from "./operatorGroup.ts";

/** A dependency of a ClusterServiceVersion. */
interface CsvDependency {
  /** A short description. */
  readonly text: string;
  /**
   * Keys of the packages and APIs that satisfy the dependency: `package:NAME`, `crd:NAME` or `api:GROUP/VERSION/KIND`. Empty if no operator can
   * satisfy it.
   */
  readonly keys: readonly string[];
}

/** Annotations in which OLM v0 stores the properties from the catalog. */
const PROPERTIES = ["operatorframework.io/properties", "olm.properties"];
/** Maximum nesting depth of constraints. */
const MAX_DEPTH = 16;

/** Returns the dependencies of a ClusterServiceVersion, from its properties and its spec, without duplicates. */
function readDependencies(object: KubeObject): CsvDependency[] {
  const spec = getObjectAt(object, "spec");
  const [crds, apis] = [getObjectAt(spec, "customresourcedefinitions"), getObjectAt(spec, "apiservicedefinitions")];
  const required = [
    ...stated(object),
    ...getObjectsAt(crds, "required").map((crd) => {
      const name = getNonEmptyText(crd, "name") ?? "(no name)";
      return { text: `CustomResourceDefinition ${name}`, keys: [`crd:${name}`] };
    }),
    ...getObjectsAt(apis, "required").map((api) => ({ text: `API ${apiName(api)}`, keys: [] })),
  ];
  return [...new Map(required.map((one) => [one.text, one])).values()];
}

/** Formats the name of an APIService, such as "v1.example.com". */
function apiName(api: unknown): string {
  return `${getNonEmptyText(api, "version") ?? ""}.${getNonEmptyText(api, "group") ?? getNonEmptyText(api, "name") ?? ""}`;
}

/** Returns the properties in the annotations of a ClusterServiceVersion, parsed. Ignores invalid ones. */
export function readStatedProperties({ metadata: { annotations = {} } }: KubeObject): { type: string; value: string; content: unknown }[] {
  const all = PROPERTIES.flatMap((key) => readProperties(annotations[key]));
  return all.map(({ type, value }) => ({ type, value, content: tryParseJson(value) }));
}

function stated(object: KubeObject): CsvDependency[] {
  return readStatedProperties(object).flatMap(({ type, value, content }) => {
    if (type === "olm.package.required")
      return [
        {
          text: `package ${getNonEmptyText(content, "packageName") ?? "?"} ${getNonEmptyText(content, "versionRange") ?? ""}`.trim(),
          keys: [`package:${getNonEmptyText(content, "packageName") ?? ""}`],
        },
      ];
    if (type === "olm.gvk.required") return [{ text: `API ${apiKey(content, true)}`, keys: [`api:${apiKey(content)}`] }];
    if (type !== "olm.constraint") return [];
    return [
      { text: `constraint ${getNonEmptyText(content, "failureMessage") ?? value.slice(0, 80)}`, keys: listConstraintKeys(content, 0) },
    ];
  });
}

/** Returns the keys that can satisfy a constraint, at any depth. Ignores negated constraints. */
function listConstraintKeys(constraint: unknown, depth: number): string[] {
  if (!isObject(constraint) || depth > MAX_DEPTH) return [];
  const { package: named, gvk } = constraint;
  return [
    ...(isObject(named) ? [`package:${getNonEmptyText(named, "packageName") ?? ""}`] : []),
    ...(isObject(gvk) ? [`api:${apiKey(gvk)}`] : []),
    ...["all", "any"].flatMap((member) =>
      getObjectsAt(getObjectAt(constraint, member), "constraints").flatMap((inner) => listConstraintKeys(inner, depth + 1)),
    ),
  ];
}

function apiKey(api: unknown, isShort = false): string {
  const parts = [getNonEmptyText(api, "group"), getNonEmptyText(api, "version"), getNonEmptyText(api, "kind")];
  return (isShort ? parts.filter((part) => part !== undefined) : parts.map((part) => part ?? "")).join("/");
}

/** OLM v0 writes `{"properties": [...]}`, but bundles contain only the list. */
function readProperties(text: string | undefined): { type: string; value: string }[] {
  if (text === undefined) return [];
  try {
    const list: unknown = getObjectAt({ all: JSON.parse(text) as unknown }, "all")["properties"];
    return parseRawProperties(list === undefined ? text : JSON.stringify(list));
  } catch {
    return [];
  }
}

/** The parts of an installed ClusterServiceVersion that a migration uses. */
export interface InstalledCsv {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly version: string;
  /** Such as Succeeded. */
  readonly phase: string;
  /** The reason and the message for the phase, on one line with at most 200 characters; undefined in phase Succeeded. */
  readonly problem?: string | undefined;
  /** Whether the ClusterServiceVersion is being deleted. */
  readonly isDeleted: boolean;
  /** Name of the ClusterServiceVersion that this one replaces in an upgrade. */
  readonly replaces?: string | undefined;
  /** The namespaces that the operator watches, sorted. Empty for all namespaces; undefined if the annotation is missing. */
  readonly targets?: readonly string[] | undefined;
  readonly supportsAllNamespaces: boolean;
  /** Names of the owned CustomResourceDefinitions. */
  readonly definitions: readonly string[];
  /** Descriptions of the dependencies. */
  readonly dependencies: readonly string[];
  /** Keys of the dependencies: `package:NAME`, `crd:NAME` and `api:GROUP/VERSION/KIND`. `provides` contains the keys of the provided APIs. */
  readonly requires: readonly string[];
  readonly provides: readonly string[];
  /** APIServices of the operator, such as "v1.example.com". */
  readonly apiServices: readonly string[];
  readonly webhooks: readonly string[];
  /** CustomResourceDefinitions with a conversion webhook of the operator. */
  readonly converts: readonly string[];
  /** Whether deleting the ClusterServiceVersion also deletes custom resources (spec.cleanup). */
  readonly deletesOperands: boolean;
  /** Whether the operator's roles allow access to Subscriptions or other OLM v0 objects. */
  readonly usesClassicApis: boolean;
}

const CLASSIC_APIS: ReadonlySet<string> = new Set(["subscriptions", "installplans", "clusterserviceversions", "catalogsources", "*"]);
const ANNOTATION_TARGETS = "olm.targetNamespaces";

/** Parses a ClusterServiceVersion. Never throws: treats invalid fields as missing. */
export function parseInstalledCsv(object: KubeObject): InstalledCsv {
  const { name, namespace = "", uid, annotations, deletionTimestamp } = object.metadata;
  const [spec, status] = [getObjectAt(object, "spec"), getObjectAt(object, "status")];
  const [crds, apis] = [getObjectAt(spec, "customresourcedefinitions"), getObjectAt(spec, "apiservicedefinitions")];
  const owned = getObjectsAt(crds, "owned");
  const needed = readDependencies(object);
  const webhooks = getObjectsAt(spec, "webhookdefinitions");
  const watched = annotations?.[ANNOTATION_TARGETS];
  const strategy = getObjectAt(getObjectAt(spec, "install"), "spec");
  const rules = ["permissions", "clusterPermissions"].flatMap((member) =>
    getObjectsAt(strategy, member).flatMap((one) => getObjectsAt(one, "rules")),
  );
  return {
    namespace,
    name,
    uid,
    version: getNonEmptyText(spec, "version") ?? "",
    phase: getNonEmptyText(status, "phase") ?? "",
    problem: describeProblem(status),
    isDeleted: deletionTimestamp !== undefined,
    replaces: getNonEmptyText(spec, "replaces"),
    targets: watched === undefined ? undefined : normalizeTargets(watched.split(",")),
    supportsAllNamespaces: getObjectsAt(spec, "installModes").some(
      (mode) => mode["type"] === "AllNamespaces" && mode["supported"] === true,
    ),
    definitions: owned.flatMap((crd) => getNonEmptyText(crd, "name") ?? []),
    dependencies: needed.map(({ text }) => text),
    requires: needed.flatMap(({ keys }) => keys),
    provides: owned.flatMap((crd) => listProvidedKeys(crd)),
    apiServices: [...new Set(getObjectsAt(apis, "owned").map(apiName))],
    webhooks: webhooks.map((webhook) => getNonEmptyText(webhook, "generateName") ?? getNonEmptyText(webhook, "type") ?? ""),
    converts: [
      ...new Set(webhooks.flatMap((webhook) => (webhook["type"] === "ConversionWebhook" ? getTextsAt(webhook, "conversionCRDs") : []))),
    ],
    deletesOperands: getObjectAt(spec, "cleanup")["enabled"] === true,
    usesClassicApis: rules.some(
      (rule) =>
        getTextsAt(rule, "apiGroups").includes(CLASSIC_GROUP) &&
        getTextsAt(rule, "resources").some((resource) => CLASSIC_APIS.has(resource)),
    ),
  };
}

function describeProblem(status: unknown): string | undefined {
  if (getNonEmptyText(status, "phase") === "Succeeded") return undefined;
  const parts = ["reason", "message"].flatMap((member) => getNonEmptyText(status, member) ?? []);
  return parts.length === 0 ? undefined : truncateExcerpt(toOneLine(parts.join(": ")));
}

/** Reports whether a ClusterServiceVersion is a copy, by its label or the reason in its status. */
export function isCopiedCsv(object: KubeObject): boolean {
  return object.metadata.labels?.["olm.copiedFrom"] !== undefined || getNonEmptyText(getObjectAt(object, "status"), "reason") === "Copied";
}

/** The name of a CustomResourceDefinition consists of its plural and its group. */
function listProvidedKeys(crd: JsonObject): string[] {
  const [name = "", version, kind] = [getNonEmptyText(crd, "name"), getNonEmptyText(crd, "version"), getNonEmptyText(crd, "kind")];
  return [`crd:${name}`, `api:${name.slice(name.indexOf(".") + 1)}/${version ?? ""}/${kind ?? ""}`];
}
