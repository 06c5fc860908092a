import { decodeBase64 } from "../../golang/base64.ts";
import { givenText, memberOf, objectMember, objectMembers, readGoText, textMember } from "../../golang/members.ts";
import { quoteExcerpt } from "../boundedTexts.ts";
import type { NameTable } from "../intern.ts";
import type { Meta } from "../types.ts";
import type { FindingLog, FindingSubject } from "./finding.ts";

/** The bytes with which the images begin that icons are made of, in hexadecimal; a dot is any digit. */
const MAGIC: readonly (readonly [mediatype: string, start: RegExp])[] = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^47494638(?:37|39)61/],
  ["image/webp", /^52494646.{8}57454250/],
  ["image/bmp", /^424d/],
  ["image/tiff", /^(?:49492a00|4d4d002a)/],
  ["image/vnd.microsoft.icon", /^00000100/],
];
const SVG = "image/svg+xml";
/** An XML declaration, a license and a document type may come before the element. */
const SVG_LOOKED_AT = 64 * 1024;
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/svg", SVG],
  ["image/x-icon", "image/vnd.microsoft.icon"],
]);

/** Why `bytes` are no image of the mediatype; undefined when they are. */
function iconFault(bytes: Buffer, mediatype: string): string | undefined {
  const found = imageType(bytes);
  if (found === undefined) return "icon data is not an image";
  const wanted = mediatype.toLowerCase().split(";", 1)[0]?.trim() ?? "";
  if ((OTHER_NAMES.get(wanted) ?? wanted) === found) return undefined;
  return `icon media type ${JSON.stringify(mediatype.slice(0, 100))} does not match detected media type "${found}"`;
}

function imageType(bytes: Buffer): string | undefined {
  const start = bytes.toString("hex", 0, 16);
  const magic = MAGIC.find(([, pattern]) => pattern.test(start));
  if (magic) return magic[0];
  const text = bytes.toString("latin1", 0, SVG_LOOKED_AT);
  return text.includes("<svg") || /<\w+:svg[\s>]/.test(text) ? SVG : undefined;
}

/** What is kept of a package until the whole catalog is known. */
export interface PackageOutline extends FindingSubject {
  /** Empty where there is none, undefined where it is no text. */
  readonly defaultChannel: string | undefined;
}

/** Checks a package for itself. */
export function checkPackage({ blob }: Meta, subject: FindingSubject, log: FindingLog, names: NameTable): PackageOutline {
  const icon = objectMember(blob, "icon");
  if (icon) checkIcon(givenText(icon, "base64data") ?? "", givenText(icon, "mediatype") ?? "", subject, log);
  const defaultChannel = readGoText(blob, "defaultChannel");
  return { ...subject, defaultChannel: defaultChannel === undefined ? undefined : names.keep(defaultChannel) };
}

function checkIcon(data: string, mediatype: string, subject: FindingSubject, log: FindingLog): void {
  const missing = Object.entries({ base64data: data, mediatype }).flatMap(([member, text]) => (text === "" ? [member] : []));
  if (missing.length > 0) log.add("icon-incomplete", subject, `invalid icon: ${missing.join(" and ")} must be set if icon is defined`);
  if (data === "") return;
  const bytes = decodeBase64(data);
  if (bytes === undefined) {
    log.add("parse-package", subject, `parse package: ${quoteExcerpt(subject.name)}: icon.base64data: illegal base64 data`);
    return;
  }
  const fault = mediatype === "" ? undefined : iconFault(bytes, mediatype);
  if (fault !== undefined) log.add("icon-no-image", subject, `invalid icon: ${fault}`);
}

/** One entry of an olm.deprecations. */
export interface DeprecationOutline {
  readonly schema: string;
  /** Empty where there is none. */
  readonly name: string;
  readonly hasMessage: boolean;
}

/** What is kept of an olm.deprecations until the whole catalog is known. */
export interface DeprecationsFacts extends FindingSubject {
  readonly entries: readonly DeprecationOutline[];
}

/** Checks an olm.deprecations for itself. */
export function checkDeprecations({ blob, name }: Meta, subject: FindingSubject, log: FindingLog, names: NameTable): DeprecationsFacts {
  if (memberOf(blob, "name") !== undefined)
    log.add("deprecations-named", subject, `olm.deprecations must not have a name, found ${quoteExcerpt(name)}`);
  const entries = objectMembers(blob, "entries").map((entry): DeprecationOutline => {
    const reference = objectMember(entry, "reference") ?? {};
    return {
      schema: names.keep(textMember(reference, "schema")),
      name: names.keep(textMember(reference, "name")),
      hasMessage: readGoText(entry, "message") !== "",
    };
  });
  if (entries.length === 0)
    log.add("deprecations-empty", subject, `olm.deprecations of package ${quoteExcerpt(subject.package)} has no entries`);
  return { ...subject, entries };
}

/** The reference as Go prints it. */
export function formatScopedReference({ schema, name }: DeprecationOutline): string {
  return `declcfg.PackageScopedReference{Schema:${quoteExcerpt(schema)}, Name:${quoteExcerpt(name)}}`;
}
