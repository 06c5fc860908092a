import { memberOf } from "../keys.ts";
import { objectMember, objectMembers, readText, textMember } from "../members.ts";
import type { Meta } from "../types.ts";
import type { Subject } from "./finding.ts";
import type { FindingLog } from "./findingLog.ts";
import type { NameTable } from "./nameTable.ts";
import { quoted } from "./quoted.ts";

/** One entry of an olm.deprecations. */
export interface DeprecationFacts {
  readonly schema: string;
  /** Empty where there is none. */
  readonly name: string;
  readonly hasMessage: boolean;
}

/** What is kept of an olm.deprecations until the whole catalog is known. */
export interface DeprecationsFacts extends Subject {
  readonly entries: readonly DeprecationFacts[];
}

/** Checks an olm.deprecations for itself. */
export function checkDeprecations({ blob, name }: Meta, subject: Subject, log: FindingLog, names: NameTable): DeprecationsFacts {
  if (memberOf(blob, "name") !== undefined)
    log.add("deprecations-named", subject, `olm.deprecations must not have a name, found ${quoted(name)}`);
  const entries = objectMembers(blob, "entries").map((entry): DeprecationFacts => {
    const reference = objectMember(entry, "reference") ?? {};
    return {
      schema: names.keep(textMember(reference, "schema")),
      name: names.keep(textMember(reference, "name")),
      hasMessage: readText(entry, "message") !== "",
    };
  });
  if (entries.length === 0) log.add("deprecations-empty", subject, `olm.deprecations of package ${quoted(subject.package)} has no entries`);
  return { ...subject, entries };
}

/** The reference as Go prints it. */
export function referenceText({ schema, name }: DeprecationFacts): string {
  return `declcfg.PackageScopedReference{Schema:${quoted(schema)}, Name:${quoted(name)}}`;
}
