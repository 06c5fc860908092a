import { decodeBase64 } from "../../golang/base64.ts";
import { findMember, getObjectMember, getObjectMembers, getOptionalText, getTextMember, readGoText } from "../../golang/members.ts";
import { quoteExcerpt } from "../boundedTexts.ts";
import type { NameTable } from "../intern.ts";
import type { Meta } from "../types.ts";
import type { FindingLog, FindingSubject } from "./finding.ts";

/** First bytes of image formats in hexadecimal. A dot matches any digit. */
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
/** Number of bytes to search for the svg element, which can follow an XML declaration, a license and a document type. */
const SVG_SEARCH_BYTES = 64 * 1024;
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/svg", SVG],
  ["image/x-icon", "image/vnd.microsoft.icon"],
]);

/** Returns why `bytes` are not an image of the media type; undefined if they are. */
function iconFault(bytes: Buffer, mediatype: string): string | undefined {
  const found = imageType(bytes);
  if (found === undefined) return "icon data is not an image";
  const stated = mediatype.toLowerCase().split(";", 1)[0]?.trim() ?? "";
  if ((OTHER_NAMES.get(stated) ?? stated) === found) return undefined;
  return `icon media type ${JSON.stringify(mediatype.slice(0, 100))} does not match detected media type "${found}"`;
}

function imageType(bytes: Buffer): string | undefined {
  const start = bytes.toString("hex", 0, 16);
  const magic = MAGIC.find(([, pattern]) => pattern.test(start));
  if (magic) return magic[0];
  const text = bytes.toString("latin1", 0, SVG_SEARCH_BYTES);
  return text.includes("<svg") || /<\w+:svg[\s>]/.test(text) ? SVG : undefined;
}

/** The parts of a package that are needed to check the whole catalog. */
export interface PackageOutline extends FindingSubject {
  /** Empty if not set; undefined if it is not a string. */
  readonly defaultChannel: string | undefined;
}

/** Checks a single olm.package object. */
export function checkPackage({ blob }: Meta, subject: FindingSubject, log: FindingLog, names: NameTable): PackageOutline {
  const icon = getObjectMember(blob, "icon");
  if (icon) checkIcon(getOptionalText(icon, "base64data") ?? "", getOptionalText(icon, "mediatype") ?? "", subject, log);
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

/** An entry of an olm.deprecations object. */
export interface DeprecationOutline {
  readonly schema: string;
  /** Empty if not set. */
  readonly name: string;
  readonly hasMessage: boolean;
}

/** The parts of an olm.deprecations object that are needed to check the whole catalog. */
export interface DeprecationsOutline extends FindingSubject {
  readonly entries: readonly DeprecationOutline[];
}

/** Checks a single olm.deprecations object. */
export function checkDeprecations({ blob, name }: Meta, subject: FindingSubject, log: FindingLog, names: NameTable): DeprecationsOutline {
  if (findMember(blob, "name") !== undefined)
    log.add("deprecations-named", subject, `olm.deprecations must not have a name, found ${quoteExcerpt(name)}`);
  const entries = getObjectMembers(blob, "entries").map((entry): DeprecationOutline => {
    const reference = getObjectMember(entry, "reference") ?? {};
    return {
      schema: names.keep(getTextMember(reference, "schema")),
      name: names.keep(getTextMember(reference, "name")),
      hasMessage: readGoText(entry, "message") !== "",
    };
  });
  if (entries.length === 0)
    log.add("deprecations-empty", subject, `olm.deprecations of package ${quoteExcerpt(subject.package)} has no entries`);
  return { ...subject, entries };
}

/** Formats a reference like Go. */
export function formatScopedReference({ schema, name }: DeprecationOutline): string {
  return `declcfg.PackageScopedReference{Schema:${quoteExcerpt(schema)}, Name:${quoteExcerpt(name)}}`;
}
