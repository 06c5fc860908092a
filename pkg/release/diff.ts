import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { canonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { compareText } from "../text/compare.ts";
import { redactUserinfo } from "../text/redact.ts";
import { excerpt } from "../text/truncate.ts";
import { cleanObject } from "./cleanObject.ts";

/** One field that differs; a value that is absent on one side is undefined there. Values are canonical JSON, cut to 200 characters, without users and passwords in URLs. */
export interface FieldChange {
  /** Such as `spec.template.spec.containers[name=manager].image`. */
  path: string;
  before?: string;
  after?: string;
}

/** Takes out of texts, and out of JSON values, what is not to be shown. */
export interface Hidden {
  hide(text: string): string;
  hideIn(value: unknown): unknown;
}

/** One step on the way to a field: a member, an entry of a list by what tells it apart, or one by its position. */
export type PathStep = string | { readonly key: string; readonly value: string | number } | { readonly index: number };

/** A field in which two states of an object differ, and its value in each. */
export interface Difference {
  readonly path: readonly PathStep[];
  readonly before: unknown;
  readonly after: unknown;
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
 * @param before as it is; undefined where there is no such object yet. @param after as it would be. @param hidden takes out of paths and
 * values what is not to be shown.
 */
export function changedFields(
  before: KubeObject | undefined,
  after: KubeObject,
  hidden?: Hidden,
): { changes: FieldChange[]; more: number } {
  const found = findDifferences(before, after).map((difference) => ({ difference, at: formatDiffPath(difference.path) }));
  found.sort((a, b) => compareText(a.at, b.at));
  const changes = found.slice(0, MAX_FIELD_CHANGES).map(({ difference, at }) => fieldChange(difference, at, hidden));
  const secret = after.kind === "Secret" && after.apiVersion === "v1";
  return { changes: secret ? changes.map(masked) : changes, more: found.length - changes.length };
}

/** The same with paths in steps and whole values, in the order of the objects' members. */
export function findDifferences(before: KubeObject | undefined, after: KubeObject): Difference[] {
  const found: Difference[] = [];
  compare(before ? cleanObject(before) : {}, cleanObject(after), [], found);
  return found;
}

/** Such as `spec.template.spec.containers[name=manager].image`. */
export function formatDiffPath(path: readonly PathStep[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "object") return `${text}[${"key" in step ? `${step.key}=${step.value}` : step.index}]`;
    if (!PLAIN_MEMBER.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

function compare(before: unknown, after: unknown, path: readonly PathStep[], found: Difference[]): void {
  if (isObject(before) && isObject(after)) {
    for (const member of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(own(before, member), own(after, member), [...path, member], found);
    }
  } else if (Array.isArray(before) && Array.isArray(after)) {
    compareLists(before, after, path, found);
  } else if (textOf(before) !== textOf(after)) {
    found.push({ path, before, after });
  }
}

function fieldChange({ before, after }: Difference, path: string, hidden: Hidden | undefined): FieldChange {
  const [from, to] = [before, after].map((value) => textOf(hidden ? hidden.hideIn(value) : value));
  return {
    path: hidden ? hidden.hide(path) : path,
    ...(from === undefined ? {} : { before: shown(from) }),
    ...(to === undefined ? {} : { after: shown(to) }),
  };
}

function own(object: JsonObject, member: string): unknown {
  return Object.hasOwn(object, member) ? object[member] : undefined;
}

function compareLists(before: readonly unknown[], after: readonly unknown[], path: readonly PathStep[], found: Difference[]): void {
  const key = LIST_KEYS.find((member) => isKeyedBy(before, member) && isKeyedBy(after, member));
  if (key === undefined) {
    for (let index = 0; index < Math.max(before.length, after.length); index++) {
      compare(before[index], after[index], [...path, { index }], found);
    }
    return;
  }
  const [from, to] = [byKey(before, key), byKey(after, key)];
  for (const value of new Set([...from.keys(), ...to.keys()])) compare(from.get(value), to.get(value), [...path, { key, value }], found);
}

function isKeyedBy(list: readonly unknown[], key: string): boolean {
  const values = list.map((entry) => keyOf(entry, key));
  return values.every((value) => value !== undefined) && new Set(values).size === values.length;
}

function byKey(list: readonly unknown[], key: string): Map<string | number, unknown> {
  return new Map(list.map((entry) => [keyOf(entry, key) ?? "", entry]));
}

function keyOf(entry: unknown, key: string): string | number | undefined {
  const value = isObject(entry) ? entry[key] : undefined;
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}

/** Without users and passwords before it is cut: the cut may go through one. */
function shown(value: string): string {
  return excerpt(redactUserinfo(value), { length: MAX_VALUE });
}

function masked({ path, before, after }: FieldChange): FieldChange {
  if (!SECRET_PATH.test(path)) return { path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
  return { path, ...(before === undefined ? {} : { before: MASKED }), ...(after === undefined ? {} : { after: MASKED }) };
}
