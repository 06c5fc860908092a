import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import type { Query, WatchEvent, WatchOptions } from "./request.ts";
import { jsonLines, toKubeError } from "./response.ts";

/**
 * Minimum watch timeout, as in client-go. The actual timeout is random, so that the watches of a
 * process do not end at the same time.
 */
const MIN_WATCH_SECONDS = 300;

/** A stream counts as broken if the server sends nothing for the watch timeout plus this time. */
const SILENCE_MARGIN_MS = 30_000;

type OpenStream = (query: Query, init: { headers: Record<string, string>; bodyTimeoutMs: number }) => Promise<AsyncIterable<Uint8Array>>;

/** Returns the Accept header for whole objects, or for only their metadata. */
export function getAcceptHeader(shape: "object" | "list", metadataOnly: boolean | undefined): string {
  if (!metadataOnly) return "application/json";
  return `application/json;as=PartialObjectMetadata${shape === "list" ? "List" : ""};g=meta.k8s.io;v=v1`;
}

/**
 * Yields the events of one watch request, including bookmarks. Ends when the server ends the
 * stream, and silently when the signal aborts.
 * @throws KubeError for an ERROR event, for example 410 Expired.
 */
export async function* watchEvents<T extends KubeObject>(
  gvk: GroupVersionKind,
  options: WatchOptions,
  open: OpenStream,
): AsyncGenerator<WatchEvent<T>> {
  const { labelSelector, fieldSelector, resourceVersion, metadataOnly, bookmarks = true, signal } = options;
  const timeoutSeconds = options.timeoutSeconds ?? Math.ceil(MIN_WATCH_SECONDS * (1 + Math.random()));
  const allowWatchBookmarks = bookmarks || undefined;
  const query: Query = { watch: true, allowWatchBookmarks, labelSelector, fieldSelector, resourceVersion, timeoutSeconds };
  if (signal?.aborted) return;
  try {
    const headers = { accept: getAcceptHeader("object", metadataOnly) };
    const body = await open(query, { headers, bodyTimeoutMs: timeoutSeconds * 1_000 + SILENCE_MARGIN_MS });
    options.opened?.();
    for await (const line of jsonLines(body)) yield parseEvent<T>(gvk, line);
  } catch (err) {
    if (!signal?.aborted) throw err;
  }
}

function parseEvent<T extends KubeObject>(gvk: GroupVersionKind, line: unknown): WatchEvent<T> {
  const { type, object } = line as { type: string; object?: KubeObject };
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK":
      return { type, object: { ...object, apiVersion: gvk.apiVersion, kind: gvk.kind } as T };
    case "ERROR":
      throw toKubeError(500, object);
    default:
      throw new Error(`watch of ${gvk.kind}: unknown event type "${type}"`);
  }
}
