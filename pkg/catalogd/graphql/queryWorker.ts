import { readSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import type { GraphQLSchema } from "graphql";
import { LRUCache } from "lru-cache";
import { messageOf } from "../../errors/errors.ts";
import { drawGraph, GraphRefusedError } from "./drawGraph.ts";
import type { LineRange, ObjectSource, PageQuery } from "./queryContext.ts";
import type { FromQueryThread, OpenCatalogFiles, ToQueryThread } from "./queryMessage.ts";
import { type QueriedCatalog, runQuery } from "./runQuery.ts";
import { readStoredSchema } from "./schema.ts";

// The body of the thread that `queryThreads.ts` starts: executes one query after another. Here it may take as long and as much memory as it is
// given, while the server answers others.

/** Schemas that are kept, each some hundred kilobytes. */
const MAX_SCHEMAS = 4;

const schemas = new LRUCache<number, GraphQLSchema>({ max: MAX_SCHEMAS });
const finds = new Map<number, (lines: readonly LineRange[]) => void>();
let lastFind = 0;

function say(message: FromQueryThread, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function read(fd: number, { start, end }: LineRange): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  for (let done = 0; done < bytes.length; ) {
    const size = readSync(fd, bytes, done, bytes.length - done, start + done);
    if (size === 0) throw new Error("the content file is shorter than its index says");
    done += size;
  }
  return bytes;
}

function schemaOf({ key, schemas: { fd, bytes } }: OpenCatalogFiles): GraphQLSchema {
  const known = schemas.get(key);
  if (known) return known;
  const schema = readStoredSchema(read(fd, { start: 0, end: bytes }));
  schemas.set(key, schema);
  return schema;
}

function objectsOf({ metas }: OpenCatalogFiles): ObjectSource {
  return {
    find: (query: PageQuery) =>
      new Promise((resolve) => {
        const find = ++lastFind;
        finds.set(find, resolve);
        say({ kind: "find", find, query });
      }),
    read: (line) => read(metas, line),
  };
}

async function run({ request, catalog, stop }: ToQueryThread & { kind: "run" }): Promise<void> {
  say({ kind: "started" });
  try {
    const open = (): QueriedCatalog | undefined => catalog && { schema: schemaOf(catalog), objects: objectsOf(catalog) };
    const text = await runQuery(request, open, { stopped: () => Atomics.load(stop, 0) !== 0 });
    const answer = text === undefined ? undefined : new Uint8Array(Buffer.from(text));
    say({ kind: "done", answer }, answer ? [answer.buffer] : []);
  } catch (err) {
    say({ kind: "failed", message: messageOf(err) });
  } finally {
    finds.clear();
  }
}

function draw({ request, lines }: ToQueryThread & { kind: "graph" }): void {
  say({ kind: "started" });
  try {
    const answer = new Uint8Array(Buffer.from(drawGraph(request, lines)));
    say({ kind: "done", answer }, [answer.buffer]);
  } catch (err) {
    if (err instanceof GraphRefusedError) say({ kind: "refused", code: err.code, message: err.message });
    else say({ kind: "failed", message: messageOf(err) });
  }
}

parentPort?.on("message", (message: ToQueryThread) => {
  if (message.kind === "run") void run(message);
  else if (message.kind === "graph") draw(message);
  else {
    finds.get(message.find)?.(message.lines);
    finds.delete(message.find);
  }
});
