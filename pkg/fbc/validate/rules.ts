/** From the worst on. */
export const SEVERITIES = ["error", "warning", "info"] as const;

/**
 * How bad it is to break a rule. An error: opm refuses the catalog, or the bundle cannot be installed, or not in every way that it says it can. A warning is
 * most likely a mistake, or forbidden by the format although opm lets it through. What is only information may be meant so.
 */
export type Severity = (typeof SEVERITIES)[number];

/** One rule of file-based catalogs. */
export interface RuleDescription {
  readonly severity: Exclude<Severity, "info">;
  /**
   * When it is looked at. What breaks a rule of stage "content" cannot be served at all. The others are those of opm's check, in its order: it
   * stops at the first error of the first stage that has one; only "model" tells all of its errors.
   */
  readonly stage: "content" | "load" | "package" | "channel" | "bundle" | "entry" | "deprecation" | "model" | "lint";
  /** What must hold; a sentence. */
  readonly rule: string;
}

const content = (rule: string) => ({ severity: "error", stage: "content", rule }) as const;
const error = (stage: Exclude<RuleDescription["stage"], "content" | "lint">, rule: string) => ({ severity: "error", stage, rule }) as const;
const warning = (rule: string) => ({ severity: "warning", stage: "lint", rule }) as const;

/** Every rule by its code. Codes are stable: scripts rely on them. */
export const RULES = {
  "schema-missing": content("Every object has a schema."),
  "package-empty": content("A package that an object names is not empty."),
  "properties-not-a-list": content("The properties of an object are a list of objects."),
  "property-type-missing": content("A property has a type, which is a string and not empty."),
  "property-value-missing": content("A property has a value, which is not null."),
  "duplicate-package": content("A catalog has one olm.package of a name."),
  "duplicate-bundle": content("A package has one olm.bundle of a name."),

  "empty-document": error("load", "A document is not empty: opm takes it for an object without a schema."),
  "parse-package": error("load", "The members of an olm.package have the right kinds."),
  "parse-channel": error("load", "The members of an olm.channel have the right kinds."),
  "parse-bundle": error("load", "The members of an olm.bundle have the right kinds."),
  "parse-deprecation": error("load", "The members of an olm.deprecations have the right kinds."),
  "bundle-object-unreadable": error("load", "An olm.bundle.object holds YAML or JSON in base64."),

  "package-name-missing": error("package", "An olm.package has a name."),
  "package-name-invalid": error("package", "The name of an olm.package is a DNS-1123 label."),

  "channel-package-unknown": error("channel", "The package of a channel is in the catalog."),
  "channel-name-missing": error("channel", "A channel has a name."),
  "duplicate-channel": error("channel", "A package has one channel of a name."),
  "duplicate-entry": error("channel", "A bundle is in a channel once."),

  "bundle-package-missing": error("bundle", "A bundle names its package."),
  "bundle-package-unknown": error("bundle", "The package of a bundle is in the catalog."),
  "property-unreadable": error("bundle", "The value of a property of a known type has the right form."),
  "package-property-count": error("bundle", "A bundle has exactly one property olm.package."),
  "package-property-mismatch": error("bundle", "The property olm.package names the bundle's package."),
  "image-invalid": error("bundle", "The image of a bundle can be a pull reference."),
  "related-image-invalid": error("bundle", "A related image can be a pull reference."),
  "version-invalid": error("bundle", "The version of a bundle is a semantic version."),
  "release-invalid": error("bundle", "The release of a bundle is made of identifiers of a prerelease, of 20 characters at most."),
  "bundle-without-entry": error("bundle", "A bundle is in a channel of its package."),

  "entry-without-bundle": error("entry", "An entry of a channel is a bundle of the package."),

  "deprecation-package-missing": error("deprecation", "An olm.deprecations names its package."),
  "deprecation-package-unknown": error("deprecation", "The package of an olm.deprecations is in the catalog."),
  "duplicate-deprecations": error("deprecation", "A package has one olm.deprecations."),
  "deprecation-schema-missing": error("deprecation", "The reference of a deprecation has a schema."),
  "duplicate-deprecation": error("deprecation", "An olm.deprecations has one entry for a reference."),
  "deprecation-bundle-unknown": error("deprecation", "A bundle that is deprecated is in the package."),
  "deprecation-channel-unknown": error("deprecation", "A channel that is deprecated is in the package."),
  "deprecation-package-named": error("deprecation", "The reference of a deprecation of the package has no name."),
  "deprecation-schema-unknown": error("deprecation", "Packages, channels and bundles can be deprecated, nothing else."),

  "default-channel-missing": error("model", "A package has a default channel."),
  "default-channel-unknown": error("model", "The default channel of a package is one of its channels."),
  "package-without-channel": error("model", "A package has a channel."),
  "duplicate-version": error("model", "The bundles of a package have different versions."),
  "channel-empty": error("model", "A channel has an entry."),
  "channel-head-missing": error("model", "A channel has an entry that no other one replaces or skips."),
  "channel-heads": error("model", "A channel has only one entry that no other one replaces or skips."),
  "replaces-cycle": error("model", "Following replaces from the head of a channel does not lead back."),
  "stranded-bundles": error("model", "Following replaces from the head of a channel leads to every entry that is not skipped."),
  "skip-empty": error("model", "What an entry skips has a name."),
  "skip-range-invalid": error("model", "The skipRange of an entry is a range of versions."),
  "bundle-name-missing": error("model", "A bundle has a name."),
  "bundle-name-not-normalized": error("model", "A bundle with a release is named after package, version and release."),
  "bundle-image-missing": error("model", "A bundle has an image or its objects."),
  "release-with-build": error("model", "A version with a release has no build metadata."),
  "deprecation-message-missing": error("model", "A deprecation has a message."),

  "icon-incomplete": warning("An icon has base64data and mediatype."),
  "icon-no-image": warning("An icon is an image of its mediatype."),
  "entry-replaces-empty": warning("An entry that replaces something says what."),
  "entry-skip-range-empty": warning("A skipRange is not empty."),
  "bundle-image-empty": warning("A bundle has an image, also beside its objects."),
  "related-image-empty": warning("A related image has an image, and a name that is not empty where it has one."),
  "gvk-invalid": warning("olm.gvk and olm.gvk.required have group, version and kind in the form of Kubernetes."),
  "package-required-invalid": warning("olm.package.required has packageName and versionRange, which is a range of versions."),
  "version-unquoted": warning("The value of olm.maxOpenShiftVersion is a string: as a number of YAML, 4.10 is 4.1."),
  "deprecations-named": warning("An olm.deprecations has no name."),
  "deprecations-empty": warning("An olm.deprecations has an entry."),
  "reserved-schema": warning("Schemas that begin with olm. are those that OLM defines."),
} as const satisfies Record<string, RuleDescription>;

/** Code of a rule; stable, since scripts rely on it. */
export type RuleCode = keyof typeof RULES;

/** Whether a catalog that breaks the rule cannot be served. */
export function refusesContent(rule: RuleCode): boolean {
  return RULES[rule].stage === "content";
}
