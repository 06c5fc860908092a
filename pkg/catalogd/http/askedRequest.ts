import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { RouteMethod, RouteRequest } from "./route.ts";

const GONE = new Error("the client is gone");

/** A request as its route sees it. The signal is made when it is asked for: most answers are there before a client can leave. */
export class AskedRequest implements RouteRequest {
  readonly method: RouteMethod;
  readonly url: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, target: Pick<RouteRequest, "method" | "url" | "params" | "query">) {
    this.method = target.method;
    this.url = target.url;
    this.params = target.params;
    this.query = target.query;
    this.headers = request.headers;
    this.body = request;
    this.#response = response;
  }

  get signal(): AbortSignal {
    this.#signal ??= goneSignal(this.#response);
    return this.#signal;
  }
}

/** Aborts when the client is gone. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort(GONE); // without a reason every answer would make an exception with its stack
  if (response.destroyed) leave();
  else response.once("close", leave);
  return gone.signal;
}
