import { Agent, request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ContentWorld } from "../../../test/support/contentWorld.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { RawConnection } from "../../../test/support/rawConnection.ts";
import { HttpMetrics } from "../../serving/httpMetrics.ts";
import { createLogger } from "../../telemetry/log.ts";
import { createMetrics, type Metrics } from "../../telemetry/metrics.ts";
import type { CatalogContent } from "../store/content.ts";
import { type ContentServer, startContentServer } from "./contentServer.ts";
import type { ServerLimits } from "./serverLimits.ts";

/** Larger than the buffers of a connection. */
const LARGE = Array.from({ length: 16 }, (_, i) => `{"name":"l${i}","schema":"big","text":"${"x".repeat(2_000_000)}"}\n`).join("");
const SMALL = '{"schema":"a"}\n';
const [ALL, TINY] = ["/catalogs/large/api/v1/all", "/catalogs/small/api/v1/all"];
const log = createLogger({ component: "test", level: "silent" });

let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({ large: LARGE, small: SMALL });
});
afterAll(() => world.close());

/** Starts a server for the same catalogs with its own limits, held contents and log. */
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

  /** Opens a connection that requests a large response and does not read it. */
  async stalled(): Promise<RawConnection> {
    return (await this.open({ reading: false })).write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<{ status: number; retryAfter: unknown; bytes: number }> {
    const agent = new Agent();
    const response = await request(`http://127.0.0.1:${this.server.address.port}${path}`, { headers, dispatcher: agent });
    const bytes = (await response.body.arrayBuffer()).byteLength;
    await agent.close();
    return { status: response.statusCode, retryAfter: response.headers["retry-after"], bytes };
  }

  /** Waits until this many requests are in progress. */
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

/** Counts the contents that are still held. */
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
  test("server responds with 408 and closes the connection when no data arrives", async () => {
    const server = await limited({ requestMs: 300 });
    const connection = await server.open();
    const [response] = await connection.closed();
    expect(response?.status).toBe(408);
  });

  test("server ends a request whose headers arrive too slowly", async () => {
    const server = await limited({ requestMs: 500 });
    const connection = await server.open();
    connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n`);
    const drip = setInterval(() => connection.write("X-A: b\r\n"), 50);
    const answers = await connection.closed().finally(() => clearInterval(drip));
    expect(answers.map(({ status, body }) => [status, body])).toEqual([[408, "408 Request Timeout\n"]]);
    expect((await server.get(TINY)).status).toBe(200);
  });

  test("server ends a request whose body arrives too slowly", async () => {
    const server = await limited({ requestMs: 500 });
    const connection = await server.open();
    connection.write(`POST ${TINY} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    const drip = setInterval(() => connection.write("x"), 50);
    const [response] = await connection.closed().finally(() => clearInterval(drip));
    expect(response?.status).toBe(405);
  });

  test("server closes an idle connection after a previous request", async () => {
    const server = await limited({ idleMs: 200 });
    const connection = await server.open();
    connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect((await connection.closed()).map(({ status }) => status)).toEqual([200]);
  });
});

