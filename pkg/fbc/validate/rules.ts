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
   * The stage of the check. A catalog that breaks a rule of stage "content" cannot be served. The stages from "load" to "model" are the opm stages,
   * in order. opm stops at the first error of the first stage that fails; only stage "model" reports all its errors. opm does not check rules of
   * stage "lint".
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
  "schema-missing": content("Every object must have a schema."),
  "package-empty": content("The package name of an object must not be empty."),
  "properties-not-a-list": content("The field `properties` must be a list of objects."),
  "property-type-missing": content("The type of a property must be a non-empty string."),
  "property-value-missing": content("The value of a property must not be null."),
  "duplicate-package": content("The names of olm.package objects must be unique in a catalog."),
  "duplicate-bundle": content("The names of olm.bundle objects must be unique in a package."),

  "empty-document": error("load", "Documents must not be empty. opm reads an empty document as an object without a schema."),
  "parse-package": error("load", "The fields of an olm.package object must have the correct types."),
  "parse-channel": error("load", "The fields of an olm.channel object must have the correct types."),
  "parse-bundle": error("load", "The fields of an olm.bundle object must have the correct types."),
  "parse-deprecation": error("load", "The fields of an olm.deprecations object must have the correct types."),
  "bundle-object-unreadable": error("load", "An olm.bundle.object property must contain base64-encoded YAML or JSON."),

  "package-name-missing": error("package", "A package must have a name."),
  "package-name-invalid": error("package", "The package name must be a DNS-1123 label."),

  "channel-package-unknown": error("channel", "The package of a channel must be in the catalog."),
  "channel-name-missing": error("channel", "A channel must have a name."),
  "duplicate-channel": error("channel", "Channel names must be unique in a package."),
  "duplicate-entry": error("channel", "A channel must not contain more than one entry for the same bundle."),

  "bundle-package-missing": error("bundle", "A bundle must have a package name."),
  "bundle-package-unknown": error("bundle", "The package of a bundle must be in the catalog."),
  "property-unreadable": error("bundle", "The value of a property must match its type."),
  "package-property-count": error("bundle", "A bundle must have exactly one olm.package property."),
  "package-property-mismatch": error("bundle", "The package name in the olm.package property must be that of the bundle."),
  "image-invalid": error("bundle", "The bundle image must be a valid image reference."),
  "related-image-invalid": error("bundle", "A related image must be a valid image reference."),
  "version-invalid": error("bundle", "The bundle version must be a semantic version."),
  "release-invalid": error("bundle", "The bundle release must have the form of a prerelease version and at most 20 characters."),
  "bundle-without-entry": error("bundle", "A bundle must be in a channel of its package."),

  "entry-without-bundle": error("entry", "Every channel entry must be a bundle of the package."),

  "deprecation-package-missing": error("deprecation", "An olm.deprecations object must have a package name."),
  "deprecation-package-unknown": error("deprecation", "The package of an olm.deprecations object must be in the catalog."),
  "duplicate-deprecations": error("deprecation", "A package must have at most one olm.deprecations object."),
  "deprecation-schema-missing": error("deprecation", "The reference of a deprecation must have a schema."),
  "duplicate-deprecation": error("deprecation", "The references in an olm.deprecations object must be unique."),
  "deprecation-bundle-unknown": error("deprecation", "A deprecated bundle must be in the package."),
  "deprecation-channel-unknown": error("deprecation", "A deprecated channel must be in the package."),
  "deprecation-package-named": error("deprecation", "The reference of a package deprecation must not have a name."),
  "deprecation-schema-unknown": error("deprecation", "A deprecation must refer to a package, channel or bundle."),

  "default-channel-missing": error("model", "A package must have a default channel."),
  "default-channel-unknown": error("model", "The default channel of a package must be one of its channels."),
  "package-without-channel": error("model", "A package must have at least one channel."),
  "duplicate-version": error("model", "The bundles of a package must have different versions."),
  "channel-empty": error("model", "A channel must have at least one entry."),
  "channel-head-missing": error("model", "A channel must have a head: an entry that no other entry replaces or skips."),
  "channel-heads": error("model", "A channel must have only one head: an entry that no other entry replaces or skips."),
  "replaces-cycle": error("model", "The replaces chain from the channel head must not contain a cycle."),
  "stranded-bundles": error("model", "The replaces chain from the channel head must contain every entry that is not skipped."),
  "skip-empty": error("model", "The `skips` list of an entry must not contain empty names."),
  "skip-range-invalid": error("model", "The skipRange of an entry must be a version range."),
  "bundle-name-missing": error("model", "A bundle must have a name."),
  "bundle-name-not-normalized": error("model", "The name of a bundle with a release must be `<package>-v<version>-<release>`."),
  "bundle-image-missing": error("model", "A bundle must have an image or contain its objects."),
  "release-with-build": error("model", "The version of a bundle with a release must not have build metadata."),
  "deprecation-message-missing": error("model", "A deprecation must have a message."),

  "icon-incomplete": warning("An icon should have base64data and mediatype."),
  "icon-no-image": warning("The icon data should be an image with the media type of the icon."),
  "entry-replaces-empty": warning("If an entry has the field `replaces`, it should not be empty."),
  "entry-skip-range-empty": warning("If an entry has the field `skipRange`, it should not be empty."),
  "bundle-image-empty": warning("A bundle should have an image, even if it contains its objects."),
  "related-image-empty": warning("A related image should have an image reference and, if set, a non-empty name."),
  "gvk-invalid": warning("The properties olm.gvk and olm.gvk.required should have a valid group, version and kind."),
  "package-required-invalid": warning("The property olm.package.required should have a packageName and a valid versionRange."),
  "version-unquoted": warning("The value of the property olm.maxOpenShiftVersion should be a string. YAML reads the number 4.10 as 4.1."),
  "deprecations-named": warning("An olm.deprecations object should not have a name."),
  "deprecations-empty": warning("An olm.deprecations object should have at least one entry."),
  "lifecycle-invalid": warning("An object with support phases should match its schema. Invalid parts are ignored."),
  "duplicate-lifecycle": warning("A package should have at most one object with support phases. If it has more, all of them are ignored."),
  "reserved-schema": warning("Schemas that begin with `olm.` should be defined by OLM."),
} as const satisfies Record<string, RuleDescription>;

/** Code of a rule. */
export type RuleCode = keyof typeof RULES;

/** Reports whether a catalog that breaks the rule cannot be served. */
export function preventsServing(rule: RuleCode): boolean {
  return RULES[rule].stage === "content";
}
