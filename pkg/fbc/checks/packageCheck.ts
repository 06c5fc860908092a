import { givenText, objectMember, readText } from "../members.ts";
import type { Meta } from "../types.ts";
import { decodedBase64 } from "./base64.ts";
import type { Subject } from "./finding.ts";
import type { FindingLog } from "./findingLog.ts";
import { iconFault } from "./icon.ts";
import type { NameTable } from "./nameTable.ts";
import { quoted } from "./quoted.ts";

/** What is kept of a package until the whole catalog is known. */
export interface PackageFacts extends Subject {
  /** Empty where there is none, undefined where it is no text. */
  readonly defaultChannel: string | undefined;
}

/** Checks a package for itself. */
export function checkPackage({ blob }: Meta, subject: Subject, log: FindingLog, names: NameTable): PackageFacts {
  const icon = objectMember(blob, "icon");
  if (icon) checkIcon(givenText(icon, "base64data") ?? "", givenText(icon, "mediatype") ?? "", subject, log);
  const defaultChannel = readText(blob, "defaultChannel");
  return { ...subject, defaultChannel: defaultChannel === undefined ? undefined : names.keep(defaultChannel) };
}

function checkIcon(data: string, mediatype: string, subject: Subject, log: FindingLog): void {
  const missing = Object.entries({ base64data: data, mediatype }).flatMap(([member, text]) => (text === "" ? [member] : []));
  if (missing.length > 0) log.add("icon-incomplete", subject, `invalid icon: ${missing.join(" and ")} must be set if icon is defined`);
  if (data === "") return;
  const bytes = decodedBase64(data);
  if (bytes === undefined) {
    log.add("parse-package", subject, `parse package: ${quoted(subject.name)}: icon.base64data: illegal base64 data`);
    return;
  }
  const fault = mediatype === "" ? undefined : iconFault(bytes, mediatype);
  if (fault !== undefined) log.add("icon-no-image", subject, `invalid icon: ${fault}`);
}
