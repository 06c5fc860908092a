/** Severities in descending order. */
export const SEVERITIES = ["error", "warning", "info"] as const;

/**
 * Severity of a finding.
 * - `error`: opm rejects the catalog, or the bundle cannot be installed in all install modes that it supports.
 * - `warning`: most likely a mistake, or forbidden by the format although opm accepts it.
 * - `info`: may be intended.
 */
export type Severity = (typeof SEVERITIES)[number];

/** A rule for file-based catalogs. */
export interface RuleDescription {
  readonly severity: Exclude<Severity, "info">;
  /**
   * The stage of the check. A catalog that breaks a rule of stage "content" cannot be served. The other stages are those of opm, in its order. opm
   * stops at the first error of the first stage that fails; only stage "model" reports all its errors.
   */
  readonly stage: "content" | "load" | "package" | "channel" | "bundle" | "entry" | "deprecation" | "model" | "lint";
  /** The requirement, as a sentence. */
  readonly rule: string;
}

const content = (rule: string) => ({ severity: "error", stage: "content", rule }) as const;
const error = (stage: Exclude<RuleDescription["stage"], "content" | "lint">, rule: string) => ({ severity: "error", stage, rule }) as const;
const warning = (rule: string) => ({ severity: "warning", stage: "lint", rule }) as const;

/** All rules by code. Codes are stable: scripts rely on them. */
export const RULES = {
  "schema-missing": content("Every object has a schema."),
  "package-empty": content("The package name of an object is not empty."),
  "properties-not-a-list": content("The field properties is a list of objects."),
  "property-type-missing": content("The type of a property is a string and not empty."),
  "property-value-missing": content("The value of a property is not null."),
  "duplicate-package": content("Names of olm.package objects are unique in a catalog."),
  "duplicate-bundle": content("Names of olm.bundle objects are unique in a package."),

  "empty-document": error("load", "No document is empty. opm reads an empty document as an object without a schema."),
  "parse-package": error("load", "The fields of an olm.package have the correct types."),
  "parse-channel": error("load", "The fields of an olm.channel have the correct types."),
  "parse-bundle": error("load", "The fields of an olm.bundle have the correct types."),
  "parse-deprecation": error("load", "The fields of an olm.deprecations have the correct types."),
  "bundle-object-unreadable": error("load", "An olm.bundle.object contains base64-encoded YAML or JSON."),

  "package-name-missing": error("package", "An olm.package has a name."),
  "package-name-invalid": error("package", "The name of an olm.package is a DNS-1123 label."),

  "channel-package-unknown": error("channel", "The package of a channel is in the catalog."),
  "channel-name-missing": error("channel", "A channel has a name."),
  "duplicate-channel": error("channel", "Names of channels are unique in a package."),
  "duplicate-entry": error("channel", "A bundle is at most once in a channel."),

  "bundle-package-missing": error("bundle", "A bundle names its package."),
  "bundle-package-unknown": error("bundle", "The package of a bundle is in the catalog."),
  "property-unreadable": error("bundle", "The value of a property matches its type."),
  "package-property-count": error("bundle", "A bundle has exactly one property olm.package."),
  "package-property-mismatch": error("bundle", "The property olm.package names the package of the bundle."),
  "image-invalid": error("bundle", "The image of a bundle is a valid image reference."),
  "related-image-invalid": error("bundle", "A related image is a valid image reference."),
  "version-invalid": error("bundle", "The version of a bundle is a semantic version."),
  "release-invalid": error("bundle", "The release of a bundle has the form of a prerelease and at most 20 characters."),
  "bundle-without-entry": error("bundle", "A bundle is in a channel of its package."),

  "entry-without-bundle": error("entry", "An entry of a channel is a bundle of the package."),

  "deprecation-package-missing": error("deprecation", "An olm.deprecations names its package."),
  "deprecation-package-unknown": error("deprecation", "The package of an olm.deprecations is in the catalog."),
  "duplicate-deprecations": error("deprecation", "A package has at most one olm.deprecations."),
  "deprecation-schema-missing": error("deprecation", "The reference of a deprecation has a schema."),
  "duplicate-deprecation": error("deprecation", "References in an olm.deprecations are unique."),
  "deprecation-bundle-unknown": error("deprecation", "A deprecated bundle is in the package."),
  "deprecation-channel-unknown": error("deprecation", "A deprecated channel is in the package."),
  "deprecation-package-named": error("deprecation", "If a deprecation refers to the package, its reference has no name."),
  "deprecation-schema-unknown": error("deprecation", "Only packages, channels and bundles are deprecated."),

  "default-channel-missing": error("model", "A package has a default channel."),
  "default-channel-unknown": error("model", "The default channel of a package is one of its channels."),
  "package-without-channel": error("model", "A package has a channel."),
  "duplicate-version": error("model", "The bundles of a package have different versions."),
  "channel-empty": error("model", "A channel has an entry."),
  "channel-head-missing": error("model", "A channel has an entry that no other entry replaces or skips."),
  "channel-heads": error("model", "A channel has only one entry that no other entry replaces or skips."),
  "replaces-cycle": error("model", "The replaces chain from the head of a channel has no cycle."),
  "stranded-bundles": error("model", "The replaces chain from the head of a channel contains every entry that is not skipped."),
  "skip-empty": error("model", "The skips of an entry are not empty."),
  "skip-range-invalid": error("model", "The skipRange of an entry is a version range."),
  "bundle-name-missing": error("model", "A bundle has a name."),
  "bundle-name-not-normalized": error("model", "A bundle with a release is named after package, version and release."),
  "bundle-image-missing": error("model", "A bundle has an image or contains its objects."),
  "release-with-build": error("model", "A version with a release has no build metadata."),
  "deprecation-message-missing": error("model", "A deprecation has a message."),

  "icon-incomplete": warning("An icon has base64data and mediatype."),
  "icon-no-image": warning("The data of an icon is an image of its mediatype."),
  "entry-replaces-empty": warning("The replaces of an entry is not empty."),
  "entry-skip-range-empty": warning("The skipRange of an entry is not empty."),
  "bundle-image-empty": warning("A bundle has an image, even if it contains its objects."),
  "related-image-empty": warning("A related image has an image reference, and its name, if set, is not empty."),
  "gvk-invalid": warning("olm.gvk and olm.gvk.required have a valid group, version and kind."),
  "package-required-invalid": warning("olm.package.required has packageName and a valid versionRange."),
  "version-unquoted": warning("The value of olm.maxOpenShiftVersion is a string. YAML reads the number 4.10 as 4.1."),
  "deprecations-named": warning("An olm.deprecations has no name."),
  "deprecations-empty": warning("An olm.deprecations has an entry."),
  "reserved-schema": warning("OLM defines every schema that begins with `olm.`."),
} as const satisfies Record<string, RuleDescription>;

/** Code of a rule. */
export type RuleCode = keyof typeof RULES;

/** Reports whether a catalog that breaks the rule cannot be served. */
export function preventsServing(rule: RuleCode): boolean {
  return RULES[rule].stage === "content";
}
