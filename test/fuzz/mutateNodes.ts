import { isObject } from "../../pkg/golang/members.ts";
import { pick, type Random, upTo } from "../support/random.ts";

/** A member or item: where it hangs, and under which key or index. */
interface Place {
  parent: Record<string, unknown> | unknown[];
  key: string | number;
}

/** Changes what hangs at a place. `root` is the whole document, of which it is a part. */
type NodeMutation = (place: Place, random: Random, root: unknown) => void;

/** Values of another type than the one that stands there. */
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

/** Kinds that mean something to a bundle, and some that mean nothing. */
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

/** Members that rendering looks at: what goes wrong there is most worth knowing. */
const CLOSE = new Set(
  `metadata name namespace labels annotations kind apiVersion items spec version install strategy deployments
   permissions clusterPermissions serviceAccountName rules selector matchLabels template containers volumes
   volumeMounts env envFrom resources tolerations affinity nodeSelector webhookdefinitions generateName type
   deploymentName containerPort targetPort conversionCRDs webhookPath customresourcedefinitions
   apiservicedefinitions owned required installModes supported minKubeVersion versions schema openAPIV3Schema
   conversion preserveUnknownFields names group scope`.split(/\s+/),
);

/** Values that one change may add: what breaks a bundle by sheer size is made of text. */
const MAX_ADDED = 20_000;
/** A text of so many characters counts as another value. */
const LONG = 50;
/** Values that may be put far down: each line of them is indented as far. */
const MAX_NESTED = 200;

/** Every way of changing a document's values, by what it does. */
const NODE_MUTATIONS: Readonly<Record<string, NodeMutation>> = {
  "another type": ({ parent, key }, random) => set(parent, key, structuredClone(pick(random, OTHER_VALUES))),
  delete: ({ parent, key }) => {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  },
  duplicate: ({ parent, key }, random) => {
    const value = get(parent, key);
    if (sizeOf(value) > MAX_ADDED) return;
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
  "swap with another": (place, random, root) => {
    const other = pick(random, placesIn(root));
    const value = structuredClone(get(place.parent, place.key));
    set(place.parent, place.key, structuredClone(get(other.parent, other.key)));
    set(other.parent, other.key, value);
  },
  "copy another here": (place, random, root) => {
    const other = pick(random, placesIn(root));
    if (sizeOf(get(other.parent, other.key)) > MAX_ADDED) return;
    set(place.parent, place.key, structuredClone(get(other.parent, other.key)));
  },
  "wrap in a list": ({ parent, key }) => set(parent, key, [get(parent, key)]),
  "wrap in a map": ({ parent, key }, random) => set(parent, key, { [pick(random, ["", "spec", "items", "0"])]: get(parent, key) }),
  "grow a list": ({ parent, key }, random) => {
    const value = get(parent, key);
    const wanted = pick(random, [2, 70, 1_000]);
    const copies = Math.max(1, Math.min(wanted, Math.floor(MAX_ADDED / sizeOf(value))));
    const items: unknown[] = Array.isArray(value) ? value : [value];
    set(parent, key, Array.from({ length: copies }, () => items).flat());
  },
  "nest deeply": ({ parent, key }, random) => {
    let value = get(parent, key);
    if (sizeOf(value) > MAX_NESTED) return;
    const isMap = random() < 0.5;
    for (let depth = pick(random, [20, 100, 300]); depth > 0; depth--) value = isMap ? { properties: { a: value } } : [value];
    set(parent, key, value);
  },
};

/** Changes a document's kind to another. */
export function changeKind(root: unknown, random: Random): string {
  if (isObject(root)) set(root, "kind", pick(random, KINDS));
  return "another kind";
}

/**
 * Changes one place of a document, two times in three one whose name rendering looks at.
 * @returns what was done, and where; undefined for a document without places.
 */
export function changeNode(root: unknown, random: Random): string | undefined {
  const places = placesIn(root);
  if (places.length === 0) return undefined;
  const close = places.filter(({ key }) => CLOSE.has(String(key)));
  const place = pick(random, close.length > 0 && random() < 0.67 ? close : places);
  const name = pick(random, Object.keys(NODE_MUTATIONS));
  NODE_MUTATIONS[name]?.(place, random, root);
  return `${name} (${String(place.key)})`;
}

/** The values in it, itself among them, each as often as it is referred to; stops soon after `limit`. */
export function sizeOf(value: unknown, limit = 2 * MAX_ADDED): number {
  if (typeof value === "string") return 1 + value.length / LONG;
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  for (const item of Object.values(value)) if (size <= limit) size += sizeOf(item, limit - size);
  return size;
}

function placesIn(root: unknown): Place[] {
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