describe("a request body that an endpoint reads", () => {
  const GRAPHQL = "/catalogs/small/api/v1/graphql";

  test("server sends 100 Continue when the client expects it", async () => {
    const server = await limited({});
    const connection = await server.open();
    connection.write(`POST ${GRAPHQL} HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n`);
    expect((await connection.answered()).map(({ status }) => status)).toEqual([100]);
    connection.write('{"query":1}');
    expect((await connection.answered(2))[1]?.status).not.toBe(100);
  });

  test("server does not wait for a body that arrives too slowly", async () => {
    const server = await limited({ requestMs: 500 });
    const connection = await server.open();
    connection.write(`POST ${GRAPHQL} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`);
    const drip = setInterval(() => connection.write("x"), 50);
    await connection.closed().finally(() => clearInterval(drip));
    await server.underWay(0);
  });

  test("server does not wait for a body when its client has disconnected", async () => {
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
  test("client that does not read is disconnected, and its content is released", async () => {
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

  test("client receives the whole response when it reads slowly", async () => {
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

  test("client that does not read is disconnected when the response exceeds its time limit", async () => {
    const server = await limited({ responseMs: 700 });
    const connection = await server.stalled();
    await server.underWay(1);
    await server.underWay(0);
    connection.socket.resume();
    await connection.closed();
    expect(connection.bytes).toBeLessThan(LARGE.length);
  });

  test("client gets one response at a time when it pipelines 65 requests", async () => {
    const server = await limited({ stallMs: 1_000 });
    const connection = await server.open({ reading: false });
    connection.write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(65));
    await server.underWay(1);
    expect((await server.get(TINY)).status).toBe(200);
    await server.underWay(1);
    await server.underWay(0);
    const sent = await server.metricsText();
    expect(sent).not.toContain('code="500"');
  });

  test("client gets all responses when it pipelines 65 small requests", async () => {
    const server = await limited({});
    const connection = await server.open();
    connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(65));
    expect(new Set((await connection.answered(65)).map(({ status, body }) => `${status} ${body}`))).toEqual(new Set([`200 ${SMALL}`]));
    connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await connection.answered(66);
  });

  test("client is disconnected when more than 64 of its pipelined requests wait", async () => {
    const server = await limited({});
    const connection = await server.open({ reading: false });
    connection.write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(65));
    await server.underWay(1);
    expect(connection.ended).toBe(false);
    connection.write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(2_000));
    await server.underWay(0);
    connection.socket.resume();
    await connection.closed();
    expect(connection.bytes).toBeLessThan(LARGE.length);
    expect((await server.get(TINY)).status).toBe(200);
  });
});

test("content and transfers of a client are released when it disconnects", async () => {
  const holds = new Holds();
  const server = await limited({}, holds);
  const connections = await Promise.all(Array.from({ length: 20 }, () => server.stalled()));
  await server.underWay(20);
  expect(holds.open).toBe(20);
  for (const connection of connections) connection.close();
  await server.underWay(0);
  expect(holds.open).toBe(0);
});

describe("too many requests at once", () => {
  test("slow readers do not delay conditional requests and small responses", async () => {
    const server = await limited({ transfers: 2, transferWaitMs: 300 });
    await Promise.all([server.stalled(), server.stalled()]);
    await server.underWay(2);
    const refused = await server.get(ALL);
    expect([refused.status, refused.retryAfter, refused.bytes]).toEqual([503, "1", "503 Service Unavailable\n".length]);
    expect((await server.get(ALL, { "if-none-match": "*" })).status).toBe(304);
    expect((await server.get(ALL, { range: "bytes=0-9" })).status).toBe(206);
    expect((await server.get(TINY)).status).toBe(200);
  });

  test("a stalled transfer loses its slot to a waiting transfer", async () => {
    const server = await limited({ transfers: 2, transferWaitMs: 60_000, transferFloor: 1e12, transferCheckMs: 20 });
    await Promise.all([server.stalled(), server.stalled()]);
    await server.underWay(2);
    expect(await server.get(ALL)).toMatchObject({ status: 200, bytes: LARGE.length });
  });

  test("an address in X-Forwarded-For does not grant additional slots", async () => {
    const server = await limited({ transfers: 4, transfersPerClient: 1, transferWaitMs: 50 });
    await server.stalled();
    await server.underWay(1);
    expect((await server.get(ALL, { "x-forwarded-for": "192.0.2.1", forwarded: "for=192.0.2.1" })).status).toBe(503);
  });

  test("a waiting large response starts when another large response ends", async () => {
    const server = await limited({ transfers: 1, transferWaitMs: 60_000 });
    const first = await server.stalled();
    await server.underWay(1);
    const second = server.get(ALL);
    await server.underWay(2);
    first.close();
    expect(await second).toMatchObject({ status: 200, bytes: LARGE.length });
  });

  test("a waiting client is removed from the queue when it disconnects", async () => {
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

  test("the response to a request above the limit has header Retry-After", async () => {
    const server = await limited({ requests: 0 });
    const { status, retryAfter } = await server.get(TINY);
    expect([status, retryAfter]).toEqual([503, "1"]);
  });

  test("idle connections are closed to make room for new connections", async () => {
    const server = await limited({ connections: 3 });
    const idle = await Promise.all(Array.from({ length: 3 }, () => server.open()));
    for (const connection of idle) connection.write(`GET ${TINY} HTTP/1.1\r\nHost: x\r\n\r\n`);
    for (const connection of idle) await connection.answered();
    await eventually(async () => expect((await server.get(TINY)).status).toBe(200));
  });

  test("a single client cannot use all connections", async () => {
    const server = await limited({ connectionsPerClient: 2 });
    const [first] = [await server.open(), await server.open()];
    const third = await server.open();
    expect(await third.closed()).toEqual([]);
    first.close();
    await eventually(async () => expect((await server.get(TINY)).status).toBe(200));
  });
});

test("request metrics have endpoints as labels, but no client-supplied values", async () => {
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

test("requests are logged with the fields of the Go server, and server errors at level error", async () => {
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
