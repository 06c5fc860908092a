import type { JsonObject } from "../../api/k8s.ts";
import { isLabel, validateSubdomain } from "../../api/names.ts";
import { SUGGESTED_NAMESPACE, SUGGESTED_NAMESPACE_TEMPLATE } from "../../bundle/suggestedNamespace.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { decodeBase64 } from "../../golang/base64.ts";
import { getObjectAt, getObjectsAt, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { parseRange } from "../../version/blang.ts";
import { parseOperatorVersion, parseVersion } from "../../version/version.ts";
import type { BundleContent } from "./content.ts";
import { type Breach, defineErrorRule, defineInfoRule, defineWarningRule, listDroppedFields, type RuleTable, Source } from "./rule.ts";

const KUBE_VERSION = /^v?\d{1,5}(\.\d{1,5}){1,2}$/;
const INSTALL_MODES = ["AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"];

/** Rules for the ClusterServiceVersion. */
export const CSV_RULES: RuleTable = {
  "csv-name-missing": defineErrorRule("The CSV must have a name.", Source.packaging, nameMissing),
  "csv-name-invalid": defineWarningRule("The CSV name should be a DNS-1123 subdomain.", Source.packaging, nameInvalid),
  "csv-name-version": defineInfoRule("The CSV name should end with the CSV version.", Source.packaging, nameVersion),
  "csv-version-missing": defineErrorRule("The CSV must have a version.", Source.packaging, versionMissing),
  "csv-version-form": defineWarningRule("The CSV version should be a semantic version.", Source.packaging, versionForm),
  "unknown-field": defineWarningRule(
    "The CSV should contain only known fields. Unknown fields are dropped.",
    Source.controller,
    unknownFields,
  ),
  "install-mode-unknown": defineWarningRule("The CSV should list only known install modes.", Source.format, installModes),
  "min-kube-version": defineWarningRule("minKubeVersion should be a Kubernetes version.", Source.packaging, minKubeVersion),
  "skip-range": defineWarningRule("The annotation olm.skipRange should be a version range.", Source.packaging, skipRange),
  replaces: defineWarningRule("The CSV should not replace or skip itself.", Source.packaging, replaces),
};

function getName({ csv }: BundleContent): string {
  return csv?.metadata.name ?? "";
}

/** Returns the version as written in the file. The converted CSV always has a version, even if the file has none. */
function writtenVersion({ csvManifest }: BundleContent): string {
  const version = csvManifest && getObjectAt(csvManifest.object, "spec")["version"];
  return typeof version === "string" ? version : "";
}

function nameMissing(content: BundleContent): Breach[] {
  if (!content.csv || getName(content) !== "") return [];
  return [{ message: "the CSV has no metadata.name: set it, for example to my-operator.v1.0.0", at: content.inCsv("metadata") }];
}

function nameInvalid(content: BundleContent): Breach[] {
  const name = getName(content);
  const faults = name === "" ? [] : validateSubdomain(name).sort();
  return faults.map((fault) => ({ message: `CSV name ${goQuote(name)}: ${fault}`, at: content.inCsv("metadata", "name") }));
}

function nameVersion(content: BundleContent): Breach[] {
  const [name, version] = [getName(content), writtenVersion(content)];
  // Names often contain replacements for characters of the version that names cannot contain.
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "-");
  if (name === "" || version === "" || plain(name).endsWith(plain(version))) return [];
  return [{ message: `CSV name ${goQuote(name)} does not end with its version ${version}`, at: content.inCsv("metadata", "name") }];
}

function versionMissing(content: BundleContent): Breach[] {
  if (!content.csv || writtenVersion(content) !== "") return [];
  return [{ message: "spec.version is missing: the bundle would have version 0.0.0", at: content.inCsv("spec") }];
}

function versionForm(content: BundleContent): Breach[] {
  const written = writtenVersion(content);
  if (!content.csv || written === "") return [];
  try {
    parseVersion(written);
    return [];
  } catch (err) {
    const read = parseOperatorVersion(written);
    return [
      {
        message: `spec.version ${goQuote(written)} is interpreted as ${read}: ${getErrorMessage(err)}`,
        at: content.inCsv("spec", "version"),
      },
    ];
  }
}

