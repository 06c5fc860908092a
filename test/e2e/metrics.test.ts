import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { serverCertificate } from "../support/serverCertificate.ts";
import { probeTls } from "../support/tlsProbe.ts";
import { World } from "../support/world.ts";

const SERVERS = ["operator-controller", "catalogd"] as const;
const AES_128 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
/** OpenSSL names of the same cipher and of another one. */
const OPENSSL_AES_128 = "ECDHE-ECDSA-AES128-GCM-SHA256";
const OPENSSL_AES_256 = "ECDHE-ECDSA-AES256-GCM-SHA384";

describeWithPrivateCluster("metrics over HTTPS", (cluster) => {
  const flags = { catalogd: new Array<string>(), "operator-controller": new Array<string>() };
  const ports = { catalogd: 0, "operator-controller": 0 };
  let world: World;
  let namespace: string;
  let tokens: ServiceAccountTokens;
  let certFile: string;
  let keyFile: string;

  beforeAll(async () => {
    namespace = await cluster.namespace("metrics");
    tokens = new ServiceAccountTokens(cluster.client);
    world = await World.start(cluster, { extraArgs: flags });
    [certFile, keyFile] = [join(world.workDir, "tls.crt"), join(world.workDir, "tls.key")];
    await renewCertificate();
    [ports.catalogd = 0, ports["operator-controller"] = 0] = await findFreePorts(2);
    for (const server of SERVERS) await restartWith(server, []);
  });

  afterAll(async () => {
    await world?.stop();
    expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
  });

  async function renewCertificate(): Promise<string> {
    const { cert, key } = await serverCertificate("localhost");
    await Promise.all([writeFile(keyFile, key), writeFile(certFile, cert)]);
    return cert;
  }

  /** Restarts a server with the certificate and these flags. */
  async function restartWith(server: (typeof SERVERS)[number], more: readonly string[]): Promise<void> {
    const always = ["--tls-cert", certFile, "--tls-key", keyFile, "--metrics-bind-address", `127.0.0.1:${ports[server]}`];
    flags[server].splice(0, flags[server].length, ...always, ...more);
    await world.installation.restart(server);
  }

  async function requestMetrics(server: (typeof SERVERS)[number], authorization?: string, path = "/metrics"): Promise<[number, string]> {
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    try {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await request(`https://127.0.0.1:${ports[server]}${path}`, { dispatcher, headers });
      return [response.statusCode, await response.body.text()];
    } finally {
      await dispatcher.close();
    }
  }

  /** Creates a ServiceAccount. @returns its token. */
  async function account(name: string): Promise<string> {
    await cluster.client.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
    return tokens.tokenFor(namespace, name)();
  }

  // Source: I-29 (52).
  test.for(SERVERS)("%s serves metrics only to ServiceAccounts with its ClusterRole", async (server) => {
    const [reader, stranger] = [await account(`${server}-reader`), await account(`${server}-stranger`)];
    await cluster.client.create({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `${namespace}-${server}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `${server}-metrics-reader` },
      subjects: [{ kind: "ServiceAccount", name: `${server}-reader`, namespace }],
    });
    const text = await eventually(async () => {
      const [status, body] = await requestMetrics(server, `Bearer ${reader}`);
      expect(status, body).toBe(200);
      return body;
    });
    expect(text).toMatch(/^rest_client_requests_total\{/m);
    expect(await requestMetrics(server, `Bearer ${stranger}`)).toEqual([
      403,
      `Authorization denied for user system:serviceaccount:${namespace}:${server}-stranger\n`,
    ]);
    expect(await requestMetrics(server, "Bearer made-up")).toEqual([401, "Unauthorized\n"]);
    expect(await requestMetrics(server)).toEqual([401, "Unauthorized\n"]);
  });

  // Source: D-07.
  test("operator-controller serves resolution records only to ServiceAccounts with the ClusterRole for resolution records", async () => {
    const [reader, path] = [`Bearer ${await account("resolution-reader")}`, "/debug/resolution/nobody"];
    expect((await requestMetrics("operator-controller", reader, path))[0]).toBe(403);
    await cluster.client.create({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `${namespace}-resolution` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "operator-controller-resolution-reader" },
      subjects: [{ kind: "ServiceAccount", name: "resolution-reader", namespace }],
    });
    const missing = [404, 'ClusterExtension "nobody" does not exist or has no spec.source.catalog\n'];
    await eventually(async () => expect(await requestMetrics("operator-controller", reader, path)).toEqual(missing), { timeoutMs: 60_000 });
    expect((await requestMetrics("operator-controller", reader))[0]).toBe(403);
  });

  test.for(SERVERS)("%s does not serve metrics over plain HTTP", async (server) => {
    const log = await readFile(join(world.workDir, `${server}.log`), "utf8");
    const probes = log
      .split("\n")
      .filter((line) => line.includes('"starting"'))
      .map((line) => (JSON.parse(line) as { probes: string }).probes);
    expect((await fetch(`${probes.at(-1)}/readyz`)).status).toBe(200);
    expect((await fetch(`${probes.at(-1)}/metrics`)).status).toBe(404);
  });

  test("operator-controller serves a renewed certificate without a restart", async () => {
    const { pid } = world.installation.servers["operator-controller"];
    const readCertificate = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect({ host: "127.0.0.1", port: ports["operator-controller"], rejectUnauthorized: false }, () => {
          resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
          socket.destroy();
        }).once("error", reject);
      });
    const before = await readCertificate();
    const renewed = new X509Certificate(await renewCertificate()).fingerprint256;
    expect(before).not.toBe(renewed);
    await eventually(async () => expect(await readCertificate()).toBe(renewed));
    expect(world.installation.servers["operator-controller"]).toMatchObject({ pid, ended: undefined });
  });

  describe("catalogd's TLS profile", () => {
    const custom = (...more: string[]): Promise<void> => restartWith("catalogd", ["--tls-profile", "custom", ...more]);
    const port = (): number => ports.catalogd;

    // Source: I-29 (55).
    test("catalogd rejects TLS 1.2 for metrics and content when its minimum version is TLS 1.3", async () => {
      await custom("--tls-custom-version", "TLSv1.3");
      for (const each of [port(), Number(new URL(world.installation.catalogs).port)]) {
        expect(await probeTls(each, { version: "TLSv1.3" })).toMatchObject({ version: "TLSv1.3" });
        expect(await probeTls(each, { version: "TLSv1.2" })).toBeUndefined();
      }
    });

    describe("with one cipher suite and the curve prime256v1", () => {
      beforeAll(() => custom("--tls-custom-version", "TLSv1.2", "--tls-custom-ciphers", AES_128, "--tls-custom-curves", "prime256v1"));

      // Source: I-29 (56).
      test("catalogd accepts only the cipher suite in its flags over TLS 1.2", async () => {
        expect(await probeTls(port(), { version: "TLSv1.2" })).toEqual({ version: "TLSv1.2", cipher: AES_128 });
        expect(await probeTls(port(), { version: "TLSv1.2", ciphers: OPENSSL_AES_256 })).toBeUndefined();
      });

      // Source: I-29 (57).
      test("catalogd accepts only the curve in its flags", async () => {
        const offer = { version: "TLSv1.2", ciphers: OPENSSL_AES_128 } as const;
        expect(await probeTls(port(), { ...offer, curve: "prime256v1" })).toEqual({ version: "TLSv1.2", cipher: AES_128 });
        expect(await probeTls(port(), { ...offer, curve: "secp521r1" })).toBeUndefined();
      });
    });

    // Source: I-29 (58).
    test("catalogd accepts curve secp256r1 as a name of prime256v1", async () => {
      await custom("--tls-custom-ciphers", AES_128, "--tls-custom-curves", "secp256r1");
      expect(await probeTls(port(), { version: "TLSv1.2", curve: "prime256v1" })).toMatchObject({ cipher: AES_128 });
      expect(await probeTls(port(), { version: "TLSv1.3", curve: "X25519" })).toBeUndefined();
    });

    // Source: I-29 (59).
    test.for(["X25519MLKEM768", "SecP256r1MLKEM768"])(
      "catalogd with the post-quantum hybrid curve %s accepts the hybrid, and rejects the classical curve alone",
      async (curve) => {
        await custom("--tls-custom-version", "TLSv1.3", "--tls-custom-curves", curve);
        expect(await probeTls(port(), { version: "TLSv1.3", curve })).toMatchObject({ version: "TLSv1.3" });
        expect(await probeTls(port(), { version: "TLSv1.3", curve: curve.startsWith("X25519") ? "X25519" : "prime256v1" })).toBeUndefined();
      },
    );

    test("catalogd accepts TLS 1.0 only with TLS profile old", async () => {
      const offer = { version: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
      await restartWith("catalogd", ["--tls-profile", "old"]);
      expect(await probeTls(port(), offer)).toMatchObject({ version: "TLSv1" });
      await restartWith("catalogd", []);
      expect(await probeTls(port(), offer)).toBeUndefined();
    });
  });
});
