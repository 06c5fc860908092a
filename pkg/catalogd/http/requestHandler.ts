import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { messageOf } from "../../errors/errors.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { HttpMetrics } from "./httpMetrics.ts";
import { AskedRequest, cleanPath, goneSignal, requestTarget } from "./request.ts";
import {
  type Answer,
  asProblemDetails,
  bodyBytes,
  NO_BODY,
  problemAnswer,
  statusAnswer,
  wantsProblemDetails,
  withoutBody,
} from "./response.ts";
import { otherAnswer, type Prepared, type Route, type RouteMethod, redirect } from "./route.ts";
import { BufferPool, sendAnswer } from "./send.ts";
import type { ServerLimits } from "./serverLimits.ts";
import { type Transfer, Transfers } from "./transfers.ts";

/** What a request handler is built from. */
export interface RequestHandlerInit {
  limits: ServerLimits;
  log: Logger;
  metrics?: HttpMetrics | undefined;
}

/** Answers with larger bodies need room among the transfers. */
const SMALL_BODY_BYTES = 64 * 1024;
const RETRY_AFTER = { "retry-after": 1 };
const MAX_LOGGED_URI = 2_048;

/** Where the path of a request leads. */
export interface Destination {
  /** Undefined when no route of the path takes the method. */
  readonly route: Route | undefined;
  /** Values of the path's parameters, unescaped. */
  readonly params: Readonly<Record<string, string>>;
  /** All routes of the path, whatever the method. */
  readonly samePath: readonly Route[];
}

/** What was found out about a request while it was answered. */
interface Outcome {
  route: Route | undefined;
  status: number;
  encoding: string | undefined;
}

/** Answers requests by the table of routes: one at a time on a connection, within limits, and tells log and metrics. */
export class RequestHandler {
  readonly #init: RequestHandlerInit;
  readonly #pool = new BufferPool();
  readonly #transfers: Transfers;
  /** The answer that each connection got last. */
  readonly #last = new WeakMap<Socket, { readonly response: ServerResponse; readonly done: Promise<void> }>();
  #underWay = 0;
  #draining = false;

