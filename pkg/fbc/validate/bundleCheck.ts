import { isUtf8 } from "node:buffer";
import { parseImageName } from "../../api/imageName.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { decodeBase64 } from "../../golang/base64.ts";
import { findMember, getObjectMembers, getOptionalText, getTextMember, isObject, readGoText } from "../../golang/members.ts";
import { parseFirstYamlDocument } from "../../golang/yaml.ts";
import { formatVersion, parseRelease, parseVersion, type Version } from "../../version/version.ts";
import { MAX_QUOTED, quoteExcerpt } from "../boundedTexts.ts";
import type { Meta } from "../types.ts";
import type { FindingLog, FindingSubject } from "./finding.ts";
import { checkProperty } from "./propertyCheck.ts";
import type { RuleCode } from "./rules.ts";

/**
 * "parsed" parses the objects in bundles. "outline" only checks that they begin and end like JSON objects: a catalog that consists mostly of objects
 * loads 20 % faster.
 */
export type ObjectDepth = "parsed" | "outline";

const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Returns why opm cannot read the value of an olm.bundle.object; undefined if it can. @see operator-registry v1.73.0 alpha/declcfg/load.go,
 * readBundleObjects
 */
function bundleObjectFault(value: JsonObject, depth: ObjectDepth): { phase: "parse" | "convert"; fault: string } | undefined {
  const data = findMember(value, "data");
  if (typeof data !== "string") return undefined; // null, or reported elsewhere as not a string
  const bytes = decodeBase64(data);
  if (bytes === undefined) return { phase: "parse", fault: "illegal base64 data" };
  if (!isUtf8(bytes)) return { phase: "convert", fault: "invalid UTF-8" };
  const first = bytes.findIndex((byte) => byte > 0x20);
  const last = bytes.findLastIndex((byte) => byte > 0x20);
  const isObject = bytes[first] === OPEN && bytes[last] === CLOSE;
  if (isObject && depth === "outline") return undefined;
  return yamlFault(bytes.toString(), isObject);
}

function yamlFault(text: string, isObject: boolean): { phase: "convert"; fault: string } | undefined {
  if (isObject) {
    try {
      JSON.parse(text);
      return undefined;
    } catch {
      // Not JSON, but it may be YAML in flow style.
    }
  }
  try {
    parseFirstYamlDocument(text);
    return undefined;
  } catch (err) {
    return { phase: "convert", fault: getErrorMessage(err).split("\n", 1)[0] ?? "" };
  }
}

/** A finding that opm reports under the first channel that contains the bundle. */
interface BundleLeaf {
  readonly rule: RuleCode;
  readonly message: string;
}

/** The parts of a bundle that are needed to check the whole catalog. */
export interface BundleOutline extends FindingSubject {
  /** Version with build metadata and release; undefined if it is invalid. */
  readonly version: string | undefined;
  readonly leaves: readonly BundleLeaf[];
}

const NO_LEAVES: readonly BundleLeaf[] = [];

/** Checks a single olm.bundle object. @param depth how to check the objects that it contains. */
export function checkBundleMeta({ blob }: Meta, subject: FindingSubject, log: FindingLog, depth: ObjectDepth): BundleOutline {
  const { objects, own } = checkProperties(blob, subject, log, depth);
  const image = readGoText(blob, "image");
  checkImages(image ?? "", blob, subject, log);
  const leaves: BundleLeaf[] = [];
  if (subject.name === "") leaves.push({ rule: "bundle-name-missing", message: "name must be set" });
  const version = own === undefined ? undefined : versionText(own, subject, log, leaves);
  if (image === "" && objects === 0) leaves.push({ rule: "bundle-image-missing", message: "bundle image must be set" });
  else if (image === "")
    log.add("bundle-image-empty", subject, "bundle image must be set", { hint: "the bundle contains only its objects" });
  return { ...subject, version, leaves: leaves.length === 0 ? NO_LEAVES : leaves };
}

/** @returns the number of objects in the bundle, and the value of its only olm.package property if it is valid. */
function checkProperties(
  blob: JsonObject,
  subject: FindingSubject,
  log: FindingLog,
  depth: ObjectDepth,
): { objects: number; own?: JsonObject } {
  const owns: (JsonObject | undefined)[] = [];
  let objects = 0;
  for (const [i, property] of getObjectMembers(blob, "properties").entries()) {
    const type = getTextMember(property, "type");
    const value = findMember(property, "value");
    const readable = checkProperty(type, value, i, subject, log);
    if (type === "olm.package") owns.push(readable && isObject(value) ? value : undefined);
    if (type !== "olm.bundle.object") continue;
    objects++;
    if (isObject(value)) checkObject(value, i, subject, log, depth);
  }
  if (owns.length !== 1) {
    log.add("package-property-count", subject, `${named(subject)} must have exactly 1 "olm.package" property, found ${owns.length}`);
    return { objects };
  }
  const [own] = owns;
  return own === undefined ? { objects } : { objects, own };
}

