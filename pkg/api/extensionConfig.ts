import * as z from "zod";
import { DNS1123_SUBDOMAIN } from "./names.ts";
import { matches, withRules } from "./rules.ts";

/** Default key in a ConfigMap or Secret. */
export const VALUES_KEY = "values.yaml";
/** Maximum number of sources of an extension. */
const VALUES_FROM_MAX = 16;

const NAME_TEXT = "name must be a valid DNS1123 subdomain";
const KEY_TEXT = "key must consist of alphanumeric characters, hyphens (-), underscores (_) and periods (.)";

/** A ConfigMap or Secret with a part of the configuration. */
export const ValuesSource = z
  .object({
    kind: z.enum(["ConfigMap", "Secret"]).describe("kind is ConfigMap or Secret."),
    name: withRules(z.string().min(1).max(253), matches(DNS1123_SUBDOMAIN, NAME_TEXT)).describe(
      "name is the name of the object in spec.namespace. A DNS-1123 subdomain.",
    ),
    key: withRules(z.string().min(1).max(253), matches("^[-._a-zA-Z0-9]+$", KEY_TEXT))
      .default(VALUES_KEY)
      .describe("key is the key in the object that contains the values as YAML or JSON. At most 253 characters."),
    optional: z
      .boolean()
      .optional()
      .describe("optional is true to ignore a missing object or key. Otherwise the controller waits until it exists."),
  })
  .describe("One source of values.");
export type ValuesSource = z.input<typeof ValuesSource>;

/** Configuration for the bundle: inline, and from ConfigMaps and Secrets. */
export const extensionConfig = withRules(
  z.object({
    configType: z.enum(["Inline"]).describe("configType is the type of the configuration: Inline."),
    inline: z
      .record(z.string(), z.unknown())
      .refine((value) => Object.keys(value).length > 0, "must have at least 1 property")
      .optional()
      .meta({
        minProperties: 1,
        "x-kubernetes-preserve-unknown-fields": true,
        description:
          "inline is the configuration, with at least one member. Optional if valuesFrom is set. Members for registry+v1 bundles are deploymentConfig, deploymentConfigs and, depending on install modes, watchNamespace and watchNamespaces. If valuesFrom is set, at most 256 KiB as JSON and 10,000 values.",
      }),
    valuesFrom: z.array(ValuesSource).min(1).max(VALUES_FROM_MAX).optional().meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "valuesFrom lists ConfigMaps and Secrets in spec.namespace with parts of the configuration. Later ones override earlier ones, and inline overrides all: objects are merged, other values replaced, and null removes a member. The controller reads them as the ServiceAccount, reacts to changes, and never shows their values in status, Events or plans. At most 16, and 256 KiB in total.",
    }),
  }),
  {
    rule: "has(self.configType) && self.configType == 'Inline' ? has(self.inline) || has(self.valuesFrom) : !has(self.inline) && !has(self.valuesFrom)",
    message: "inline is required when configType is Inline, and forbidden otherwise",
    holds: ({ configType, inline, valuesFrom }) => (configType === "Inline") === (inline !== undefined || valuesFrom !== undefined),
  },
).describe("config is the configuration of the bundle. It must match the schema of the bundle.");
