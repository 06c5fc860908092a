import { setTimeout as delay } from "node:timers/promises";
import type { ContentServer } from "./contentServer.ts";

/** How a content server stops. Milliseconds. */
export interface StopTimes {
  /** Serving goes on so long, with answers that ask clients to close: those who send requests here have to learn that there is nobody. */
  delayMs: number;
  /** Then requests under way have so long to end. */
  graceMs: number;
}

/** Lets a server serve until `signal` aborts, then stops it so that no request fails whose client heeds `Connection: close`. */
export async function serveUntil(signal: AbortSignal, server: Pick<ContentServer, "drain" | "close">, times: StopTimes): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  server.drain();
  await delay(times.delayMs);
  await server.close(times.graceMs);
}
