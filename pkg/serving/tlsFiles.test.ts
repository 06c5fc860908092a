import { join } from "node:path";
import { connect } from "node:tls";
import { Agent, request } from "undici";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { serverCertificate } from "../../test/support/serverCertificate.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { startContentServer } from "../catalogd/http/contentServer.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { startMetricsServer } from "./metricsServer.ts";
import { TlsFiles } from "./serverTls.ts";

const lines: string[] = [];
const log = createLogger({ component: "test", destination: { write: (line) => lines.push(line) } });
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  lines.length = 0;
  for (const close of open.splice(0)) await close();
});

/** Sends a request from a client that trusts only this certificate. Returns the response status or the error. */
async function statusOf(url: string, ca: string): Promise<number | string> {
  const agent = new Agent({ connect: { ca, servername: "localhost" } });
  try {
    const response = await request(url, { dispatcher: agent });
    await response.body.dump();
    return response.statusCode;
  } catch (err) {
    return (err as { code: string }).code;
  } finally {
    await agent.close();
  }
}

test("servers use a renewed certificate for new connections, but report an invalid certificate and keep the previous certificate", async () => {
  using folder = new TempFolder();
  const [first, second] = await Promise.all([serverCertificate("localhost"), serverCertificate("localhost")]);
  const write = ({ cert, key }: { cert: string; key: string }): string => folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const dir = write(first);
  const tls = new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log });
  const content = await startContentServer(
    { host: "127.0.0.1", port: 0 },
    { source: { get: () => undefined, catalogs: () => [] }, log, tls },
  );
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
  expect(lines.join("")).toContain("cannot use new certificate, keeping the previous one");
});

test("a certificate is renewed without a failed request, on persistent and new connections", async () => {
  using folder = new TempFolder();
  const certificates = await Promise.all(Array.from({ length: 4 }, () => serverCertificate("localhost")));
  const write = ({ cert, key }: { cert: string; key: string }): string => folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const dir = write(certificates[0]!);
  const tls = new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log });
  const content = await startContentServer(
    { host: "127.0.0.1", port: 0 },
    { source: { get: () => undefined, catalogs: () => [] }, log, tls },
  );
  open.push(() => content.close(0));
  const url = `https://127.0.0.1:${content.address.port}/catalogs`;
  // The certificate is checked below.
  const trusting = { rejectUnauthorized: false, servername: "localhost" };
  const [failures, answers] = [[] as string[], { kept: 0, fresh: 0 }];
  const load = { over: false };
  const ask = async (kind: "kept" | "fresh"): Promise<void> => {
    let agent = new Agent({ connect: trusting });
    while (!load.over) {
      try {
        const response = await request(url, { dispatcher: agent });
        await response.body.dump();
        if (response.statusCode === 200) answers[kind]++;
        else failures.push(String(response.statusCode));
      } catch (err) {
        failures.push(String(err));
      }
      if (kind === "kept") continue;
      await agent.close();
      agent = new Agent({ connect: trusting });
    }
    await agent.close();
  };
  const clients = [ask("kept"), ask("kept"), ask("fresh"), ask("fresh")];
  for (const certificate of certificates.slice(1)) {
    const before = { ...answers };
    write(certificate);
    tls.check();
    await eventually(() => expect(answers.kept > before.kept + 10 && answers.fresh > before.fresh + 10).toBe(true), { intervalMs: 10 });
    expect(await statusOf(url, certificate.cert)).toBe(200);
  }
  load.over = true;
  await Promise.all(clients);
  expect(failures).toEqual([]);
});

test("content is served over HTTP/1.1 to clients that also support HTTP/2, but not to clients that support only HTTP/2", async () => {
  using folder = new TempFolder();
  const { cert, key } = await serverCertificate("localhost");
  const dir = folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const tls = new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log });
  const content = await startContentServer(
    { host: "127.0.0.1", port: 0 },
    { source: { get: () => undefined, catalogs: () => [] }, log, tls },
  );
  open.push(() => content.close(0));
  const agreed = (ALPNProtocols: string[]): Promise<string | false | null> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: content.address.port, ca: cert, servername: "localhost", ALPNProtocols }, () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      });
      socket.on("error", reject);
    });
  expect([await agreed(["h2", "http/1.1"]), await agreed(["http/1.1"])]).toEqual(["http/1.1", "http/1.1"]);
  await expect(agreed(["h2"])).rejects.toThrow("no application protocol");
});

test("the server fails to start when the certificate and the key do not match", async () => {
  using folder = new TempFolder();
  const [first, second] = await Promise.all([serverCertificate("localhost"), serverCertificate("localhost")]);
  const dir = folder.write("tls", { "tls.crt": first.cert, "tls.key": second.key });
  expect(() => new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log })).toThrow();
});

test("the server fails to start with settings that OpenSSL rejects", async () => {
  using folder = new TempFolder();
  const { cert, key } = await serverCertificate("localhost");
  const dir = folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const settings = { minVersion: "TLSv1.2", ciphers: "TLS_AES_128_GCM_SHA256", ecdhCurve: "no-such-curve" } as const;
  expect(() => new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), settings, log })).toThrow();
});
