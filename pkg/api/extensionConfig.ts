import * as z from "zod";
import { DNS1123_SUBDOMAIN } from "./names.ts";
import { matches, withRules } from "./rules.ts";

/** The member of a ConfigMap or Secret that is read where a source names none. */
export const VALUES_KEY = "values.yaml";
/** Sources that one extension may name. */
const VALUES_FROM_MAX = 16;

const NAME_TEXT = "name must be a valid DNS1123 subdomain";
const KEY_TEXT = "key must consist of alphanumeric characters, hyphens (-), underscores (_) and periods (.)";

/** Where a part of the configuration is read from. */
export const ValuesSource = z
  .object({
    kind: z.enum(["ConfigMap", "Secret"]).describe("kind is ConfigMap or Secret."),
    name: withRules(z.string().min(1).max(253), matches(DNS1123_SUBDOMAIN, NAME_TEXT)).describe(
      "name is the name of the object in spec.namespace. A DNS-1123 subdomain of at most 253 characters.",
    ),
    key: withRules(z.string().min(1).max(253), matches("^[-._a-zA-Z0-9]+$", KEY_TEXT))
      .default(VALUES_KEY)
      .describe("key is the member of the object's data that holds the values, as YAML or JSON. At most 253 characters."),
    optional: z
      .boolean()
      .optional()
      .describe(
        "optional is true where it is no fault that the object, or the key in it, does not exist: then it adds nothing. Without it, that is waited for.",
      ),
  })
  .describe("A part of the configuration that is kept outside of the extension.");
export type ValuesSource = z.input<typeof ValuesSource>;

/** Configuration for the bundle: in the extension itself, and in objects that it names. */
export const extensionConfig = withRules(
  z.object({
    configType: z.enum(["Inline"]).describe("configType is where the configuration comes from. The only value is Inline."),
    inline: z
      .record(z.string(), z.unknown())
      .refine((value) => Object.keys(value).length > 0, "must have at least 1 property")
      .optional()
      .meta({
        minProperties: 1,
        "x-kubernetes-preserve-unknown-fields": true,
        description:
          "inline is the configuration itself, with at least one member; it may be left out where valuesFrom is there. The bundle's schema decides which ones there may be: registry+v1 bundles know deploymentConfig and deploymentConfigs and, by their install modes, watchNamespace and watchNamespaces. With valuesFrom at most 256 KiB as JSON and 10,000 values.",
      }),
    valuesFrom: z.array(ValuesSource).min(1).max(VALUES_FROM_MAX).optional().meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "valuesFrom names ConfigMaps and Secrets of spec.namespace that hold parts of the configuration. Each is merged over those before it, and inline over all of them: objects member by member, everything else as a whole, and null removes a member. They are read as the extension's ServiceAccount, a change of them is noticed, and what they hold is shown neither in status nor in Events or plans. At most 16, with at most 256 KiB together.",
    }),
  }),
  {
    rule: "has(self.configType) && self.configType == 'Inline' ? has(self.inline) || has(self.valuesFrom) : !has(self.inline) && !has(self.valuesFrom)",
    message: "inline is required when configType is Inline, and forbidden otherwise",
    holds: ({ configType, inline, valuesFrom }) => (configType === "Inline") === (inline !== undefined || valuesFrom !== undefined),
  },
).describe("config is configuration for the bundle, checked against the bundle's own schema.");
