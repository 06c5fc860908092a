import type { JsonObject } from "../../pkg/api/k8s.ts";
import { isObject } from "../../pkg/golang/members.ts";
import { type CaseHead, loadCases } from "./caseFiles.ts";

/** What is done with a row's value: put into a new object, or into one that exists. */
type Operation = "create" | "update" | "status";

/** One document of test/cases/api: a table of values for one member of one kind. */
interface AdmissionTable extends CaseHead {
  kind: "ClusterExtension" | "ClusterCatalog";
  /** Default: create. */
  on?: Operation;
  /** The member that the values are for, such as "spec.source.catalog.version". */
  path: string;
  /** Merged into the smallest valid object before anything else. */
  base?: JsonObject;
  /** Names for texts that `errors` may use. */
  messages?: Record<string, string>;
  /** The API server alone knows, zod does not. */
  serverOnly?: boolean;
  rows: AdmissionRow[];
}

/**
 * One value. `<x x 54>` in a string stands for 54 times "x", `<256 of c>` for a list of 256 times "c". Objects are merged into what is there,
 * null removes; without `value` nothing is set.
 */
interface AdmissionRow {
  name: string;
  value?: unknown;
  base?: JsonObject;
  /** Parts of the messages that are given, all of them; none when the object is accepted. */
  errors: string[];
  /** What is at `path` afterwards, defaults included; null when nothing is. */
  want?: unknown;
  serverOnly?: boolean;
}

/** A row with everything filled in. */
export interface AdmissionCase {
  title: string;
  kind: AdmissionTable["kind"];
  on: Operation;
  path: readonly string[];
  /** The object before. */
  before: JsonObject;
  /** JSON merge patch that is tried. */
  patch: JsonObject;
  errors: string[];
  want?: unknown;
  serverOnly: boolean;
}

const SMALLEST: Record<AdmissionTable["kind"], JsonObject> = {
  ClusterExtension: { spec: { namespace: "default", source: { sourceType: "Catalog", catalog: { packageName: "package" } } } },
  ClusterCatalog: { spec: { source: { type: "Image", image: { ref: "example.com/catalog:v1" } } } },
};

/** All rows of test/cases/api. */
export function admissionCases(): AdmissionCase[] {
  return loadCases<AdmissionTable>("api").flatMap((table) => table.rows.map((row) => caseFrom(table, row)));
}

function caseFrom(table: AdmissionTable, row: AdmissionRow): AdmissionCase {
  const path = table.path.split(".");
  const bases = [table.base ?? {}, row.base ?? {}];
  const head = { apiVersion: "olm.operatorframework.io/v1", kind: table.kind, metadata: { name: "case" } };
  const before = bases.reduce((object, base) => mergePatched(object, expanded(base)) as JsonObject, { ...head, ...SMALLEST[table.kind] });
  const { value } = row;
  return {
    title: `${table.kind} ${table.name}: ${row.name}`,
    kind: table.kind,
    on: table.on ?? "create",
    path,
    before,
    patch: value === undefined ? {} : (path.reduceRight((inner: unknown, member) => ({ [member]: inner }), expanded(value)) as JsonObject),
    errors: row.errors.map((error) => table.messages?.[error] ?? error),
    want: row.want,
    serverOnly: row.serverOnly ?? table.serverOnly ?? false,
  };
}

/** JSON merge patch, RFC 7396. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatched(result[name], value);
  }
  return result;
}

function expanded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expanded);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expanded(member)]));
  if (typeof value !== "string") return value;
  const list = /^<(\d+) of (.*)>$/.exec(value);
  if (list) return Array.from({ length: Number(list[1]) }, () => list[2]);
  return value.replace(/<(.) x (\d+)>/g, (_, character: string, times: string) => character.repeat(Number(times)));
}
