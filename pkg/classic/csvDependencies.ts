import { isObject } from "../api/jsonObject.ts";
import type { KubeObject } from "../api/k8s.ts";
import { rawProperties } from "../bundle/properties.ts";
import { objectAt, objectsAt, textAt } from "./members.ts";

/** Something that a ClusterServiceVersion depends on. */
export interface CsvDependency {
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
export function dependenciesOf(object: KubeObject): CsvDependency[] {
  const spec = objectAt(object, "spec");
  const [crds, apis] = [objectAt(spec, "customresourcedefinitions"), objectAt(spec, "apiservicedefinitions")];
  const required = [
    ...stated(object),
    ...objectsAt(crds, "required").map((crd) => {
      const name = textAt(crd, "name") ?? "(no name)";
      return { text: `CustomResourceDefinition ${name}`, keys: [`crd:${name}`] };
    }),
    ...objectsAt(apis, "required").map((api) => ({ text: `API ${apiName(api)}`, keys: [] })),
  ];
  return [...new Map(required.map((one) => [one.text, one])).values()];
}

/** As the API server names an APIService, such as "v1.example.com". */
export function apiName(api: unknown): string {
  return `${textAt(api, "version") ?? ""}.${textAt(api, "group") ?? textAt(api, "name") ?? ""}`;
}

/** OLM classic writes `{"properties": [...]}`; bundles carry the bare list. */
function stated({ metadata: { annotations = {} } }: KubeObject): CsvDependency[] {
  return PROPERTIES.flatMap((key) => propertiesIn(annotations[key])).flatMap(({ type, value }) => {
    const content = parsed(value);
    if (type === "olm.package.required")
      return [
        {
          text: `package ${textAt(content, "packageName") ?? "?"} ${textAt(content, "versionRange") ?? ""}`.trim(),
          keys: [`package:${textAt(content, "packageName") ?? ""}`],
        },
      ];
    if (type === "olm.gvk.required") return [{ text: `API ${apiKey(content, true)}`, keys: [`api:${apiKey(content)}`] }];
    if (type !== "olm.constraint") return [];
    return [{ text: `constraint ${textAt(content, "failureMessage") ?? value.slice(0, 80)}`, keys: constraintKeys(content, 0) }];
  });
}

/** What would satisfy a constraint, wherever in it. What must not be there does not count. */
function constraintKeys(constraint: unknown, depth: number): string[] {
  if (!isObject(constraint) || depth > MAX_DEPTH) return [];
  const { package: named, gvk } = constraint;
  return [
    ...(isObject(named) ? [`package:${textAt(named, "packageName") ?? ""}`] : []),
    ...(isObject(gvk) ? [`api:${apiKey(gvk)}`] : []),
    ...["all", "any"].flatMap((member) =>
      objectsAt(objectAt(constraint, member), "constraints").flatMap((inner) => constraintKeys(inner, depth + 1)),
    ),
  ];
}

function apiKey(api: unknown, isShort = false): string {
  const parts = [textAt(api, "group"), textAt(api, "version"), textAt(api, "kind")];
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
