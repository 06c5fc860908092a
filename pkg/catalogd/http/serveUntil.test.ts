import { Agent, request } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ContentWorld } from "../../../test/support/contentWorld.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { RawConnection } from "../../../test/support/rawConnection.ts";
import { HttpMetrics } from "../../serving/httpMetrics.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import { serveUntil } from "./contentServer.ts";

/** Larger than the buffers of a connection. */
const LARGE = Array.from({ length: 16 }, (_, i) => `{"name":"l${i}","schema":"big","text":"${"x".repeat(2_000_000)}"}\n`).join("");
const [ALL, TINY] = ["/catalogs/large/api/v1/all", "/catalogs/small/api/v1/all"];

let world: ContentWorld;
const metrics = createMetrics("catalogd");
beforeEach(async () => {
  world = await ContentWorld.start({ large: LARGE, small: '{"schema":"a"}\n' }, { metrics: new HttpMetrics(metrics) });
});
afterEach(() => world.close());

/** Sends one request after another on a persistent connection until the server closes the connection. */
class Client {
  readonly agent = new Agent({ connections: 1, pipelining: 1 });
  readonly failures: string[] = [];
  answers = 0;
  asksToClose = 0;
  readonly done: Promise<void>;
  #elsewhere = false;

  constructor(base: string, path: string, headers: Record<string, string> = {}) {
    this.done = this.#run(`${base}${path}`, headers);
  }

  goElsewhere(): void {
    this.#elsewhere = true;
  }

  async #run(url: string, headers: Record<string, string>): Promise<void> {
    while (!this.#elsewhere) {
      try {
        const response = await request(url, { headers, dispatcher: this.agent });
        await response.body.dump({ limit: Number.MAX_SAFE_INTEGER });
        if (response.statusCode >= 400) this.failures.push(`status ${response.statusCode}`);
        if (response.headers["connection"] === "close") this.asksToClose++;
        this.answers++;
      } catch (err) {
        this.failures.push(String(err));
      }
    }
    await this.agent.close();
  }
}

test("serveUntil fails no request during shutdown and asks clients to close their connections", async () => {
  const base = `http://127.0.0.1:${world.port}`;
  const stop = new AbortController();
  const clients = [
    new Client(base, TINY),
    new Client(base, TINY, { "if-none-match": "*" }),
    new Client(base, "/catalogs"),
    new Client(base, "/catalogs/large/api/v1/metas?name=l1"),
  ];
  const stopped = serveUntil(stop.signal, world.server, { delayMs: 2_000, graceMs: 10_000 });
  await eventually(() => expect(clients.every(({ answers }) => answers > 5)).toBe(true));
  expect(clients.map(({ asksToClose }) => asksToClose)).toEqual([0, 0, 0, 0]);
  expect(world.server.draining).toBe(false);
  stop.abort();
  await eventually(() => expect(clients.every(({ asksToClose }) => asksToClose > 5)).toBe(true), { intervalMs: 10 });
  expect(world.server.draining).toBe(true);
  for (const client of clients) client.goElsewhere();
  await Promise.all(clients.map(({ done }) => done));
  await stopped;
  expect(clients.flatMap(({ failures }) => failures)).toEqual([]);
  await expect(request(`${base}${TINY}`)).rejects.toThrow("ECONNREFUSED");
});

test("serveUntil completes a response in progress, and closes a stalled response after the grace period", async () => {
  const rawRequest = `GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const [late, never] = [
    await RawConnection.open(world.port, { reading: false }),
    await RawConnection.open(world.port, { reading: false }),
  ];
  late.write(rawRequest);
  never.write(rawRequest);
  const idle = await RawConnection.open(world.port);
  await idle.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`).answered();
  await eventually(async () => expect(await metrics.text()).toContain("catalogd_http_requests_in_flight 2\n"));
  const closed = world.server.close(3_000);
  await idle.closed();
  late.socket.resume();
  await eventually(() => expect(late.bytes).toBeGreaterThan(LARGE.length));
  await closed;
  never.socket.resume();
  await never.closed();
  expect(never.bytes).toBeLessThan(LARGE.length);
  for (const connection of [late, never, idle]) connection.close();
});
