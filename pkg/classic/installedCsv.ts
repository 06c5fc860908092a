import type { KubeObject } from "../api/k8s.ts";
import { rawProperties } from "../bundle/propertyList.ts";
import { objectAt, objectsAt, textAt, textsAt } from "./members.ts";
import { CLASSIC_GROUP } from "./names.ts";

/** What of a ClusterServiceVersion on a cluster counts for a migration. */
export interface InstalledCsv {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly version: string;
  /** Such as Succeeded. */
  readonly phase: string;
  /** The namespace that it is a copy of; absent on the original. */
  readonly copiedFrom?: string | undefined;
  readonly supportsAllNamespaces: boolean;
  /** Names of the CustomResourceDefinitions that it owns. */
  readonly definitions: readonly string[];
  /** What it depends on, each in words. */
  readonly dependencies: readonly string[];
  /** APIs that it serves itself, such as "v1.example.com". */
  readonly apiServices: readonly string[];
  readonly webhooks: readonly string[];
  /** Deleting it would delete the custom resources, too: spec.cleanup. */
  readonly deletesOperands: boolean;
  /** Its roles let it read or write Subscriptions and other objects of OLM classic. */
  readonly usesClassicApis: boolean;
}

const CLASSIC_APIS: ReadonlySet<string> = new Set(["subscriptions", "installplans", "clusterserviceversions", "catalogsources", "*"]);
/** Where OLM classic keeps the properties that the catalog stated. */
const PROPERTIES = ["operatorframework.io/properties", "olm.properties"];

/** Reads a ClusterServiceVersion. Never throws: what cannot be read is not there. */
export function installedCsvFrom(object: KubeObject): InstalledCsv {
  const { name, namespace = "", uid, labels } = object.metadata;
  const spec = objectAt(object, "spec");
  const [crds, apis] = [objectAt(spec, "customresourcedefinitions"), objectAt(spec, "apiservicedefinitions")];
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
    copiedFrom: labels?.["olm.copiedFrom"],
    supportsAllNamespaces: objectsAt(spec, "installModes").some((mode) => mode["type"] === "AllNamespaces" && mode["supported"] === true),
    definitions: objectsAt(crds, "owned").flatMap((crd) => textAt(crd, "name") ?? []),
    dependencies: [
      ...statedDependencies(object),
      ...objectsAt(crds, "required").map((crd) => `CustomResourceDefinition ${textAt(crd, "name") ?? "(no name)"}`),
      ...objectsAt(apis, "required").map((api) => `API ${apiName(api)}`),
    ],
    apiServices: [...new Set(objectsAt(apis, "owned").map(apiName))],
    webhooks: objectsAt(spec, "webhookdefinitions").map((webhook) => textAt(webhook, "generateName") ?? textAt(webhook, "type") ?? ""),
    deletesOperands: objectAt(spec, "cleanup")["enabled"] === true,
    usesClassicApis: rules.some(
      (rule) =>
        textsAt(rule, "apiGroups").includes(CLASSIC_GROUP) && textsAt(rule, "resources").some((resource) => CLASSIC_APIS.has(resource)),
    ),
  };
}

function apiName(api: unknown): string {
  return `${textAt(api, "version") ?? ""}.${textAt(api, "group") ?? textAt(api, "name") ?? ""}`;
}

/** OLM classic writes `{"properties": [...]}`; bundles carry the bare list. */
function statedDependencies({ metadata: { annotations = {} } }: KubeObject): string[] {
  const found = PROPERTIES.flatMap((key) => propertiesIn(annotations[key])).flatMap(({ type, value }) => {
    const stated = parsed(value);
    if (type === "olm.package.required")
      return [`package ${textAt(stated, "packageName") ?? "?"} ${textAt(stated, "versionRange") ?? ""}`.trim()];
    if (type === "olm.gvk.required")
      return [`API ${[textAt(stated, "group"), textAt(stated, "version"), textAt(stated, "kind")].filter((part) => part).join("/")}`];
    return type === "olm.constraint" ? [`constraint ${textAt(stated, "failureMessage") ?? value.slice(0, 80)}`] : [];
  });
  return [...new Set(found)];
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
