import { isObject } from "../../pkg/golang/members.ts";
import { pick, type Random, upTo } from "../support/random.ts";

/** A member or item: its parent, and its key or index. */
interface Place {
  parent: Record<string, unknown> | unknown[];
  key: string | number;
}

/** Mutates the value at a place in the document `root`. */
type NodeMutation = (place: Place, random: Random, root: unknown) => void;

/** Values of another type. */
const OTHER_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e21,
  2 ** 53,
  9_007_199_254_740_993n,
  10n ** 30n,
  "",
  " ",
  "x",
  "-",
  "a/b",
  "../../etc/passwd",
  "A_B",
  "x".repeat(300),
  "\u0000",
  "\ud800",
  "ä\u0301\u{1f600}",
  "__proto__",
  [],
  [null],
  [[]],
  [{}],
  ["a", 1, null],
  {},
  { "": null },
  { toString: 1, constructor: null, hasOwnProperty: [] },
  { a: { b: { c: [{}] } } },
];

/** Kinds with a meaning in bundles, and some without. */
const KINDS = [
  "ClusterServiceVersion",
  "CustomResourceDefinition",
  "ConfigMap",
  "Secret",
  "Role",
  "ClusterRoleBinding",
  "ServiceAccount",
  "Deployment",
  "Namespace",
  "List",
  "ConfigMapList",
  "",
  "toString",
];

/** Members that rendering reads; they are mutated more often. */
const RENDERED_MEMBERS = new Set(
  `metadata name namespace labels annotations kind apiVersion items spec version install strategy deployments
   permissions clusterPermissions serviceAccountName rules selector matchLabels template containers volumes
   volumeMounts env envFrom resources tolerations affinity nodeSelector webhookdefinitions generateName type
   deploymentName containerPort targetPort conversionCRDs webhookPath customresourcedefinitions
   apiservicedefinitions owned required installModes supported minKubeVersion versions schema openAPIV3Schema
   conversion preserveUnknownFields names group scope`.split(/\s+/),
);

/** Maximum number of values that one mutation adds. Other mutations test the size of texts. */
const MAX_ADDED = 20_000;
/** Number of characters in a text that count as one value. */
const LONG = 50;
/** Maximum number of values to nest deeply, because each of their lines is indented. */
const MAX_NESTED = 200;

/** All mutations of values by name. */
const NODE_MUTATIONS: Readonly<Record<string, NodeMutation>> = {
  "another type": ({ parent, key }, random) => set(parent, key, structuredClone(pick(random, OTHER_VALUES))),
  delete: ({ parent, key }) => {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  },
  duplicate: ({ parent, key }, random) => {
    const value = get(parent, key);
    if (measureSize(value) > MAX_ADDED) return;
    if (Array.isArray(parent)) parent.splice(Number(key), 0, ...Array.from({ length: 1 + upTo(random, 3) }, () => structuredClone(value)));
    else set(parent, `${key}${pick(random, ["2", " ", "_", key.toString()])}`, structuredClone(value));
  },
  "letter case": ({ parent, key }, random) => {
    if (Array.isArray(parent)) return;
    const name = String(key);
    set(
      parent,
      pick(random, [name.toUpperCase(), name.toLowerCase(), `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`]),
      get(parent, key),
    );
  },
  "swap with another value": (place, random, root) => {
    const other = pick(random, listPlaces(root));
    const value = structuredClone(get(place.parent, place.key));
    set(place.parent, place.key, structuredClone(get(other.parent, other.key)));
    set(other.parent, other.key, value);
  },
  "replace with another value": (place, random, root) => {
    const other = pick(random, listPlaces(root));
    if (measureSize(get(other.parent, other.key)) > MAX_ADDED) return;
    set(place.parent, place.key, structuredClone(get(other.parent, other.key)));
  },
  "wrap in a list": ({ parent, key }) => set(parent, key, [get(parent, key)]),
  "wrap in a map": ({ parent, key }, random) => set(parent, key, { [pick(random, ["", "spec", "items", "0"])]: get(parent, key) }),
  "grow a list": ({ parent, key }, random) => {
    const value = get(parent, key);
    const count = pick(random, [2, 70, 1_000]);
    const copies = Math.max(1, Math.min(count, Math.floor(MAX_ADDED / measureSize(value))));
    const items: unknown[] = Array.isArray(value) ? value : [value];
    set(parent, key, Array.from({ length: copies }, () => items).flat());
  },
  "nest deeply": ({ parent, key }, random) => {
    let value = get(parent, key);
    if (measureSize(value) > MAX_NESTED) return;
    const isMap = random() < 0.5;
    for (let depth = pick(random, [20, 100, 300]); depth > 0; depth--) value = isMap ? { properties: { a: value } } : [value];
    set(parent, key, value);
  },
};

/** Sets the kind of a document to another one. */
export function changeKind(root: unknown, random: Random): string {
  if (isObject(root)) set(root, "kind", pick(random, KINDS));
  return "another kind";
}

/**
 * Mutates one place of a document; in two of three cases a member that rendering reads.
 * @returns the mutation and its place; undefined for a document without places.
 */
export function changeNode(root: unknown, random: Random): string | undefined {
  const places = listPlaces(root);
  if (places.length === 0) return undefined;
  const rendered = places.filter(({ key }) => RENDERED_MEMBERS.has(String(key)));
  const place = pick(random, rendered.length > 0 && random() < 0.67 ? rendered : places);
  const name = pick(random, Object.keys(NODE_MUTATIONS));
  NODE_MUTATIONS[name]?.(place, random, root);
  return `${name} (${String(place.key)})`;
}

/** Counts the values in `value` including itself, once per reference; stops soon after `limit`. */
export function measureSize(value: unknown, limit = 2 * MAX_ADDED): number {
  if (typeof value === "string") return 1 + value.length / LONG;
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  for (const item of Object.values(value)) if (size <= limit) size += measureSize(item, limit - size);
  return size;
}

function listPlaces(root: unknown): Place[] {
  const places: Place[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const key of value.keys()) places.push({ parent: value, key });
    else if (isObject(value)) for (const key of Object.keys(value)) places.push({ parent: value, key });
    else return;
    for (const item of Object.values(value)) walk(item);
  };
  walk(root);
  return places;
}

function get(parent: Place["parent"], key: string | number): unknown {
  return (parent as Record<string | number, unknown>)[key];
}

function set(parent: Place["parent"], key: string | number, value: unknown): void {
  if (Array.isArray(parent)) parent[Number(key)] = value;
  else Object.defineProperty(parent, key, { value, enumerable: true, writable: true, configurable: true });
}
