import { Schema } from "../content.ts";
import { members, type Shape } from "./shape.ts";

const TEXTS: Shape = { list: "text" };
const TEXT_MAP: Shape = { map: "text" };
const PROPERTIES: Shape = { list: members({ type: "text", value: "any" }) };

/** What the typed objects are made of. @see operator-registry alpha/declcfg/declcfg.go */
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

/** The value of each property whose type means something to opm. @see operator-registry alpha/property/property.go */
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
