import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import type { Client } from "./client.ts";
import { isExpired } from "./errors.ts";

const MIB = 1024 * 1024;
/** Desired size of a page, in bytes. */
const GOAL_BYTES = MIB;
const FIRST_PAGE = 4;
const LARGEST_PAGE = 100;

/** The objects of a page, and how the list continues. */
export interface ListedObjects {
  readonly objects: KubeObject[];
  /** Token of the next page. */
  readonly next: string | undefined;
  /** Number of objects after this page, if the API server reports it. */
  readonly remaining: number | undefined;
}

/** What a reader returns: the content and the token of the next page, or why it needs a page with fewer objects. */
export type ReadPage<T> = { readonly content: T; readonly next: string | undefined } | { readonly tooLarge: string };

/** A single object exceeds a limit of the list or of its reader. */
export class ObjectTooLarge extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ObjectTooLarge";
  }
}

/** Options of `listPages`. */
export interface ListPagesOptions<T> {
  /** Reads a page. It may transfer the bytes to a thread. */
  readonly read: (bytes: Uint8Array) => ReadPage<T> | Promise<ReadPage<T>>;
  /** Maximum size of a page in bytes. */
  readonly maxBytes: number;
  /** Number of objects in the first page, and maximum number in all pages. Defaults: 4 and 100. */
  readonly first?: number;
  readonly most?: number;
  readonly metadataOnly?: boolean;
  /** How often the list starts again after its position expired, so that it yields objects again. Default: 0 */
  readonly restarts?: number;
  readonly signal: AbortSignal;
}

/**
 * Yields the content of all pages of a list in all namespaces. Adapts the number of objects to the size of the pages, about 1 MiB, and reads a page that
 * is too large again with fewer objects. Keeps one page in memory.
 * @throws ObjectTooLarge if a page with one object is too large; KubeError, also if the position expires, by default after five minutes
 */
export async function* listPages<T>(
  client: Pick<Client, "listPage">,
  gvk: GroupVersionKind,
  { read, maxBytes, first = FIRST_PAGE, most = LARGEST_PAGE, metadataOnly = false, restarts = 0, signal }: ListPagesOptions<T>,
): AsyncGenerator<T, void> {
  let limit = first;
  let position: string | undefined;
  for (let restarted = 0; ; ) {
    let bytes: Uint8Array | undefined;
    try {
      bytes = await client.listPage(gvk, { limit, continue: position, maxBytes, metadataOnly, signal });
    } catch (err) {
      if (!isExpired(err) || position === undefined || restarted === restarts) throw err;
      restarted++;
      position = undefined;
      continue;
    }
    const size = bytes?.byteLength ?? maxBytes;
    const page: ReadPage<T> = bytes ? await read(bytes) : { tooLarge: `a custom resource is larger than ${maxBytes} bytes` };
    signal.throwIfAborted();
    if ("tooLarge" in page) {
      if (limit === 1) throw new ObjectTooLarge(page.tooLarge);
      limit = Math.floor(limit / 2);
      continue;
    }
    yield page.content;
    if (page.next === undefined) return;
    position = page.next;
    limit = computeLimit(limit, size, most);
  }
}

/** Returns a reader of whole objects for `listPages`. @param parse as for `parseList` */
export function readObjectPage(parse?: (text: string) => unknown): (bytes: Uint8Array) => ReadPage<KubeObject[]> {
  return (bytes) => {
    const { objects, next } = parseList(bytes, parse);
    return { content: objects, next };
  };
}

/** Computes the number of objects in the next page after a page of `limit` objects and `bytes` bytes. */
function computeLimit(limit: number, bytes: number, most: number): number {
  const fitting = Math.floor((limit * GOAL_BYTES) / Math.max(bytes, 1));
  return Math.min(Math.max(fitting, 1), limit * 4, most);
}

/**
 * Parses a list from the API server.
 * @param parse parses JSON. Default: JSON.parse, which rounds large numbers
 * @throws Error for anything else, which must not count as an empty list
 */
export function parseList(page: Uint8Array, parse: (text: string) => unknown = JSON.parse): ListedObjects {
  const list = parse(new TextDecoder().decode(page));
  if (!isObject(list)) throw new Error("the API server did not return a list");
  const { kind, items = null, metadata } = list;
  const isList = Array.isArray(items) || (items === null && typeof kind === "string" && kind.endsWith("List"));
  if (!isList) throw new Error("the API server did not return a list");
  const { continue: token, remainingItemCount: remaining } = isObject(metadata) ? metadata : {};
  return {
    objects: (items ?? []) as KubeObject[],
    next: typeof token === "string" && token !== "" ? token : undefined,
    remaining: typeof remaining === "number" ? remaining : undefined,
  };
}
