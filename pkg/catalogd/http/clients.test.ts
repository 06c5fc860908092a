import { Agent, request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ContentWorld } from "../../../test/support/contentWorld.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { RawConnection } from "../../../test/support/rawConnection.ts";
import { createLogger } from "../../telemetry/log.ts";
import { createMetrics, type Metrics } from "../../telemetry/metrics.ts";
import type { CatalogContent } from "../store/content.ts";
import { type ContentServer, startContentServer } from "./contentServer.ts";
import { HttpMetrics } from "./httpMetrics.ts";
import type { ServerLimits } from "./serverLimits.ts";

/** More than the buffers of a connection take. */
const LARGE = Array.from({ length: 16 }, (_, i) => `{"name":"l${i}","schema":"big","text":"${"x".repeat(2_000_000)}"}\n`).join("");
const SMALL = '{"schema":"a"}\n';
const [ALL, TINY] = ["/catalogs/large/api/v1/all", "/catalogs/small/api/v1/all"];
const log = createLogger({ component: "test", level: "silent" });

let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({ large: LARGE, small: SMALL });
});
afterAll(() => world.close());

/** A server of the same catalogs with limits of its own, and what it holds and tells. */
class Limited {
  readonly server: ContentServer;
  readonly #metrics: Metrics;
  readonly #connections: RawConnection[] = [];

  private constructor(server: ContentServer, metrics: Metrics) {
    this.server = server;
    this.#metrics = metrics;
  }

  static async start(limits: Partial<ServerLimits>, holds = new Holds()): Promise<Limited> {
    const metrics = createMetrics("catalogd");
    const source = { get: (name: string) => holds.counted(world.store.get(name)), catalogs: () => world.store.catalogs() };
    const options = { source, log, limits, metrics: new HttpMetrics(metrics) };
    return new Limited(await startContentServer({ host: "127.0.0.1", port: 0 }, options), metrics);
  }

  async open(options: { reading?: boolean } = {}): Promise<RawConnection> {
    const connection = await RawConnection.open(this.server.address.port, options);
    this.#connections.push(connection);
    return connection;
  }

