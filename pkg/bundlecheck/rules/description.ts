import { isObject } from "../../api/jsonObject.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { goQuote } from "../../errors/goQuote.ts";
import { decodedBase64 } from "../../fbc/checks/base64.ts";
import { objectAt, objectsAt } from "../../fbc/members.ts";
import type { BundleContent } from "../content.ts";
import { type Breach, info, type RuleTable, warning } from "../rule.ts";
import { Source } from "../source.ts";

const LEVELS = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"];
const SUGGESTED = "operatorframework.io/suggested-namespace";
const SUGGESTED_TEMPLATE = "operatorframework.io/suggested-namespace-template";
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const EMAIL = /^[^@\s]+@[^@\s]+$/;
/** `operatorframework.io/arch.amd64: supported` and the like. */
const PLATFORM = /^operatorframework\.io\/(arch|os)\./;

/** What people and user interfaces are told about an operator. */
export const DESCRIPTION_RULES: RuleTable = {
  "display-name": warning("The CSV has a display name.", Source.packaging, (content) =>
    lacking(content, "displayName", "what people call the operator"),
  ),
  description: warning("The CSV has a description.", Source.packaging, (content) =>
    lacking(content, "description", "what the operator does, in Markdown"),
  ),
  keywords: warning("The CSV has keywords.", Source.packaging, (content) => lacking(content, "keywords", "words that people search for")),
  maintainers: warning("The CSV names maintainers with their e-mail addresses.", Source.packaging, maintainers),
  provider: warning("The CSV names the provider.", Source.packaging, provider),
  icon: warning("The CSV has an icon, in base64 and with its media type.", Source.packaging, icon),
  labels: info("The CSV has labels.", Source.packaging, (content) => lacking(content, "labels", "labels that select the operator")),
  capabilities: warning("The annotation capabilities is a level of the maturity model.", Source.packaging, capabilities),
  "suggested-namespace": warning("A namespace that the CSV suggests is a valid one.", Source.packaging, suggestedNamespace),
  platform: warning("Labels of architectures and operating systems say supported.", Source.packaging, platforms),
};

function specOf({ csv }: BundleContent): JsonObject | undefined {
  return csv && { ...csv.spec };
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "string") return value.trim() === "";
  if (typeof value !== "object") return value === undefined;
  return value === null || Object.keys(value).length === 0;
}

function lacking(content: BundleContent, field: string, what: string): Breach[] {
  const spec = specOf(content);
  if (!spec || !isEmpty(spec[field])) return [];
  return [{ message: `spec.${field} is missing: ${what}`, at: content.inCsv("spec", field) }];
}

function maintainers(content: BundleContent): Breach[] {
  const missing = lacking(content, "maintainers", "name and e-mail address of those who look after the operator");
  if (missing.length > 0) return missing;
  return objectsAt(specOf(content) ?? {}, "maintainers").flatMap(({ name, email }, i) => {
    const lacks = [isEmpty(name) ? "no name" : "", isEmpty(email) ? "no e-mail address" : ""].filter((text) => text !== "");
    if (typeof email === "string" && email.trim() !== "" && !EMAIL.test(email.trim()))
      lacks.push(`${goQuote(email)} for an e-mail address`);
    return lacks.length === 0
      ? []
      : [{ message: `maintainer ${i + 1} has ${lacks.join(" and ")}`, at: content.inCsv("spec", "maintainers", i) }];
  });
}

function provider(content: BundleContent): Breach[] {
  const spec = specOf(content);
  if (!spec || !isEmpty(objectAt(spec, "provider")["name"])) return [];
  return [{ message: "spec.provider.name is missing: who provides the operator", at: content.inCsv("spec", "provider") }];
}

function icon(content: BundleContent): Breach[] {
  const missing = lacking(content, "icon", "an image with members base64data and mediatype");
  if (missing.length > 0) return missing;
  return objectsAt(specOf(content) ?? {}, "icon").flatMap(({ base64data, mediatype }, i) => {
    const at = content.inCsv("spec", "icon", i);
    if (typeof mediatype !== "string" || !mediatype.startsWith("image/"))
      return [{ message: `the icon has media type ${goQuote(typeof mediatype === "string" ? mediatype : "")}, which is no image`, at }];
    if (typeof base64data !== "string" || base64data === "") return [{ message: "the icon has no base64data", at }];
    return decodedBase64(base64data.replaceAll(/\s/g, "")) === undefined ? [{ message: "the data of the icon is no base64", at }] : [];
  });
}

function capabilities(content: BundleContent): Breach[] {
  if (!content.csv) return [];
  const at = content.inCsv("metadata", "annotations", "capabilities");
  const level = content.csvAnnotations["capabilities"] ?? "";
  if (level === "") return [{ message: `annotation capabilities is missing: one of ${LEVELS.join(", ")}`, at }];
  return LEVELS.includes(level) ? [] : [{ message: `capabilities ${goQuote(level)} is none of ${LEVELS.join(", ")}`, at }];
}

function suggestedNamespace(content: BundleContent): Breach[] {
  const name = content.csvAnnotations[SUGGESTED];
  const template = content.csvAnnotations[SUGGESTED_TEMPLATE];
  const breaches: Breach[] = [];
  if (name !== undefined && !LABEL.test(name))
    breaches.push({
      message: `suggested namespace ${goQuote(name)} is no DNS-1123 label`,
      at: content.inCsv("metadata", "annotations", SUGGESTED),
    });
  if (template !== undefined && !isNamespace(template))
    breaches.push({
      message: `annotation ${SUGGESTED_TEMPLATE} is no Namespace in JSON`,
      at: content.inCsv("metadata", "annotations", SUGGESTED_TEMPLATE),
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
      message: `label ${label} is ${goQuote(value)}: only "supported" says that the platform is`,
      at: content.inCsv("metadata", "labels", label),
    }));
}