function checkObject(value: JsonObject, i: number, subject: FindingSubject, log: FindingLog, depth: ObjectDepth): void {
  const found = bundleObjectFault(value, depth);
  if (found === undefined) return;
  const { phase, fault } = found;
  const what = phase === "parse" ? `parse property at index ${i} as bundle object` : `convert bundle object property at index ${i} to JSON`;
  const message = `read bundle objects: package ${quoteExcerpt(subject.package)}, bundle ${quoteExcerpt(subject.name)}: ${what}: ${fault}`;
  log.add("bundle-object-unreadable", subject, message);
}

function checkImages(image: string, blob: JsonObject, subject: FindingSubject, log: FindingLog): void {
  const fault = imageFault(image);
  if (fault !== undefined) log.add("image-invalid", subject, `${named(subject)} image: ${fault}`);
  for (const [i, related] of getObjectMembers(blob, "relatedImages").entries()) {
    const relatedImage = getTextMember(related, "image");
    const relatedFault = imageFault(relatedImage);
    if (relatedFault !== undefined)
      log.add("related-image-invalid", subject, `${named(subject)} relatedImages[${i}].image: ${relatedFault}`);
    if (relatedImage === "") log.add("related-image-empty", subject, `${named(subject)} relatedImages[${i}].image must be set`);
  }
}

function named({ package: packageName, name }: FindingSubject): string {
  return `package ${quoteExcerpt(packageName)} bundle ${quoteExcerpt(name)}`;
}

function imageFault(image: string): string | undefined {
  if (image === "") return undefined;
  const name = image.length > MAX_QUOTED ? `too long: ${image.length} characters, maximum ${MAX_QUOTED}` : parseImageName(image);
  return typeof name === "string" ? `invalid image pull spec ${quoteExcerpt(image)}: ${name}` : undefined;
}

function versionText(own: JsonObject, subject: FindingSubject, log: FindingLog, leaves: BundleLeaf[]): string | undefined {
  const { package: packageName, name } = subject;
  const ownName = getTextMember(own, "packageName");
  if (ownName !== packageName) {
    const message = `package ${quoteExcerpt(packageName)} does not match "olm.package" property ${quoteExcerpt(ownName)}`;
    log.add("package-property-mismatch", subject, message);
  }
  const version = parsed(parseVersion, getTextMember(own, "version"), (text, fault) =>
    log.add("version-invalid", subject, `error parsing bundle ${quoteExcerpt(name)} version ${quoteExcerpt(text)}: ${fault}`),
  );
  const release = parsed(parseRelease, getOptionalText(own, "release") ?? "", (text, fault) =>
    log.add("release-invalid", subject, `error parsing bundle ${quoteExcerpt(name)} release version ${quoteExcerpt(text)}: ${fault}`),
  );
  if (version === undefined || release === undefined) return undefined;
  if (release.length > 0) leaves.push(...releaseLeaves(subject, version, release));
  return release.length === 0 ? formatVersion(version) : `${formatVersion(version)}-${release.join(".")}`;
}

function releaseLeaves({ package: packageName, name }: FindingSubject, version: Version, release: readonly string[]): BundleLeaf[] {
  const normalized = `${packageName}-v${formatVersion(version)}-${release.join(".")}`;
  const leaves: BundleLeaf[] = [];
  if (name !== normalized)
    leaves.push({
      rule: "bundle-name-not-normalized",
      message: `name ${quoteExcerpt(name)} does not match normalized name ${quoteExcerpt(normalized)}`,
    });
  if (version.build.length > 0)
    leaves.push({ rule: "release-with-build", message: "cannot use build metadata in version with a release version" });
  return leaves;
}

function parsed<T>(parse: (text: string) => T, text: string, refuse: (text: string, fault: string) => void): T | undefined {
  try {
    if (text.length > MAX_QUOTED) throw new Error(`too long: ${text.length} characters, maximum ${MAX_QUOTED}`);
    return parse(text);
  } catch (err) {
    refuse(text, getErrorMessage(err));
    return undefined;
  }
}