  /** A connection that asked for much and reads nothing of it. */
  async stalled(): Promise<RawConnection> {
    return (await this.open({ reading: false })).write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<{ status: number; retryAfter: unknown; bytes: number }> {
    const agent = new Agent();
    const answer = await request(`http://127.0.0.1:${this.server.address.port}${path}`, { headers, dispatcher: agent });
    const bytes = (await answer.body.arrayBuffer()).byteLength;
    await agent.close();
    return { status: answer.statusCode, retryAfter: answer.headers["retry-after"], bytes };
  }

  /** Waits until so many requests are being answered. */
  async underWay(count: number): Promise<void> {
    await eventually(async () => expect(await this.#metrics.text()).toContain(`catalogd_http_requests_in_flight ${count}\n`));
  }

  metricsText(): Promise<string> {
    return this.#metrics.text();
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.server.close(0);
  }
}

/** Counts how often content is held and not released. */
class Holds {
  open = 0;

  counted(content: CatalogContent | undefined): CatalogContent | undefined {
    if (!content) return undefined;
    return new Proxy(content, {
      get: (target, name) => {
        if (name === "hold") this.open++;
        if (name === "release") this.open--;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }
}

const running: Limited[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});
async function limited(limits: Partial<ServerLimits>, holds?: Holds): Promise<Limited> {
  const server = await Limited.start(limits, holds);
  running.push(server);
  return server;
}

describe("a request that does not arrive", () => {
  test("of which nothing comes: the connection is closed", async () => {
    const server = await limited({ requestMs: 300 });
    const connection = await server.open();
    const [answer] = await connection.closed();
    expect(answer?.status).toBe(408);
  });

  test("whose headers drip is ended", async () => {
    const server = await limited({ requestMs: 500 });
    const connection = await server.open();
    connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n`);
    const drip = setInterval(() => connection.write("X-A: b\r\n"), 50);
    const answers = await connection.closed().finally(() => clearInterval(drip));
    expect(answers.map(({ status, body }) => [status, body])).toEqual([[408, "408 Request Timeout\n"]]);
    expect((await server.get(TINY)).status).toBe(200);
  });

  test("whose body drips is ended", async () => {
    const server = await limited({ requestMs: 500 });
    const connection = await server.open();
    connection.write(`POST ${TINY} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    const drip = setInterval(() => connection.write("x"), 50);
    const [answer] = await connection.closed().finally(() => clearInterval(drip));
    expect(answer?.status).toBe(405);
  });

  test("for a while after another: the connection is closed", async () => {
    const server = await limited({ idleMs: 200 });
    const connection = await server.open();
    connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect((await connection.closed()).map(({ status }) => status)).toEqual([200]);
  });
});

describe("a body that an endpoint reads", () => {
  const GRAPHQL = "/catalogs/small/api/v1/graphql";

  test("is asked for when the client wants to be asked", async () => {
    const server = await limited({});
    const connection = await server.open();
    connection.write(`POST ${GRAPHQL} HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n`);
    expect((await connection.answered()).map(({ status }) => status)).toEqual([100]);
    connection.write('{"query":1}');
    expect((await connection.answered(2))[1]?.status).not.toBe(100);
  });

  test("and that drips is not waited for", async () => {
    const server = await limited({ requestMs: 500 });
    const connection = await server.open();
    connection.write(`POST ${GRAPHQL} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`);
    const drip = setInterval(() => connection.write("x"), 50);
    await connection.closed().finally(() => clearInterval(drip));
    await server.underWay(0);
  });

  test("and that stops because its client has left is not waited for", async () => {
    const holds = new Holds();
    const server = await limited({ requestMs: 60_000 }, holds);
    const connection = await server.open();
    connection.write(`POST ${GRAPHQL} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{`);
    await server.underWay(1);
    connection.close();
    await server.underWay(0);
    expect(holds.open).toBe(0);
  });
});

describe("a client that does not read", () => {
  test("is cut, and what was held for it is let go", async () => {
    const holds = new Holds();
    const server = await limited({ stallMs: 500 }, holds);
    const connection = await server.stalled();
    await server.underWay(1);
    expect(holds.open).toBe(1);
    await server.underWay(0);
    expect(holds.open).toBe(0);
    connection.socket.resume();
    await connection.closed();
    expect(connection.bytes).toBeLessThan(LARGE.length);
  });

  test("but slowly does is served to the end", async () => {
    const server = await limited({ stallMs: 2_000 });
    const connection = await server.stalled();
    const read = setInterval(() => {
      connection.socket.resume();
      setTimeout(() => connection.socket.pause(), 5);
    }, 100);
    await eventually(() => expect(connection.bytes).toBeGreaterThan(LARGE.length), { timeoutMs: 60_000 }).finally(() =>
      clearInterval(read),
    );
    expect(connection.ended).toBe(false);
  });

  test("is cut in the end, even where it does not count as stalled yet", async () => {
    const server = await limited({ responseMs: 700 });
    const connection = await server.stalled();
    await server.underWay(1);
    await server.underWay(0);
    connection.socket.resume();
    await connection.closed();
    expect(connection.bytes).toBeLessThan(LARGE.length);
  });

  test("and sends a thousand requests ahead is answered one at a time", async () => {
    const server = await limited({ stallMs: 1_000 });
    const connection = await server.open({ reading: false });
    connection.write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(1_000));
    await server.underWay(1);
    expect((await server.get(TINY)).status).toBe(200);
    await server.underWay(1);
    await server.underWay(0);
    const sent = await server.metricsText();
    expect(sent).not.toContain('code="500"');
  });
});

test("a client that leaves takes everything with it that was held for it", async () => {
  const holds = new Holds();
  const server = await limited({}, holds);
  const connections = await Promise.all(Array.from({ length: 20 }, () => server.stalled()));
  await server.underWay(20);
  expect(holds.open).toBe(20);
  for (const connection of connections) connection.close();
  await server.underWay(0);
  expect(holds.open).toBe(0);
});

describe("too many at once", () => {
  test("slow readers do not hold up conditional requests and small answers", async () => {
    const server = await limited({ transfers: 2, transferWaitMs: 300 });
    await Promise.all([server.stalled(), server.stalled()]);
    await server.underWay(2);
    const refused = await server.get(ALL);
    expect([refused.status, refused.retryAfter, refused.bytes]).toEqual([503, "1", "503 Service Unavailable\n".length]);
    expect((await server.get(ALL, { "if-none-match": "*" })).status).toBe(304);
    expect((await server.get(ALL, { range: "bytes=0-9" })).status).toBe(206);
    expect((await server.get(TINY)).status).toBe(200);
  });

  test("a transfer that makes no progress loses its place to one that waits", async () => {
    const server = await limited({ transfers: 2, transferWaitMs: 60_000, transferFloor: 1e12, transferCheckMs: 20 });
    await Promise.all([server.stalled(), server.stalled()]);
    await server.underWay(2);
    expect(await server.get(ALL)).toMatchObject({ status: 200, bytes: LARGE.length });
  });

  test("an address in X-Forwarded-For gives no places", async () => {
    const server = await limited({ transfers: 4, transfersPerClient: 1, transferWaitMs: 50 });
    await server.stalled();
    await server.underWay(1);
    expect((await server.get(ALL, { "x-forwarded-for": "192.0.2.1", forwarded: "for=192.0.2.1" })).status).toBe(503);
  });

  test("a large answer starts when another has ended", async () => {
    const server = await limited({ transfers: 1, transferWaitMs: 60_000 });
    const first = await server.stalled();
    await server.underWay(1);
    const second = server.get(ALL);
    await server.underWay(2);
    first.close();
    expect(await second).toMatchObject({ status: 200, bytes: LARGE.length });
  });

  test("a client that leaves while it waits is forgotten", async () => {
    const holds = new Holds();
    const server = await limited({ transfers: 1, transferWaitMs: 60_000 }, holds);
    await server.stalled();
    await server.underWay(1);
    const second = await server.stalled();
    await server.underWay(2);
    second.close();
    await server.underWay(1);
    expect(holds.open).toBe(1);
  });

  test("requests are refused with when to come again", async () => {
    const server = await limited({ requests: 0 });
    const { status, retryAfter } = await server.get(TINY);
    expect([status, retryAfter]).toEqual([503, "1"]);
  });

  test("idle connections make room for new ones", async () => {
    const server = await limited({ connections: 3 });
    const idle = await Promise.all(Array.from({ length: 3 }, () => server.open()));
    for (const connection of idle) connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`);
    for (const connection of idle) await connection.answered();
    await eventually(async () => expect((await server.get(TINY)).status).toBe(200));
  });

  test("one client does not get all connections", async () => {
    const server = await limited({ connectionsPerClient: 2 });
    const [first] = [await server.open(), await server.open()];
    const third = await server.open();
    expect(await third.closed()).toEqual([]);
    first.close();
    await eventually(async () => expect((await server.get(TINY)).status).toBe(200));
  });
});

test("requests are counted by endpoint, never by what a client makes up", async () => {
  const server = await limited({});
  await server.get(TINY);
  await server.get(ALL, { "accept-encoding": "gzip" });
  await server.get(ALL, { "if-none-match": "*" });
  await server.get("/catalogs/made-up/api/v1/all");
  await server.get("/made/up");
  const connection = await server.open();
  connection.write(`PROPFIND ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await connection.answered();
  const route = 'route="/catalogs/{catalog}/api/v1/all"';
  const text = await server.metricsText();
  for (const line of [
    `catalogd_http_requests_total{${route},method="GET",code="200",encoding="identity"} 1`,
    `catalogd_http_requests_total{${route},method="GET",code="200",encoding="gzip"} 1`,
    `catalogd_http_requests_total{${route},method="GET",code="304",encoding="identity"} 1`,
    `catalogd_http_requests_total{${route},method="GET",code="404",encoding="identity"} 1`,
    `catalogd_http_requests_total{${route},method="other",code="405",encoding="identity"} 1`,
    'catalogd_http_requests_total{route="other",method="GET",code="404",encoding="identity"} 1',
    'catalogd_http_request_duration_seconds_count{code="200"} 2',
    `catalogd_http_response_bytes_total{${route},encoding="identity"} ${SMALL.length + "404 Not Found\nMethod Not Allowed\n".length}`,
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).not.toContain("made");
});

test("requests are logged with what the Go server logs, failures of ours as errors", async () => {
  const lines: Record<string, unknown>[] = [];
  const logged = createLogger({
    component: "test",
    level: "debug",
    destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const source = {
    get: (name: string) => {
      if (name === "broken") throw new Error("disk on fire");
      return world.store.get(name);
    },
    catalogs: () => [],
  };
  const server = await startContentServer({ host: "127.0.0.1", port: 0 }, { source, log: logged });
  const base = `http://127.0.0.1:${server.address.port}`;
  await (await fetch(`${base}${TINY}?a=1`)).text();
  const broken = await fetch(`${base}/catalogs/broken/api/v1/all`);
  expect([broken.status, await broken.text()]).toEqual([500, "500 Internal Server Error\n"]);
  await server.close(0);
  const handled = lines.filter(({ msg }) => msg === "handled request");
  expect(handled).toMatchObject([
    {
      level: 20,
      host: `127.0.0.1:${server.address.port}`,
      username: "-",
      method: "GET",
      uri: `${TINY}?a=1`,
      protocol: "HTTP/1.1",
      status: 200,
      size: SMALL.length,
    },
    { level: 50, uri: "/catalogs/broken/api/v1/all", status: 500 },
  ]);
  expect(lines.find(({ msg }) => msg === "HTTP error")).toMatchObject({ level: 50, code: 500, err: { message: "disk on fire" } });
});