function unknownFields({ csvManifest }: BundleContent): Breach[] {
  if (!csvManifest) return [];
  const { metadata: _, ...object } = csvManifest.object;
  return listDroppedFields("operators/v1alpha1.ClusterServiceVersion", object).map(({ message, path }) => ({
    message,
    at: { manifest: csvManifest, path },
  }));
}

function installModes(content: BundleContent): Breach[] {
  return (content.csv?.spec.installModes ?? []).flatMap(({ type }, i) =>
    INSTALL_MODES.includes(type)
      ? []
      : [
          {
            message: `install mode ${goQuote(type)} is unknown and has no effect: use one of ${INSTALL_MODES.join(", ")}`,
            at: content.inCsv("spec", "installModes", i, "type"),
          },
        ],
  );
}

function minKubeVersion(content: BundleContent): Breach[] {
  const version = content.csv?.spec.minKubeVersion ?? "";
  if (version === "" || KUBE_VERSION.test(version)) return [];
  return [
    {
      message: `invalid minKubeVersion ${goQuote(version)}: use a Kubernetes version such as 1.27.0`,
      at: content.inCsv("spec", "minKubeVersion"),
    },
  ];
}

function skipRange(content: BundleContent): Breach[] {
  const range = content.csvAnnotations["olm.skipRange"] ?? "";
  if (range === "") return [];
  try {
    parseRange(range);
    return [];
  } catch (err) {
    return [
      {
        message: `olm.skipRange ${goQuote(range)} is not a version range: ${getErrorMessage(err)}`,
        at: content.inCsv("metadata", "annotations", "olm.skipRange"),
      },
    ];
  }
}

function replaces(content: BundleContent): Breach[] {
  const spec: unknown = content.csv?.spec;
  const name = getName(content);
  if (!isObject(spec) || name === "") return [];
  const skips = Array.isArray(spec["skips"]) ? spec["skips"] : [];
  return [
    ...(spec["replaces"] === name ? [{ message: `the CSV replaces itself, ${name}`, at: content.inCsv("spec", "replaces") }] : []),
    ...(skips.includes(name)
      ? [{ message: `the CSV skips itself, ${name}`, at: content.inCsv("spec", "skips", skips.indexOf(name)) }]
      : []),
  ];
}

const LEVELS = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
const EMAIL = /^[^@\s]+@[^@\s]+$/;
/** Platform labels, such as `operatorframework.io/arch.amd64: supported`. */
const PLATFORM = /^operatorframework\.io\/(arch|os)\./;

/** Rules for the operator description that user interfaces show. */
export const DESCRIPTION_RULES: RuleTable = {
  "display-name": defineWarningRule("The CSV should have a display name.", Source.packaging, (content) =>
    requireField(content, "displayName", "add the operator name that user interfaces show"),
  ),
  description: defineWarningRule("The CSV should have a description.", Source.packaging, (content) =>
    requireField(content, "description", "describe what the operator does, in Markdown"),
  ),
  keywords: defineWarningRule("The CSV should have keywords.", Source.packaging, (content) =>
    requireField(content, "keywords", "add words that users search for"),
  ),
  maintainers: defineWarningRule("The CSV should list maintainers with their email addresses.", Source.packaging, maintainers),
  provider: defineWarningRule("The CSV should contain the name of the provider.", Source.packaging, provider),
  icon: defineWarningRule("The CSV should have an icon in base64 with its media type.", Source.packaging, icon),
  labels: defineInfoRule("The CSV should have labels.", Source.packaging, (content) =>
    requireField(content, "labels", "add labels that select the operator"),
  ),
  capabilities: defineWarningRule(
    "The annotation capabilities should contain a level of the operator maturity model.",
    Source.packaging,
    capabilities,
  ),
  "suggested-namespace": defineWarningRule("The suggested namespace of the CSV should be valid.", Source.packaging, suggestedNamespace),
  platform: defineWarningRule(
    "Labels for architectures and operating systems should have the value `supported`.",
    Source.packaging,
    platforms,
  ),
};

function getSpec({ csv }: BundleContent): JsonObject | undefined {
  return csv && { ...csv.spec };
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "string") return value.trim() === "";
  if (typeof value !== "object") return value === undefined;
  return value === null || Object.keys(value).length === 0;
}

