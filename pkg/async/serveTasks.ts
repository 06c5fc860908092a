import { parentPort } from "node:worker_threads";

/** A response, and the buffers that are moved with it. */
export interface Served<Response> {
  readonly response: Response;
  readonly transfer?: ArrayBuffer[];
}

/** Answers each request that a `TaskThread` sends to this thread. */
export function serveTasks(serve: (request: unknown) => Served<unknown>): void {
  parentPort?.on("message", (request: unknown) => {
    const { response, transfer = [] } = serve(request);
    parentPort?.postMessage(response, transfer);
  });
}
