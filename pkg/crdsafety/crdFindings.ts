import type { CrdCheck } from "../api/constants.ts";
import { goQuote } from "../golang/quote.ts";
import { compareSchemas, type SchemaFault } from "./compareSchemas.ts";
import { compareKubeVersions, hasWebhook, readCrdScope, readCrdStoredVersions, readCrdVersions } from "./crdParts.ts";
import { type FlatSchema, flattenSchema } from "./schema.ts";

/** A reason why a CRD must not replace another. */
export interface CrdFinding {
  check: CrdCheck;
  /** `scope: …` for the whole CRD, `v1: ^.spec.x: type: …` for a version, `v1alpha1 -> v1: ^.spec.x: type: …` for two served versions. */
  text: string;
}

/** A version of a CRD with its schema by path. */
interface FlatVersion {
  name: string;
  served: boolean;
  schema: FlatSchema;
}

/** Maximum number of findings, far more than a message can show. */
const MAX_FINDINGS = 10_000;
/** Maximum number of served versions whose pairs are compared. Real CRDs serve fewer than ten. */
const MAX_SERVED = 100;

/**
 * Returns the incompatible changes if CRD `after` replaces CRD `before`, with the texts of the Go operator-controller: first for the whole CRD, then
 * for each version in both, then for each pair of versions that `after` serves. Skips pairs if there is a conversion webhook, and faults that the
 * same pair already has in `before`. Reports more than 100 served versions instead of their pairs. The order is stable: by check for the whole CRD,
 * otherwise by version, path and check. Accepts any value as CRD and treats missing fields as empty. Returns at most 10,000 findings with texts of
 * about 32 KiB at most.
 * @param ignored names of checks to skip.
 */
export function findCrdChanges(before: unknown, after: unknown, ignored: ReadonlySet<string> = new Set()): CrdFinding[] {
  const [old, now] = [flatVersions(before), flatVersions(after)];
  const findings: CrdFinding[] = [...wholeFindings(before, after), ...removedFields(old, now)].filter(({ check }) => !ignored.has(check));
  const compared = new Set<string>();
  for (const { name, schema } of old) {
    const other = now.find((version) => version.name === name);
    if (!other || compared.has(name)) continue;
    compared.add(name);
    for (const fault of compareSchemas(schema, other.schema, ignored)) findings.push(finding(name, fault));
  }
  if (hasWebhook(after)) return findings.slice(0, MAX_FINDINGS);
  if (now.filter(({ served }) => served).length > MAX_SERVED) {
    const tooMany = whole("unhandled", `more than ${MAX_SERVED} served versions cannot be compared`);
    return [...findings.slice(0, MAX_FINDINGS - 1), ...(ignored.has("unhandled") ? [] : [tooMany])];
  }
  for (const { older, newer } of listServedPairs(now)) {
    if (findings.length >= MAX_FINDINGS) break;
    const faults = compareSchemas(older.schema, newer.schema, ignored);
    const sameAsBefore = new Set(faults.length > 0 ? listFaultsBefore(old, older, newer, ignored).map(identity) : []);
    for (const fault of faults) if (!sameAsBefore.has(identity(fault))) findings.push(finding(`${older.name} -> ${newer.name}`, fault));
  }
  return findings.slice(0, MAX_FINDINGS);
}

/** Formats the findings of one CRD like the Go operator-controller, one line each. */
export function formatFindings(name: string, findings: readonly { text: string }[]): string {
  return `validating upgrade for CRD ${goQuote(name)}: ${findings.map(({ text }) => text).join("\n")}`;
}

function flatVersions(crd: unknown): FlatVersion[] {
  return readCrdVersions(crd).map(({ name, served, schema }) => ({ name, served, schema: flattenSchema(schema) }));
}

function* wholeFindings(before: unknown, after: unknown): Generator<CrdFinding> {
  const now = new Set(readCrdVersions(after).map(({ name }) => name));
  const [scope, newScope] = [readCrdScope(before), readCrdScope(after)];
  if (scope !== newScope) yield whole("scope", `scope changed : ${goQuote(scope)} -> ${goQuote(newScope)}`);
  const removed = readCrdStoredVersions(before).filter((name) => !now.has(name));
  if (removed.length > 0) yield whole("storedVersionRemoval", `stored versions removed : [${removed.join(" ")}]`);
}

function* removedFields(old: readonly FlatVersion[], now: readonly FlatVersion[]): Generator<CrdFinding> {
  for (const { name, schema } of now) {
    const existing = old.find((version) => version.name === name)?.schema;
    if (!existing || "tooLarge" in existing || "tooLarge" in schema) continue;
    const gone = [...existing.nodes.keys()].filter((path) => !schema.nodes.has(path)).sort();
    for (const path of gone) yield whole("existingFieldRemoval", `removed field : ${name}.${path}`);
  }
}

/** Returns each pair of served versions, the older one first. */
function* listServedPairs(versions: readonly FlatVersion[]): Generator<{ older: FlatVersion; newer: FlatVersion }> {
  const served = versions.filter((version) => version.served).sort((a, b) => compareKubeVersions(a.name, b.name));
  for (const [index, older] of served.entries()) for (const newer of served.slice(index + 1)) yield { older, newer };
}

/** Returns the faults between two versions of the installed CRD; none if it does not serve both. */
function listFaultsBefore(
  versions: readonly FlatVersion[],
  { name: older }: FlatVersion,
  { name: newer }: FlatVersion,
  ignored: ReadonlySet<string>,
): SchemaFault[] {
  const find = (name: string): FlatVersion | undefined => versions.findLast((version) => version.served && version.name === name);
  const [one, other] = [find(older), find(newer)];
  return one && other ? compareSchemas(one.schema, other.schema, ignored) : [];
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
