import type { JsonObject } from "../../pkg/api/k8s.ts";
import { isObject } from "../../pkg/golang/members.ts";
import { mergeValues } from "../../pkg/render/configSources.ts";
import { type CaseHead, loadCases } from "./caseFiles.ts";

/** How to submit the value of a row: in a new object, or as an update of an existing one. */
type Operation = "create" | "update" | "status";

/** One document of test/cases/api: a table of values for one member of one kind. */
interface AdmissionTable extends CaseHead {
  kind: "ClusterExtension" | "ClusterCatalog";
  /** Default: create. */
  on?: Operation;
  /** Path of the member that gets the values, such as "spec.source.catalog.version". */
  path: string;
  /** Merged into the smallest valid object first. */
  base?: JsonObject;
  /** Names for texts that `errors` can use. */
  messages?: Record<string, string>;
  /** Only the API server checks it; the zod schema cannot. */
  serverOnly?: boolean;
  rows: AdmissionRow[];
}

/**
 * One value. `<x x 54>` in a string means 54 times "x", `<256 of c>` a list of 256 times "c". Objects are merged into the existing value,
 * null removes it; without `value` nothing is set.
 */
interface AdmissionRow {
  name: string;
  value?: unknown;
  base?: JsonObject;
  /** All expected parts of the error messages; empty if the object is accepted. */
  errors: string[];
  /** The expected value at `path` afterwards, defaults included; null if there is none. */
  want?: unknown;
  serverOnly?: boolean;
}

/** A row with all defaults filled in. */
export interface AdmissionCase {
  title: string;
  kind: AdmissionTable["kind"];
  on: Operation;
  path: readonly string[];
  /** The object before the update. */
  before: JsonObject;
  /** JSON merge patch to submit. */
  patch: JsonObject;
  /** The object with the value of the row. */
  after: JsonObject;
  errors: string[];
  want?: unknown;
  serverOnly: boolean;
}

const SMALLEST: Record<AdmissionTable["kind"], JsonObject> = {
  ClusterExtension: { spec: { namespace: "default", source: { sourceType: "Catalog", catalog: { packageName: "package" } } } },
  ClusterCatalog: { spec: { source: { type: "Image", image: { ref: "example.com/catalog:v1" } } } },
};

/** Returns all rows of test/cases/api. */
export function admissionCases(): AdmissionCase[] {
  return loadCases<AdmissionTable>("api").flatMap((table) => table.rows.map((row) => caseFrom(table, row)));
}

function caseFrom(table: AdmissionTable, row: AdmissionRow): AdmissionCase {
  const path = table.path.split(".");
  const bases = [table.base ?? {}, row.base ?? {}];
  const head = { apiVersion: "olm.operatorframework.io/v1", kind: table.kind, metadata: { name: "case" } };
  const before = bases.reduce((object, base) => mergeValues(object, expand(base) as JsonObject), {
    ...head,
    ...SMALLEST[table.kind],
  });
  const { value } = row;
  const patch =
    value === undefined ? {} : (path.reduceRight((inner: unknown, member) => ({ [member]: inner }), expand(value)) as JsonObject);
  return {
    title: `${table.kind} ${table.name}: ${row.name}`,
    kind: table.kind,
    on: table.on ?? "create",
    path,
    before,
    patch,
    after: mergeValues(before, patch),
    errors: row.errors.map((error) => table.messages?.[error] ?? error),
    want: row.want,
    serverOnly: row.serverOnly ?? table.serverOnly ?? false,
  };
}

function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, expand(member)]));
  if (typeof value !== "string") return value;
  const list = /^<(\d+) of (.*)>$/.exec(value);
  if (list) return Array.from({ length: Number(list[1]) }, () => list[2]);
  return value.replace(/<(.) x (\d+)>/g, (_, character: string, times: string) => character.repeat(Number(times)));
}
