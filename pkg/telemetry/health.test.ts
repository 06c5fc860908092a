import { afterEach, expect, test } from "vitest";
import { type HealthChecks, parseBindAddress, startProbeServer } from "./health.ts";
import { createLogger } from "./log.ts";
import { createMetrics } from "./metrics.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(ready: HealthChecks = {}) {
  const lines: string[] = [];
  const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
  const metrics = createMetrics("t");
  metrics.counter({ name: "x_total", help: "h" }).inc();
  const server = await startProbeServer({ bindAddress: "127.0.0.1:0", ready, metrics, log });
  open.push(() => server.close());
  const get = async (path: string): Promise<[number, string]> => {
    const response = await fetch(server.url + path);
    return [response.status, await response.text()];
  };
  return { get, lines, server };
}

const fail = (): never => {
  throw new Error("no route to https://internal");
};

test("a health server without checks is live and ready", async () => {
  const { get } = await start();
  expect([await get("/healthz"), await get("/readyz"), (await get("/nothing"))[0]]).toEqual([[200, "ok"], [200, "ok"], 404]);
});

test("the health response contains the name of a failing check, and the cause is only logged", async () => {
  const { get, lines } = await start({ informers: () => Promise.resolve(), registry: fail });
  expect(await get("/readyz")).toEqual([500, "[+]informers ok\n[-]registry failed: reason withheld\nreadyz check failed\n"]);
  expect(lines.join("")).toContain("no route to https://internal");
  expect(await get("/healthz")).toEqual([200, "ok"]);
});

test("the verbose health response contains the text of each check", async () => {
  const { get } = await start({ informers: () => Promise.resolve(), leader: () => "another process leads" });
  expect(await get("/readyz")).toEqual([200, "ok"]);
  const lines = "[+]informers ok\n[+]leader ok: another process leads\nreadyz check passed\n";
  expect([await get("/readyz?verbose"), await get("/readyz?verbose=true")]).toEqual([
    [200, lines],
    [200, lines],
  ]);
});

test("an excluded health check is skipped, and an unknown check name is reported", async () => {
  const { get } = await start({ informers: () => undefined, registry: fail });
  expect(await get("/readyz?exclude=registry")).toEqual([200, "ok"]);
  expect(await get("/readyz?verbose&exclude=registry&exclude=other")).toEqual([
    200,
    '[+]informers ok\n[+]registry excluded: ok\nwarn: some health checks cannot be excluded: no matches for "other"\nreadyz check passed\n',
  ]);
});

test("each health check has its own path", async () => {
  const { get } = await start({ informers: () => undefined, registry: fail });
  expect((await get("/readyz/informers"))[0]).toBe(200);
  expect((await get("/readyz/registry"))[0]).toBe(500);
  expect((await get("/readyz/toString"))[0]).toBe(404);
});

test("metrics are served in the text format", async () => {
  const { get, server } = await start();
  expect((await get("/metrics"))[1]).toContain("t_x_total 1");
  expect((await fetch(`${server.url}/metrics`)).headers.get("content-type")).toContain("text/plain");
});

test('address "0" disables the health server', async () => {
  const server = await startProbeServer({ bindAddress: "0", log: createLogger({ component: "test" }) });
  expect(server.url).toBe("");
  await server.close();
});

test.for<[string, { host: unknown; port: number }]>([
  [":8081", { host: expect.stringMatching(/^(::|0\.0\.0\.0)$/), port: 8081 }],
  ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
  ["[::1]:8443", { host: "::1", port: 8443 }],
  ["localhost:65535", { host: "localhost", port: 65535 }],
])("parseBindAddress parses %s", ([text, want]) => {
  expect(parseBindAddress(text)).toEqual(want);
});

test.for(["8081", "host", ":", "host:x", ":65536", ":-1"])("parseBindAddress rejects %s", (text) => {
  expect(() => parseBindAddress(text)).toThrow(`bind address "${text}": want host:port`);
});
