import { foldKey, isObject } from "../../golang/members.ts";
import { Schema } from "../content.ts";
import { formatWrongKind } from "../wrongKind.ts";

/** The JSON that a Go type accepts. Null is always accepted and ignored, and unknown fields are ignored. */
export type Shape =
  | "text"
  | "boolean"
  | "integer"
  | "any"
  | { readonly list: Shape }
  | { readonly map: Shape }
  /** Fields by name and by lower-case name. */
  | { readonly members: ReadonlyMap<string, Shape> };

/** Returns the shape of an object with these fields. Names are case-insensitive. */
export function members(shapes: Readonly<Record<string, Shape>>): { readonly members: ReadonlyMap<string, Shape> } {
  return {
    members: new Map(Object.entries(shapes).flatMap(([name, shape]) => [[name, shape] as const, [name.toLowerCase(), shape] as const])),
  };
}

const EXPECTED = { text: "a string", boolean: "a boolean", integer: "a whole number" } as const;
const MAX_FAULTS = 20;
const MAX_INT32 = 2 ** 31;

/** Returns where a value does not match a shape, such as `entries[0].name: expected a string, got a number: 1`. At most 20 errors. */
export function findShapeFaults(value: unknown, shape: Shape, at = ""): string[] {
  const faults: string[] = [];
  collect(value, shape, at, faults);
  return faults;
}

function collect(value: unknown, shape: Shape, at: string, faults: string[]): void {
  if (fits(value, shape) || faults.length >= MAX_FAULTS) return;
  const refuse = (expected: string): void => void faults.push(`${at === "" ? "" : `${at}: `}${formatWrongKind(value, expected)}`);
  if (typeof shape === "string") {
    if (shape !== "any") refuse(EXPECTED[shape]);
  } else if ("list" in shape) {
    if (!Array.isArray(value)) refuse("a list");
    else for (let i = 0; i < value.length; i++) if (!fits(value[i], shape.list)) collect(value[i], shape.list, `${at}[${i}]`, faults);
  } else if (!isObject(value)) {
    refuse("an object");
  } else {
    const below = at === "" ? "" : `${at}.`;
    for (const key of Object.keys(value)) {
      const own = "map" in shape ? shape.map : (shape.members.get(key) ?? shape.members.get(foldKey(key)));
      const member = value[key];
      if (own !== undefined && !fits(member, own)) collect(member, own, below + key, faults);
    }
  }
}

/** Fast check for scalars, which avoids formatting the paths of valid values. */
function fits(value: unknown, shape: Shape): boolean {
  if (value === null || value === undefined || shape === "any") return true;
  if (shape === "text") return typeof value === "string";
  if (shape === "boolean") return typeof value === "boolean";
  return shape === "integer" && typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= MAX_INT32;
}

const TEXTS: Shape = { list: "text" };
const TEXT_MAP: Shape = { map: "text" };
const PROPERTIES: Shape = { list: members({ type: "text", value: "any" }) };

/** The shapes of typed objects by schema. @see operator-registry v1.73.0 alpha/declcfg/declcfg.go */
export const SCHEMA_SHAPES: ReadonlyMap<string, Shape> = new Map([
  [
    Schema.package,
    members({
      name: "text",
      defaultChannel: "text",
      icon: members({ base64data: "text", mediatype: "text" }),
      description: "text",
      properties: PROPERTIES,
    }),
  ],
  [
    Schema.channel,
    members({
      name: "text",
      package: "text",
      entries: { list: members({ name: "text", replaces: "text", skips: TEXTS, skipRange: "text" }) },
      properties: PROPERTIES,
    }),
  ],
  [
    Schema.bundle,
    members({
      name: "text",
      package: "text",
      image: "text",
      properties: PROPERTIES,
      relatedImages: { list: members({ name: "text", image: "text" }) },
    }),
  ],
  [
    Schema.deprecations,
    members({
      package: "text",
      entries: { list: members({ reference: members({ schema: "text", name: "text" }), message: "text" }) },
    }),
  ],
]);

const GVK: Shape = members({ group: "text", kind: "text", version: "text" });
const NAMED_LINK: Shape = members({ name: "text", url: "text" });
const DESCRIPTORS: Shape = {
  list: members({ path: "text", displayName: "text", description: "text", "x-descriptors": TEXTS, value: "any" }),
};
const API = {
  name: "text",
  version: "text",
  kind: "text",
  displayName: "text",
  description: "text",
  resources: { list: members({ name: "text", kind: "text", version: "text" }) },
  statusDescriptors: DESCRIPTORS,
  specDescriptors: DESCRIPTORS,
  actionDescriptors: DESCRIPTORS,
} as const;
const CRDS: Shape = { list: members(API) };
const API_SERVICES: Shape = { list: members({ ...API, group: "text", deploymentName: "text", containerPort: "integer" }) };

/** The shapes of property values by property type, for all types that opm defines. @see operator-registry v1.73.0 alpha/property/property.go */
export const PROPERTY_SHAPES: ReadonlyMap<string, Shape> = new Map([
  ["olm.package", members({ packageName: "text", version: "text", release: "text" })],
  ["olm.package.required", members({ packageName: "text", versionRange: "text" })],
  ["olm.gvk", GVK],
  ["olm.gvk.required", GVK],
  ["olm.channel", members({ channelName: "text" })],
  ["olm.bundle.object", members({ data: "text" })],
  [
    "olm.csv.metadata",
    members({
      annotations: TEXT_MAP,
      apiServiceDefinitions: members({ owned: API_SERVICES, required: API_SERVICES }),
      crdDescriptions: members({ owned: CRDS, required: CRDS }),
      description: "text",
      displayName: "text",
      installModes: { list: members({ type: "text", supported: "boolean" }) },
      keywords: TEXTS,
      labels: TEXT_MAP,
      links: { list: NAMED_LINK },
      maintainers: { list: members({ name: "text", email: "text" }) },
      maturity: "text",
      minKubeVersion: "text",
      nativeAPIs: { list: GVK },
      provider: NAMED_LINK,
    }),
  ],
]);