function requireField(content: BundleContent, field: string, what: string): Breach[] {
  const spec = getSpec(content);
  if (!spec || !isEmpty(spec[field])) return [];
  return [{ message: `spec.${field} is missing: ${what}`, at: content.inCsv("spec", field) }];
}

function maintainers(content: BundleContent): Breach[] {
  const missing = requireField(content, "maintainers", "add the name and email address of each maintainer");
  if (missing.length > 0) return missing;
  return getObjectsAt(getSpec(content) ?? {}, "maintainers").flatMap(({ name, email }, i) => {
    const lacks = [isEmpty(name) ? "no name" : "", isEmpty(email) ? "no email address" : ""].filter((text) => text !== "");
    if (typeof email === "string" && email.trim() !== "" && !EMAIL.test(email.trim()))
      lacks.push(`invalid email address ${goQuote(email)}`);
    return lacks.length === 0
      ? []
      : [{ message: `maintainer ${i + 1} has ${lacks.join(" and ")}`, at: content.inCsv("spec", "maintainers", i) }];
  });
}

function provider(content: BundleContent): Breach[] {
  const spec = getSpec(content);
  if (!spec || !isEmpty(getObjectAt(spec, "provider")["name"])) return [];
  return [{ message: "spec.provider.name is missing: add the provider name", at: content.inCsv("spec", "provider") }];
}

function icon(content: BundleContent): Breach[] {
  const missing = requireField(content, "icon", "add an image with base64data and mediatype");
  if (missing.length > 0) return missing;
  return getObjectsAt(getSpec(content) ?? {}, "icon").flatMap(({ base64data, mediatype }, i) => {
    const at = content.inCsv("spec", "icon", i);
    if (typeof mediatype !== "string" || !mediatype.startsWith("image/"))
      return [{ message: `the icon has media type ${goQuote(typeof mediatype === "string" ? mediatype : "")}: must be an image type`, at }];
    if (typeof base64data !== "string" || base64data === "") return [{ message: "the icon has no base64data", at }];
    return decodeBase64(base64data.replaceAll(/\s/g, "")) === undefined ? [{ message: "icon base64data is not valid base64", at }] : [];
  });
}

function capabilities(content: BundleContent): Breach[] {
  if (!content.csv) return [];
  const at = content.inCsv("metadata", "annotations", "capabilities");
  const level = content.csvAnnotations["capabilities"] ?? "";
  if (level === "") return [{ message: `annotation capabilities is missing: use one of ${LEVELS.join(", ")}`, at }];
  return LEVELS.includes(level) ? [] : [{ message: `invalid capabilities ${goQuote(level)}: use one of ${LEVELS.join(", ")}`, at }];
}

function suggestedNamespace(content: BundleContent): Breach[] {
  const name = content.csvAnnotations[SUGGESTED_NAMESPACE];
  const template = content.csvAnnotations[SUGGESTED_NAMESPACE_TEMPLATE];
  const breaches: Breach[] = [];
  if (name !== undefined && !isLabel(name))
    breaches.push({
      message: `suggested namespace ${goQuote(name)} is not a DNS-1123 label`,
      at: content.inCsv("metadata", "annotations", SUGGESTED_NAMESPACE),
    });
  if (template !== undefined && !isNamespace(template))
    breaches.push({
      message: `annotation ${SUGGESTED_NAMESPACE_TEMPLATE} is not a JSON Namespace`,
      at: content.inCsv("metadata", "annotations", SUGGESTED_NAMESPACE_TEMPLATE),
    });
  return breaches;
}

function isNamespace(text: string): boolean {
  try {
    const object: unknown = JSON.parse(text);
    return isObject(object) && object["kind"] === "Namespace";
  } catch {
    return false;
  }
}

function platforms(content: BundleContent): Breach[] {
  return Object.entries(content.csv?.metadata.labels ?? {})
    .filter(([label, value]) => PLATFORM.test(label) && value !== "supported" && value !== "unsupported")
    .map(([label, value]) => ({
      message: `label ${label} is ${goQuote(value)}: use "supported" for a supported platform`,
      at: content.inCsv("metadata", "labels", label),
    }));
}