  constructor(init: RequestHandlerInit) {
    this.#init = init;
    this.#transfers = new Transfers(init.limits);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on every answer asks its client to close the connection. */
  drain(): void {
    this.#draining = true;
  }

  /** The last answer on a connection, sent or not. */
  lastOn(socket: Socket): ServerResponse | undefined {
    return this.#last.get(socket)?.response;
  }

  /**
   * Answers a request; those that a client sends ahead on the same connection wait for their turn.
   * @param destination undefined when the path cannot be read.
   */
  handle(request: IncomingMessage, response: ServerResponse, destination: Destination | undefined): void {
    const before = this.#last.get(request.socket);
    const waits = before !== undefined && !before.response.writableEnded && !before.response.destroyed;
    const done = waits
      ? before.done.then(() => this.#respond(request, response, destination))
      : this.#respond(request, response, destination);
    this.#last.set(request.socket, { response, done });
  }

  async #respond(request: IncomingMessage, response: ServerResponse, destination: Destination | undefined): Promise<void> {
    const { limits, metrics, log } = this.#init;
    const started = performance.now();
    this.#underWay++;
    metrics?.started();
    response.setHeader("vary", "Accept-Encoding");
    const deadline = setTimeout(() => response.destroy(), limits.answerMs).unref();
    const outcome: Outcome = { route: undefined, status: 500, encoding: undefined };
    let bytes = 0;
    let release: (() => void) | undefined;
    try {
      const made = await this.#make(request, response, destination, outcome);
      const prepared = "answer" in made ? made : { answer: made };
      if ("release" in prepared) ({ release } = prepared);
      bytes = await this.#send(request, response, prepared.answer, outcome);
    } catch (err) {
      log.error({ err, uri: loggedUri(request), code: outcome.status }, "HTTP error");
      bytes = await this.#sendFailure(request, response, outcome);
    } finally {
      release?.();
      clearTimeout(deadline);
      this.#underWay--;
      this.#tell(request, outcome, bytes, started);
    }
  }

  /** What the routes answer, or why they are not asked. */
  #make(
    request: IncomingMessage,
    response: ServerResponse,
    destination: Destination | undefined,
    outcome: Outcome,
  ): Answer | Prepared | Promise<Answer | Prepared> {
    const { limits } = this.#init;
    const { method = "", url = "" } = request;
    if (this.#underWay > limits.requests) return overloaded();
    if (url.length > limits.urlLength)
      return problemAnswer("UrlTooLong", `the URL has ${url.length} characters, ${limits.urlLength} are allowed`);
    if (url === "*") return method === "OPTIONS" ? { status: 200, headers: { "content-length": 0 }, body: NO_BODY } : statusAnswer(400);
    const { path, query } = requestTarget(url);
    const clean = cleanPath(path);
    if (clean !== path) return redirect(method, url.includes("?") ? `${clean}?${query}` : clean);
    if (!destination) return statusAnswer(400);
    const { route, params, samePath } = destination;
    outcome.route = route ?? samePath[0];
    if (!route) return otherAnswer(samePath);
    if (hasMore(query, "&", limits.queryPieces))
      return problemAnswer("InvalidQuery", `the query has more than ${limits.queryPieces} parameters`);
    if (method === "POST" && request.headers.expect) response.writeContinue();
    return route.answer(new AskedRequest(request, response, { method: method as RouteMethod, url, params, query }));
  }

  /** @returns bytes of the body that was sent. */
  async #send(request: IncomingMessage, response: ServerResponse, made: Answer, outcome: Outcome): Promise<number> {
    const answer =
      request.method === "HEAD" ? withoutBody(this.#formed(made, request, outcome.route)) : this.#formed(made, request, outcome.route);
    if (bodyBytes(answer) <= SMALL_BODY_BYTES) return this.#hand(response, answer, outcome);
    const transfer = transferOn(request.socket, response);
    if (!(await this.#transfers.enter(transfer, goneSignal(response)))) {
      if (response.destroyed) return 0;
      return this.#hand(response, this.#formed(overloaded(), request, outcome.route), outcome);
    }
    try {
      return await this.#hand(response, answer, outcome);
    } finally {
      this.#transfers.leave(transfer);
    }
  }

  #hand(response: ServerResponse, answer: Answer, outcome: Outcome): Promise<number> {
    outcome.status = answer.status;
    const encoding = answer.headers["content-encoding"];
    outcome.encoding = typeof encoding === "string" ? encoding : undefined;
    if (this.#draining) response.setHeader("connection", "close");
    return sendAnswer(response, answer, this.#pool);
  }

  /** A failure in the form that the route or the client wants. */
  #formed(answer: Answer, { headers, url = "" }: IncomingMessage, route: Route | undefined): Answer {
    const { problem } = answer;
    if (!problem || (route?.failures !== "problem" && !wantsProblemDetails(headers.accept))) return answer;
    return asProblemDetails(answer, problem, url);
  }

  async #sendFailure(request: IncomingMessage, response: ServerResponse, outcome: Outcome): Promise<number> {
    if (response.headersSent) return 0;
    const answer = statusAnswer(500);
    try {
      return await this.#hand(response, this.#formed(answer, request, outcome.route), outcome);
    } catch (err) {
      this.#init.log.debug({ reason: messageOf(err) }, "no answer sent");
      return 0;
    }
  }

  #tell(request: IncomingMessage, { route, status, encoding }: Outcome, bytes: number, started: number): void {
    const { log, metrics } = this.#init;
    const { method = "", httpVersion, headers } = request;
    metrics?.ended({ route: route?.path, method, status, encoding, bytes, seconds: (performance.now() - started) / 1_000 });
    const level = status >= 500 ? "error" : "debug";
    if (!log.isLevelEnabled(level)) return;
    const uri = loggedUri(request);
    log[level]({ host: headers.host, username: "-", method, uri, protocol: `HTTP/${httpVersion}`, status, size: bytes }, "handled request");
  }
}

function transferOn(socket: Socket, response: ServerResponse): Transfer {
  return {
    client: socket.remoteAddress ?? "",
    progress: () => socket.bytesWritten - socket.writableLength,
    pending: () => socket.writableLength,
    cut: () => response.destroy(),
  };
}

function overloaded(): Answer {
  return problemAnswer("Overloaded", "too many requests are being answered; try again", RETRY_AFTER);
}

/** Whether a text holds a character more often than that. */
function hasMore(text: string, character: string, count: number): boolean {
  let at = -1;
  for (let i = 0; i < count; i++) {
    at = text.indexOf(character, at + 1);
    if (at < 0) return false;
  }
  return true;
}

function loggedUri({ url = "" }: IncomingMessage): string {
  return url.length > MAX_LOGGED_URI ? `${url.slice(0, MAX_LOGGED_URI)}…` : url;
}
