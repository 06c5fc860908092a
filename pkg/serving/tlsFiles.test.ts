import { join } from "node:path";
import { Agent, request } from "undici";
import { afterEach, expect, test } from "vitest";
import { TempFolder } from "../../test/support/contentFixture.ts";
import { serverCertificate } from "../../test/support/serverCertificate.ts";
import { startContentServer } from "../catalogd/http/contentServer.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { startMetricsServer } from "./metricsServer.ts";
import { TlsFiles } from "./tlsFiles.ts";

const lines: string[] = [];
const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  lines.length = 0;
  for (const close of open.splice(0)) await close();
});

/** The status of an answer, or why there is none, for a client that trusts this certificate and no other. */
async function statusOf(url: string, ca: string): Promise<number | string> {
  const agent = new Agent({ connect: { ca, servername: "localhost" } });
  try {
    const answer = await request(url, { dispatcher: agent });
    await answer.body.dump();
    return answer.statusCode;
  } catch (err) {
    return (err as { code: string }).code;
  } finally {
    await agent.close();
  }
}

test("a renewed certificate is used by every server for new connections; a broken one is reported and the last good one stays", async () => {
  using folder = new TempFolder();
  const [first, second] = await Promise.all([serverCertificate("localhost"), serverCertificate("localhost")]);
  const write = ({ cert, key }: { cert: string; key: string }): string => folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const dir = write(first);
  const tls = new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log });
  const content = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: { get: () => undefined }, log, tls });
  const reviews = { check: () => Promise.resolve({ allowed: true as const }) };
  const metrics = await startMetricsServer({ bindAddress: "127.0.0.1:0", tls, metrics: createMetrics("t"), reviews, log });
  open.push(
    () => content.close(),
    () => metrics.close(),
  );
  const status = (ca: string): Promise<(number | string)[]> =>
    Promise.all([statusOf(`https://127.0.0.1:${content.address.port}/catalogs/x/api/v1/all`, ca), statusOf(`${metrics.url}/metrics`, ca)]);
  const unknown = ["DEPTH_ZERO_SELF_SIGNED_CERT", "DEPTH_ZERO_SELF_SIGNED_CERT"];

  expect([await status(first.cert), await status(second.cert)]).toEqual([[404, 200], unknown]);
  write(second);
  tls.check();
  expect([await status(first.cert), await status(second.cert)]).toEqual([unknown, [404, 200]]);
  write({ cert: first.cert, key: second.key });
  tls.check();
  expect(await status(second.cert)).toEqual([404, 200]);
  expect(lines.join("")).toContain("new certificate cannot be used, keeping the last one");
});

test("files that do not belong together stop the start", async () => {
  using folder = new TempFolder();
  const [first, second] = await Promise.all([serverCertificate("localhost"), serverCertificate("localhost")]);
  const dir = folder.write("tls", { "tls.crt": first.cert, "tls.key": second.key });
  expect(() => new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log })).toThrow();
});

test("so do settings that OpenSSL does not take", async () => {
  using folder = new TempFolder();
  const { cert, key } = await serverCertificate("localhost");
  const dir = folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const settings = { minVersion: "TLSv1.2", ciphers: "TLS_AES_128_GCM_SHA256", ecdhCurve: "no-such-curve" } as const;
  expect(() => new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), settings, log })).toThrow();
});
