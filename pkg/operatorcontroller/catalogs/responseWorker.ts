import { serveTasks } from "../../async/taskThread.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Meta } from "../../fbc/types.ts";
import { type EncodedMeta, type ReadRequest, type ReadResponse, ResponseReader } from "./responseReader.ts";

// The body of the worker thread that `responseThread.ts` starts.

const readers = new Map<number, ResponseReader>();

serveTasks((request) => ({ response: read(request as ReadRequest) }));

function read(request: ReadRequest): ReadResponse {
  const { id } = request;
  if (request.kind === "open") {
    readers.set(id, new ResponseReader(request.task));
    return { kind: "read", metas: [] };
  }
  const reader = readers.get(id);
  if (request.kind !== "push") readers.delete(id);
  if (!reader) return { kind: "unknown" };
  try {
    if (request.kind === "push") return { kind: "read", metas: reader.push(request.bytes).map(encode) };
    return { kind: "read", metas: request.kind === "end" ? reader.end().map(encode) : [] };
  } catch (err) {
    readers.delete(id);
    return { kind: "failed", message: getErrorMessage(err) };
  }
}

function encode({ schema, package: packageName, name, blob }: Meta): EncodedMeta {
  return { schema, package: packageName, name, blob: JSON.stringify(blob) };
}
