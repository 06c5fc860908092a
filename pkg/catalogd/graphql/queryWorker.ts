import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import type { GraphQLSchema } from "graphql";
import { LRUCache } from "lru-cache";
import { getErrorMessage } from "../../errors/errors.ts";
import { describePackage } from "./describePackage.ts";
import { drawGraph, GraphRefusedError } from "./drawGraph.ts";
import type { LineRange, ObjectSource, PageQuery } from "./queryContext.ts";
import type { FromQueryThread, OpenCatalogFiles, ToQueryThread } from "./queryMessage.ts";
import { type QueriedCatalog, runQuery } from "./runQuery.ts";
import { readStoredSchema } from "./schema.ts";

// Body of the thread that `queryThreads.ts` starts: executes one query after another. The server
// responds to other requests meanwhile.

/** Maximum number of cached schemas of some hundred kilobytes each. */
const MAX_SCHEMAS = 4;

const schemas = new LRUCache<number, GraphQLSchema>({ max: MAX_SCHEMAS });
const finds = new Map<number, (lines: readonly LineRange[]) => void>();
let lastFind = 0;

function postResponse(message: FromQueryThread, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function read(fd: number, { start, end }: LineRange): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  for (let done = 0; done < bytes.length; ) {
    const size = readSync(fd, bytes, done, bytes.length - done, start + done);
    if (size === 0) throw new Error("the content file is shorter than recorded in its index");
    done += size;
  }
  return bytes;
}

function loadSchema({ key, schemas: { fd, bytes } }: OpenCatalogFiles): GraphQLSchema {
  const known = schemas.get(key);
  if (known) return known;
  const schema = readStoredSchema(read(fd, { start: 0, end: bytes }));
  schemas.set(key, schema);
  return schema;
}

function createObjectSource({ metas }: OpenCatalogFiles): ObjectSource {
  return {
    find: (query: PageQuery) =>
      new Promise((resolve) => {
        const find = ++lastFind;
        finds.set(find, resolve);
        postResponse({ kind: "find", find, query });
      }),
    read: (line) => read(metas, line),
  };
}

async function run({ request, catalog, stop }: ToQueryThread & { kind: "run" }): Promise<void> {
  postResponse({ kind: "started" });
  try {
    const open = (): QueriedCatalog | undefined => catalog && { schema: loadSchema(catalog), objects: createObjectSource(catalog) };
    const text = await runQuery(request, open, { stopped: () => Atomics.load(stop, 0) !== 0 });
    const response = text === undefined ? undefined : new Uint8Array(Buffer.from(text));
    postResponse({ kind: "done", answer: response }, response ? [response.buffer] : []);
  } catch (err) {
    postResponse({ kind: "failed", message: getErrorMessage(err) });
  } finally {
    finds.clear();
  }
}

/** Responds with a text. @param create creates the text */
function respondWith(create: () => string): void {
  postResponse({ kind: "started" });
  try {
    const response = new Uint8Array(Buffer.from(create()));
    postResponse({ kind: "done", answer: response }, [response.buffer]);
  } catch (err) {
    if (err instanceof GraphRefusedError) postResponse({ kind: "refused", code: err.code, message: err.message });
    else postResponse({ kind: "failed", message: getErrorMessage(err) });
  }
}

parentPort?.on("message", (message: ToQueryThread) => {
  if (message.kind === "run") void run(message);
  else if (message.kind === "graph") respondWith(() => drawGraph(message.request, message.lines));
  else if (message.kind === "describe")
    respondWith(() => describePackage(message.request, message.lines, (range) => read(message.metas, range)));
  else {
    finds.get(message.find)?.(message.lines);
    finds.delete(message.find);
  }
});
