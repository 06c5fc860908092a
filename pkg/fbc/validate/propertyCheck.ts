import type { JsonObject } from "../../api/k8s.ts";
import { isLabel1035, isSubdomain } from "../../api/names.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { getTextMember, isObject } from "../../golang/members.ts";
import { parseRange } from "../../version/blang.ts";
import { MAX_QUOTED, quoteExcerpt } from "../boundedTexts.ts";
import { formatWrongKind } from "../wrongKind.ts";
import type { FindingLog, FindingSubject } from "./finding.ts";
import { findShapeFaults, PROPERTY_SHAPES } from "./shape.ts";

const MAX_OPENSHIFT_VERSION = "olm.maxOpenShiftVersion";

/**
 * Checks the value of a property of a bundle.
 * @returns whether opm can read the value.
 */
export function checkProperty(type: string, value: unknown, i: number, subject: FindingSubject, log: FindingLog): boolean {
  if (type === MAX_OPENSHIFT_VERSION && (typeof value === "number" || typeof value === "bigint"))
    log.add("version-unquoted", subject, `property[${i}] of type ${quoteExcerpt(type)}: ${formatWrongKind(value, "a string")}`);
  const shape = PROPERTY_SHAPES.get(type);
  if (shape === undefined) return true;
  const faults = findShapeFaults(value, shape);
  for (const fault of faults) {
    const message = `parse properties for bundle ${quoteExcerpt(subject.name)}: parse property[${i}] of type ${quoteExcerpt(type)}: ${fault}`;
    log.add("property-unreadable", subject, message);
  }
  if (faults.length > 0 || !isObject(value)) return faults.length === 0;
  if (type === "olm.gvk" || type === "olm.gvk.required") {
    for (const fault of findGvkFaults(value)) log.add("gvk-invalid", subject, `property[${i}] of type ${quoteExcerpt(type)}: ${fault}`);
  } else if (type === "olm.package.required") {
    for (const fault of packageRequiredFaults(value))
      log.add("package-required-invalid", subject, `property[${i}] of type ${quoteExcerpt(type)}: ${fault}`);
  }
  return true;
}

/** Returns the errors in the value of `olm.gvk` or `olm.gvk.required`. */
export function findGvkFaults(value: JsonObject): string[] {
  const [group, version, kind] = ["group", "version", "kind"].map((member) => getTextMember(value, member)) as [string, string, string];
  const faults = Object.entries({ group, version, kind }).flatMap(([member, text]) => (text === "" ? [`${member} must be set`] : []));
  if (group !== "" && !isSubdomain(group)) faults.push(`group ${quoteExcerpt(group)} is not a DNS-1123 subdomain`);
  if (version !== "" && !isLabel1035(version)) faults.push(`version ${quoteExcerpt(version)} is not a DNS-1035 label`);
  if (kind !== "" && !isLabel1035(kind.toLowerCase())) faults.push(`kind ${quoteExcerpt(kind)} must be a DNS-1035 label in lower case`);
  return faults;
}

function packageRequiredFaults(value: JsonObject): string[] {
  const packageName = getTextMember(value, "packageName");
  const versionRange = getTextMember(value, "versionRange");
  const faults: string[] = [];
  if (packageName === "") faults.push("packageName must be set");
  const rangeFault = versionRange === "" ? undefined : findRangeFault(versionRange);
  if (versionRange === "") faults.push("versionRange must be set");
  else if (rangeFault !== undefined) faults.push(`invalid versionRange ${quoteExcerpt(versionRange)}: ${rangeFault}`);
  return faults;
}

/** Returns why a text is not a version range; undefined if it is valid. */
export function findRangeFault(text: string): string | undefined {
  if (text.length > MAX_QUOTED) return `too long: ${text.length} characters, maximum ${MAX_QUOTED}`;
  try {
    parseRange(text);
    return undefined;
  } catch (err) {
    return getErrorMessage(err);
  }
}
