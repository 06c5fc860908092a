import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { compareText } from "../text/compare.ts";
import { redactUserinfo } from "../text/redact.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { cleanObject } from "./cleanObject.ts";

/** A changed field. An absent value is undefined. Values are canonical JSON, truncated to 200 characters, without credentials in URLs. */
export interface FieldChange {
  /** Such as `spec.template.spec.containers[name=manager].image`. */
  path: string;
  before?: string;
  after?: string;
}

/** Redacts strings and JSON values. */
export interface Redaction {
  hide(text: string): string;
  hideIn(value: unknown): unknown;
}

/** One step of a path to a field: a member, a list entry by key, or a list entry by index. */
export type PathStep = string | { readonly key: string; readonly value: string | number } | { readonly index: number };

/** A field in which two states of an object differ, with both values. */
export interface FieldDifference {
  readonly path: readonly PathStep[];
  readonly before: unknown;
  readonly after: unknown;
}

/** Maximum number of changed fields for one object. */
export const MAX_FIELD_CHANGES = 50;
const MAX_VALUE = 200;
/** Replaces values of Secrets, so that a difference is reported without the value. */
const MASKED = "(secret)";
/** Fields that identify list entries, as in server-side apply. The first field that all entries have is used. */
const LIST_KEYS = ["name", "key", "containerPort", "port", "mountPath", "ip", "type"];
/** Includes annotations, because kubectl stores a copy of the whole object in an annotation. */
const SECRET_PATH = /^(data|stringData|metadata\.annotations|metadata$)/;
const PLAIN_MEMBER = /^[A-Za-z_$][\w$-]*$/;

/**
 * Returns the fields in which two states of one object differ, in order of path, at most fifty; `more` is the number of omitted ones. Ignores
 * status and fields that only the API server writes. Masks values of Secrets.
 * @param before current state; undefined if the object does not exist @param after new state @param hidden redacts paths and values
 */
export function findChangedFields(
  before: KubeObject | undefined,
  after: KubeObject,
  hidden?: Redaction,
): { changes: FieldChange[]; more: number } {
  const found = findDifferences(before, after).map((difference) => ({ difference, at: formatDiffPath(difference.path) }));
  found.sort((a, b) => compareText(a.at, b.at));
  const changes = found.slice(0, MAX_FIELD_CHANGES).map(({ difference, at }) => fieldChange(difference, at, hidden));
  const secret = after.kind === "Secret" && after.apiVersion === "v1";
  return { changes: secret ? changes.map(maskChange) : changes, more: found.length - changes.length };
}

/** Returns the differences with paths as steps and complete values, in the order of the objects' fields. */
export function findDifferences(before: KubeObject | undefined, after: KubeObject): FieldDifference[] {
  const found: FieldDifference[] = [];
  compare(before ? cleanObject(before) : {}, cleanObject(after), [], found);
  return found;
}

/** Formats a path, such as `spec.template.spec.containers[name=manager].image`. */
export function formatDiffPath(path: readonly PathStep[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "object") return `${text}[${"key" in step ? `${step.key}=${step.value}` : step.index}]`;
    if (!PLAIN_MEMBER.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** One part of a formatted path: a quoted member, an entry of a list, or a plain member. */
const PART = /\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|\[(\w+)=([^\]]*)\]|\.?([A-Za-z_$][\w$-]*)/y;
/** Keys of list entries whose values are numbers. */
const NUMERIC_KEYS: ReadonlySet<string> = new Set(["containerPort", "port"]);

/** Parses a path that `formatDiffPath` formatted; undefined if it is not one. */
export function parseDiffPath(text: string): PathStep[] | undefined {
  const path: PathStep[] = [];
  const pattern = new RegExp(PART);
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) return undefined;
    const [, quoted, index, key, value = "", member = ""] = found;
    if (quoted !== undefined) path.push(JSON.parse(quoted) as string);
    else if (index !== undefined) path.push({ index: Number(index) });
    else if (key !== undefined) path.push({ key, value: NUMERIC_KEYS.has(key) ? Number(value) : value });
    else path.push(member);
  }
  return path;
}

function compare(before: unknown, after: unknown, path: readonly PathStep[], found: FieldDifference[]): void {
  if (isObject(before) && isObject(after)) {
    for (const member of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(own(before, member), own(after, member), [...path, member], found);
    }
  } else if (Array.isArray(before) && Array.isArray(after)) {
    compareLists(before, after, path, found);
  } else if (toText(before) !== toText(after)) {
    found.push({ path, before, after });
  }
}

/** Formats a value as in a `FieldChange`; undefined if it is absent. @param object that contains it; values of Secrets are masked */
export function formatFieldValue(object: Pick<KubeObject, "apiVersion" | "kind">, value: unknown): string | undefined {
  const text = toText(value);
  if (text === undefined) return undefined;
  return object.kind === "Secret" && object.apiVersion === "v1" ? MASKED : shown(text);
}

function fieldChange({ before, after }: FieldDifference, path: string, hidden: Redaction | undefined): FieldChange {
  const [from, to] = [before, after].map((value) => toText(hidden ? hidden.hideIn(value) : value));
  return {
    path: hidden ? hidden.hide(path) : path,
    ...(from === undefined ? {} : { before: shown(from) }),
    ...(to === undefined ? {} : { after: shown(to) }),
  };
}

function own(object: JsonObject, member: string): unknown {
  return Object.hasOwn(object, member) ? object[member] : undefined;
}

function compareLists(before: readonly unknown[], after: readonly unknown[], path: readonly PathStep[], found: FieldDifference[]): void {
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
  const values = list.map((entry) => getMemberKey(entry, key));
  return values.every((value) => value !== undefined) && new Set(values).size === values.length;
}

function byKey(list: readonly unknown[], key: string): Map<string | number, unknown> {
  return new Map(list.map((entry) => [getMemberKey(entry, key) ?? "", entry]));
}

function getMemberKey(entry: unknown, key: string): string | number | undefined {
  const value = isObject(entry) ? entry[key] : undefined;
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

function toText(value: unknown): string | undefined {
  return value === undefined ? undefined : encodeCanonicalJson(value);
}

/** Redacts credentials before truncation, because truncation could cut a credential in half. */
function shown(value: string): string {
  return truncateExcerpt(redactUserinfo(value), { length: MAX_VALUE });
}

function maskChange({ path, before, after }: FieldChange): FieldChange {
  if (!SECRET_PATH.test(path)) return { path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
  return { path, ...(before === undefined ? {} : { before: MASKED }), ...(after === undefined ? {} : { after: MASKED }) };
}
