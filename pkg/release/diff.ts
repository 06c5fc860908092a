import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { canonicalJson } from "../fbc/canonical.ts";
import { cleanObject } from "./clean.ts";
import { isObject } from "./jsonObject.ts";

/** One field that differs; a value that is absent on one side is undefined there. Values are canonical JSON, cut to 200 characters. */
export interface FieldChange {
  /** Such as `spec.template.spec.containers[name=manager].image`. */
  path: string;
  before?: string;
  after?: string;
}

/** Fields told of one object at most. */
export const MAX_FIELD_CHANGES = 50;
const MAX_VALUE = 200;
/** What stands for a value of a Secret: that it differs may be told, what it is may not. */
const MASKED = "(secret)";
/** Members that tell the entries of a list apart, as server-side apply merges them; the first that all entries have counts. */
const LIST_KEYS = ["name", "key", "containerPort", "port", "mountPath", "ip", "type"];
/** Annotations too: kubectl keeps a copy of the whole object in one. */
const SECRET_PATH = /^(data|stringData|metadata\.annotations|metadata$)/;
const PLAIN_MEMBER = /^[A-Za-z_$][\w$-]*$/;

/**
 * The fields in which two states of one object differ, in the order of their paths, at most fifty; `more` is how many are left out.
 * What the API server alone writes, and status, do not count. Values of a Secret are masked.
 * @param before as it is; undefined where there is no such object yet. @param after as it would be.
 */
export function changedFields(before: KubeObject | undefined, after: KubeObject): { changes: FieldChange[]; more: number } {
  const found: FieldChange[] = [];
  compare(before ? cleanObject(before) : {}, cleanObject(after), "", found);
  const changes = found.sort((a, b) => (a.path < b.path ? -1 : 1)).slice(0, MAX_FIELD_CHANGES);
  const secret = after.kind === "Secret" && after.apiVersion === "v1";
  return { changes: secret ? changes.map(masked) : changes, more: found.length - changes.length };
}

function compare(before: unknown, after: unknown, path: string, found: FieldChange[]): void {
  if (isObject(before) && isObject(after)) {
    for (const member of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(own(before, member), own(after, member), joined(path, member), found);
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    compareLists(before, after, path, found);
    return;
  }
  const [from, to] = [textOf(before), textOf(after)];
  if (from === to) return;
  found.push({
    path,
    ...(from === undefined ? {} : { before: shortened(from) }),
    ...(to === undefined ? {} : { after: shortened(to) }),
  });
}

function own(object: JsonObject, member: string): unknown {
  return Object.hasOwn(object, member) ? object[member] : undefined;
}

function compareLists(before: readonly unknown[], after: readonly unknown[], path: string, found: FieldChange[]): void {
  const key = LIST_KEYS.find((member) => isKeyedBy(before, member) && isKeyedBy(after, member));
  if (key === undefined) {
    for (let i = 0; i < Math.max(before.length, after.length); i++) compare(before[i], after[i], `${path}[${i}]`, found);
    return;
  }
  const [from, to] = [byKey(before, key), byKey(after, key)];
  for (const name of new Set([...from.keys(), ...to.keys()])) compare(from.get(name), to.get(name), `${path}[${key}=${name}]`, found);
}

function isKeyedBy(list: readonly unknown[], key: string): boolean {
  const values = list.map((entry) => (isObject(entry) ? entry[key] : undefined));
  return values.every((value) => typeof value === "string" || typeof value === "number") && new Set(values).size === values.length;
}

function byKey(list: readonly unknown[], key: string): Map<string, unknown> {
  return new Map(list.map((entry) => [String(isObject(entry) ? entry[key] : ""), entry]));
}

function joined(path: string, member: string): string {
  if (!PLAIN_MEMBER.test(member)) return `${path}[${JSON.stringify(member)}]`;
  return path === "" ? member : `${path}.${member}`;
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}

function masked({ path, before, after }: FieldChange): FieldChange {
  if (!SECRET_PATH.test(path)) return { path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
  return { path, ...(before === undefined ? {} : { before: MASKED }), ...(after === undefined ? {} : { after: MASKED }) };
}
