import type { CrdCheck } from "../api/crdUpgradeChecks.ts";
import { goQuote } from "../errors/goQuote.ts";
import { compareSchemas, type SchemaFault } from "./compareSchemas.ts";
import { type CrdVersion, hasWebhook, scopeOf, storedVersionsOf, versionsOf } from "./crdParts.ts";
import { flatten, sizeFault } from "./flatten.ts";
import { compareKubeVersions } from "./kubeVersion.ts";

/** One reason why a CRD must not replace another. */
export interface CrdFinding {
  check: CrdCheck;
  /** `scope: …` for the CRD as a whole, `v1: ^.spec.x: type: …` for a version, `v1alpha1 -> v1: ^.spec.x: type: …` between two served ones. */
  text: string;
}

/**
 * What could break if CRD `after` replaced CRD `before`, as the Go operator-controller tells it: the CRD as a whole, then each version
 * that both have, then each pair of versions that `after` serves, unless it has a conversion webhook or `before` had the same fault.
 * Always in the same order: by check for the whole, else by version, path and check. Anything is taken for a CRD; what one must have and
 * `before` or `after` has not is as if it were empty.
 * @param ignored names of checks to leave out.
 */
export function crdFindings(before: unknown, after: unknown, ignored: ReadonlySet<string> = new Set()): CrdFinding[] {
  const findings: CrdFinding[] = [...wholeFindings(before, after)].filter(({ check }) => !ignored.has(check));
  const [old, now] = [versionsOf(before), versionsOf(after)];
  const told = new Set<string>();
  for (const { name, schema } of old) {
    const other = now.find((version) => version.name === name);
    if (!other || told.has(name)) continue;
    told.add(name);
    for (const fault of compareSchemas(schema, other.schema, ignored)) findings.push(finding(name, fault));
  }
  if (hasWebhook(after)) return findings;
  const known = servedFaults(old, ignored);
  for (const [pair, faults] of servedFaults(now, ignored)) {
    const before = new Set(known.get(pair)?.map(identity));
    for (const fault of faults) if (!before.has(identity(fault))) findings.push(finding(pair, fault));
  }
  return findings;
}

/** The findings of one CRD as the Go operator-controller writes them, a line each. */
export function findingsText(name: string, findings: readonly { text: string }[]): string {
  return `validating upgrade for CRD ${goQuote(name)}: ${findings.map(({ text }) => text).join("\n")}`;
}

function* wholeFindings(before: unknown, after: unknown): Generator<CrdFinding> {
  const [old, now] = [versionsOf(before), versionsOf(after)];
  const [scope, newScope] = [scopeOf(before), scopeOf(after)];
  if (scope !== newScope) yield whole("scope", `scope changed : ${goQuote(scope)} -> ${goQuote(newScope)}`);
  const removed = storedVersionsOf(before).filter((name) => !now.some((version) => version.name === name));
  if (removed.length > 0) yield whole("storedVersionRemoval", `stored versions removed : [${removed.join(" ")}]`);
  for (const { name, schema } of now) {
    const existing = old.find((version) => version.name === name);
    if (!existing || sizeFault(existing.schema) || sizeFault(schema)) continue;
    const paths = flatten(schema);
    const gone = [...flatten(existing.schema).keys()].filter((path) => !paths.has(path)).sort();
    for (const path of gone) yield whole("existingFieldRemoval", `removed field : ${name}.${path}`);
  }
}

function servedFaults(versions: readonly CrdVersion[], ignored: ReadonlySet<string>): Map<string, SchemaFault[]> {
  const served = versions.filter((version) => version.served).sort((a, b) => compareKubeVersions(a.name, b.name));
  const faults = new Map<string, SchemaFault[]>();
  for (const [index, older] of served.entries()) {
    for (const newer of served.slice(index + 1)) {
      faults.set(`${older.name} -> ${newer.name}`, compareSchemas(older.schema, newer.schema, ignored));
    }
  }
  return faults;
}

function whole(check: CrdCheck, text: string): CrdFinding {
  return { check, text: `${check}: ${text}` };
}

function finding(version: string, { path, check, text }: SchemaFault): CrdFinding {
  return { check, text: `${version}: ${path}: ${check}: ${text}` };
}

function identity({ path, check, identity: text }: SchemaFault): string {
  return JSON.stringify([path, check, text]);
}
