import { isObject } from "../golang/members.ts";

/** Parses a JSON pointer (RFC 6901) such as "/metadata/annotations/example.com~1team" into members and indexes. */
export function parseJsonPointer(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((member) => member.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Formats `path` as a JSON pointer. */
export function formatJsonPointer(path: readonly string[]): string {
  return path.map((member) => `/${member.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Returns the value at `path`; undefined if it does not exist. */
export function getValueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at: unknown, member) => {
    if (Array.isArray(at)) return at[Number(member)] as unknown;
    return isObject(at) && Object.hasOwn(at, member) ? at[member] : undefined;
  }, value);
}

/**
 * Returns `value` with `replacement` at `path`, or without that field if `replacement` is undefined; unchanged if `path` does not exist. Does not
 * change the argument. List items are replaced, never removed.
 */
export function replaceAt<T>(value: T, path: readonly string[], replacement: unknown): T {
  const [member, ...rest] = path;
  if (member === undefined) return replacement as T;
  if (Array.isArray(value)) {
    const at = Number(member);
    if (!(at in value) || (rest.length === 0 && replacement === undefined)) return value;
    return value.with(at, replaceAt(value[at] as unknown, rest, replacement)) as T;
  }
  if (!isObject(value) || !Object.hasOwn(value, member)) return value;
  if (rest.length > 0) return { ...value, [member]: replaceAt(value[member], rest, replacement) };
  const { [member]: _left, ...others } = value;
  return (replacement === undefined ? others : { ...value, [member]: replacement }) as T;
}
