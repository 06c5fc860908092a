import type { ServerResponse } from "node:http";
import type { LiveState } from "./liveState.ts";

/** Interval of comments that keep proxies from closing an idle stream, in milliseconds. */
const HEARTBEAT_MS = 15_000;
/** Time after which a client that does not read is disconnected, in milliseconds. */
const STALLED_MS = 60_000;
/** Maximum number of streams of one server. */
export const MAX_STREAMS = 20_000;

/**
 * Server-Sent Events to all pages. A client that reads slowly gets no message until it has read the previous one; the next message then contains
 * everything that changed meanwhile. So the server buffers at most one message per client.
 */
export class EventStreams implements Disposable {
  readonly #streams = new Set<EventStream>();
  readonly #heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS).unref();

  /** Number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /**
   * Starts a stream on a response whose head was not sent.
   * @param lastId identifier of the last message that the client received
   * @param onEnd called once after the stream has ended
   */
  open(response: ServerResponse, state: LiveState, lastId: string | undefined, onEnd: () => void): void {
    if (response.destroyed) return onEnd(); // the client disconnected before
    const stream = new EventStream(response, state, lastId);
    this.#streams.add(stream);
    response.once("close", () => {
      this.#streams.delete(stream);
      stream.end();
      onEnd();
    });
    stream.start();
  }

  #beat(): void {
    const now = Date.now();
    for (const stream of this.#streams) stream.beat(now);
  }

  /** Ends all streams. */
  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }
}

class EventStream {
  readonly #response: ServerResponse;
  readonly #state: LiveState;
  readonly #unsubscribe: () => void;
  #lastId: string | undefined;
  /** Since when the client has not read the last message, in milliseconds since the epoch; undefined if it has. */
  #blockedSince: number | undefined;
  #isEnded = false;

  constructor(response: ServerResponse, state: LiveState, lastId: string | undefined) {
    this.#response = response;
    this.#state = state;
    this.#lastId = lastId;
    this.#unsubscribe = state.onChange(() => this.#send());
    response.on("drain", () => {
      this.#blockedSince = undefined;
      this.#send();
    });
  }

  start(): void {
    this.#response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" });
    this.#write("retry: 1000\n\n");
    this.#send();
  }

  beat(now: number): void {
    if (this.#blockedSince === undefined) this.#write(": \n\n");
    else if (now - this.#blockedSince > STALLED_MS) this.#response.destroy();
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#unsubscribe();
    this.#response.end();
  }

  #send(): void {
    if (this.#state.isClosed) return this.end();
    if (this.#blockedSince !== undefined) return;
    const next = this.#state.readSince(this.#lastId);
    if (!next) return;
    this.#lastId = next.id;
    this.#write(next.message);
  }

  #write(data: string | Buffer): void {
    if (!this.#isEnded && !this.#response.write(data)) this.#blockedSince ??= Date.now();
  }
}
