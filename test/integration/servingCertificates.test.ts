import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { listCertificateHostNames } from "../../pkg/certificates/servingCertificate.ts";
import { readStoredCertificates } from "../../pkg/certificates/storedCertificates.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { SecretAuthorities } from "../../pkg/operatorcontroller/catalogs/certificateAuthorities.ts";
import { issueCertificate } from "../../pkg/serving/issueWorker.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { applyServingSecrets } from "../support/manifests.ts";
import { OpenShift } from "../support/openShift.ts";
import { type Replica, Replicas, readyz } from "../support/replicas.ts";
import { probeTls } from "../support/tlsProbe.ts";

const TLS_PROFILE = join(import.meta.dirname, "../../config/openshift/tls-profile.yaml");
const HOST = `catalogd-service.${SYSTEM_NAMESPACE}.svc`;
const SECRET = { apiVersion: "v1", kind: "Secret", namespace: SYSTEM_NAMESPACE, name: "catalogd-serving-cert" } as const;
const FLAGS = ["--serving-certificates=self-managed", `--external-address=${HOST}`];
const HOUR = 3_600_000;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describeWithPrivateCluster("generated serving certificates", (cluster) => {
  let replicas: Replicas;
  let first: Replica;
  let second: Replica;

  beforeAll(async () => {
    replicas = await Replicas.start(cluster, "catalogd");
    const [one = 0, two = 0] = await findFreePorts(2);
    first = await replicas.add("first", [...FLAGS, `--metrics-bind-address=127.0.0.1:${one}`]);
    second = await replicas.add("second", [...FLAGS, `--metrics-bind-address=127.0.0.1:${two}`]);
  });
  afterAll(() => replicas?.stop());

  const secret = async (): Promise<KubeObject> => {
    const live = await cluster.client.get(SECRET);
    if (!live) throw new Error("there is no Secret");
    return live;
  };
  const write = (data: Record<string, string | null>): Promise<KubeObject> => cluster.client.patch(SECRET, { data }, { type: "merge" });

  /** Returns the certificate that a replica presents for its name. */
  function readPresented({ content }: Replica): Promise<X509Certificate> {
    const { port } = new URL(content);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: Number(port), servername: HOST, rejectUnauthorized: false }, () => {
        const certificate = socket.getPeerX509Certificate();
        if (certificate) resolve(certificate);
        else reject(new Error("no certificate"));
        socket.destroy();
      }).once("error", reject);
    });
  }
  const events = async (reason: string): Promise<string[]> => {
    const { items } = await cluster.client.list<KubeObject & { reason?: string; message?: string }>(
      { apiVersion: "v1", kind: "Event" },
      { namespace: SYSTEM_NAMESPACE },
    );
    return items.filter((event) => event.reason === reason).map(({ message = "" }) => message);
  };
  const leader = async (): Promise<Replica> =>
    eventually(async () => {
      for (const replica of [first, second]) if ((await readyz(replica)).text.includes("this process leads")) return replica;
      throw new Error("nobody leads");
    });

  test("servers start without the certificate Secret, but are not ready and log the next step", async () => {
    await eventually(async () => {
      const { status, text } = await readyz(first);
      expect([status, text]).toEqual([500, expect.stringContaining("[-]serving-certificate failed")]);
    });
    await eventually(async () =>
      expect(await readFile(first.logFile, "utf8")).toContain(
        "the Secret does not exist, and this server may not create it. Apply the manifests again",
      ),
    );
  });

  test("one replica writes a certificate to the empty Secret of the manifests, and both replicas serve the certificate", async () => {
    await applyServingSecrets(cluster.client);
    await replicas.ready(first);
    await replicas.ready(second);
    const stored = readStoredCertificates(await secret());
    const [a, b] = [await readPresented(first), await readPresented(second)];
    expect([a.fingerprint256, a.checkHost(HOST)]).toEqual([b.fingerprint256, HOST]);
    expect(a.verify(new X509Certificate(stored.authorities[0] ?? "").publicKey)).toBe(true);
    await eventually(async () => expect(await events("CertificateIssued")).toHaveLength(1));
    // Applying them again, as every upgrade does, removes nothing.
    await applyServingSecrets(cluster.client);
    expect(readStoredCertificates(await secret())).toEqual(stored);
  });

  test("clients that trust the CAs in the Secret have no failed requests when certificates rotate under load without a restart", async () => {
    await serveCatalog();
    const log = createLogger({ component: "test", level: "silent" });
    const authorities = new SecretAuthorities({ client: cluster.client, namespace: SYSTEM_NAMESPACE, name: SECRET.name, log });
    const stop = new AbortController();
    const following = authorities.run(stop.signal);
    const load = new Load([first, second], authorities);
    const before = (await readPresented(first)).fingerprint256;
    // As the leader wrote it 15 minutes ago: the next certificate is already trusted.
    const now = Date.now();
    const next = await issueCertificate({
      host: HOST,
      dnsNames: listCertificateHostNames(HOST),
      startsAt: now - HOUR / 2,
      endsAt: now + 2_000 * HOUR,
    });
    const { authorities: known } = readStoredCertificates(await secret());
    await load.passed(40);
    await write({ "ca.crt": base64([...known, next.authority].join("\n")) });
    await eventually(async () => expect((await authorities.current()).certificates.join("\n")).toContain(next.authority.trim()));
    await write({ "next.crt": base64(next.certificate), "next.key": base64(next.key) });
    const renewed = new X509Certificate(next.certificate).fingerprint256;
    for (const replica of [first, second])
      await eventually(async () => expect((await readPresented(replica)).fingerprint256).toBe(renewed));
    await load.passed(40);
    expect(await load.stop()).toEqual([]);
    stop.abort();
    await following;
    expect(renewed).not.toBe(before);
    expect(readStoredCertificates(await secret())).toMatchObject({ authorities: [expect.anything(), next.authority.trim()] });
    await eventually(async () => expect(await events("CertificateRenewed")).toHaveLength(1));
    expect([first.process.ended, second.process.ended]).toEqual([undefined, undefined]);
  });

  test.for([
    ["emptied", { "tls.crt": null, "tls.key": null, "ca.crt": null }],
    ["given another key", { "tls.key": base64("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") }],
    ["given a megabyte of nothing", { "tls.crt": base64("x".repeat(500_000)) }],
  ] as const)("a Secret that is %s is restored from the served certificate", async ([, damage]) => {
    const [before, served] = [readStoredCertificates(await secret()), (await readPresented(first)).fingerprint256];
    await leader();
    const eventCount = (await events("CertificateRestored")).length;
    await write(damage);
    await eventually(async () => expect(readStoredCertificates(await secret())).toEqual(before));
    expect([(await readPresented(first)).fingerprint256, (await readPresented(second)).fingerprint256]).toEqual([served, served]);
    await eventually(async () => expect((await events("CertificateRestored")).length).toBeGreaterThan(eventCount));
  });

  test("a Secret of another owner is not written, an Event reports this, and the earlier certificate is still served", async () => {
    const served = (await readPresented(first)).fingerprint256;
    await cluster.client.patch(SECRET, { metadata: { labels: null }, data: { "tls.crt": base64("theirs") } }, { type: "merge" });
    await eventually(async () =>
      expect((await events("CertificateRefused")).join()).toContain(
        "the Secret does not belong to this server, so it is not changed: the Secret has no label",
      ),
    );
    expect((await secret())["data"]).toMatchObject({ "tls.crt": base64("theirs") });
    expect((await readPresented(second)).fingerprint256).toBe(served);
    expect((await readyz(first)).status).toBe(200);
    await cluster.client.delete(SECRET);
    await applyServingSecrets(cluster.client);
    await eventually(
      async () => expect(new X509Certificate(readStoredCertificates(await secret()).serving.certificate).fingerprint256).toBe(served),
      {
        timeoutMs: 60_000,
      },
    );
  });

  test("--tls-profile=cluster applies the current profile of the cluster to the connections for catalogs and metrics", async () => {
    const openShift = new OpenShift(cluster.client);
    await openShift.install(["apiservers"]);
    await openShift.setTlsProfile({ type: "Modern" });
    for (const object of parseYamlDocuments(readFileSync(TLS_PROFILE, "utf8")) as KubeObject[])
      await cluster.client.apply(object, { fieldManager: "test", force: true });
    const [port = 0] = await findFreePorts(1);
    const replica = await replicas.add("openshift", [...FLAGS, `--metrics-bind-address=127.0.0.1:${port}`, "--tls-profile=cluster"]);
    await replicas.ready(replica);
    const ports = [port, Number(new URL(replica.content).port)];
    const refuses = async (version: "TLSv1" | "TLSv1.2"): Promise<boolean[]> =>
      Promise.all(ports.map(async (each) => (await probeTls(each, { version, ciphers: "DEFAULT@SECLEVEL=0" })) === undefined));
    expect(await refuses("TLSv1.2")).toEqual([true, true]);
    expect(await probeTls(port, { version: "TLSv1.3" })).toMatchObject({ version: "TLSv1.3" });
    await openShift.setTlsProfile({ type: "Old" });
    await eventually(async () => expect(await refuses("TLSv1")).toEqual([false, false]));
    await openShift.setTlsProfile({
      type: "Custom",
      custom: { ciphers: ["ECDHE-ECDSA-AES128-GCM-SHA256"], minTLSVersion: "VersionTLS12" },
    });
    await eventually(async () => expect(await refuses("TLSv1")).toEqual([true, true]));
    expect(await probeTls(port, { version: "TLSv1.2" })).toMatchObject({ cipher: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" });
    expect(await probeTls(port, { version: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES256-GCM-SHA384" })).toBeUndefined();
    expect(replica.process.ended).toBeUndefined();
    await replica.process.stop();
  });

  test("servers renew at once a certificate that expired while no server was running, or that expires within a month", async () => {
    await first.process.stop();
    await second.process.stop();
    const now = Date.now();
    const task = { host: HOST, dnsNames: listCertificateHostNames(HOST) };
    const ended = await issueCertificate({ ...task, startsAt: now - 100 * HOUR, endsAt: now - HOUR });
    const pair = ({ certificate, key, authority }: typeof ended): Record<string, string> => ({
      "tls.crt": base64(certificate),
      "tls.key": base64(key),
      "ca.crt": base64(authority),
    });
    await write(pair(ended));
    const third = await replicas.add("third", [...FLAGS, "--metrics-bind-address=0"]);
    await replicas.ready(third);
    expect((await readPresented(third)).validToDate.getTime()).toBeGreaterThan(now + 2_000 * HOUR);
    const ending = await issueCertificate({ ...task, startsAt: now - HOUR, endsAt: now + 700 * HOUR });
    await write(pair(ending));
    await eventually(async () => expect(readStoredCertificates(await secret()).authorities).toHaveLength(2));
    const { next, serving } = readStoredCertificates(await secret());
    expect(new X509Certificate(next?.certificate ?? "").validToDate.getTime()).toBeGreaterThan(now + 2_000 * HOUR);
    expect((await readPresented(third)).fingerprint256).toBe(new X509Certificate(serving.certificate).fingerprint256);
    const log = await readFile(third.logFile, "utf8");
    expect(log).toContain("serving certificate changed");
    expect(log).not.toContain("PRIVATE");
  });

  async function serveCatalog(): Promise<void> {
    const text =
      '{"schema":"olm.package","name":"foo","defaultChannel":"a"}\n{"schema":"olm.channel","package":"foo","name":"a","entries":[{"name":"foo.v1"}]}\n';
    const bundle =
      '{"schema":"olm.bundle","package":"foo","name":"foo.v1","image":"quay.io/foo/bundle:v1","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}\n';
    const files = new Map([["configs/catalog.json", Buffer.from(text + bundle)]]);
    await pushImage(cluster.registry, "test/certs", "latest", {
      files,
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    const source = { type: "Image", image: { ref: "quay.io/test/certs:latest" } };
    await cluster.client.create({ apiVersion: API_VERSION, kind: "ClusterCatalog", metadata: { name: "certs" }, spec: { source } });
    await eventually(async () => {
      const live = await cluster.client.get({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: "certs" });
      expect(live?.["status"]).toMatchObject({ urls: { base: `https://${HOST}/catalogs/certs` } });
    });
    // A new catalog does not make replicas unready.
    for (const { content } of [first, second]) {
      const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
      const url = `${content.replace("http:", "https:")}/catalogs/certs/api/v1/all`;
      await eventually(async () => expect(await (await request(url, { dispatcher })).body.text()).toContain("foo.v1"));
      await dispatcher.close();
    }
  }
});

/** Reads a catalog from replicas in turn, each time over a new connection, with the current authorities. */
class Load {
  readonly #failures: string[] = [];
  readonly #running: Promise<void>;
  #done = 0;
  #stopped = false;

  constructor(servers: readonly Replica[], authorities: SecretAuthorities) {
    this.#running = this.#run(servers, authorities);
  }

  /** Waits for a number of further responses. */
  async passed(count: number): Promise<void> {
    const until = this.#done + count;
    await eventually(async () => expect(this.#done).toBeGreaterThanOrEqual(until));
  }

  /** @returns the failures. */
  async stop(): Promise<string[]> {
    this.#stopped = true;
    await this.#running;
    return this.#failures;
  }

  async #run(servers: readonly Replica[], authorities: SecretAuthorities): Promise<void> {
    while (!this.#stopped) {
      for (const { content } of servers) {
        const { certificates } = await authorities.current();
        const dispatcher = new Agent({ connect: { ca: [...certificates], servername: HOST } });
        try {
          const answer = await request(`${content.replace("http:", "https:")}/catalogs/certs/api/v1/all`, { dispatcher });
          const text = await answer.body.text();
          if (answer.statusCode !== 200 || !text.includes("foo.v1")) this.#failures.push(`${answer.statusCode} ${text}`);
        } catch (err) {
          this.#failures.push(String(err));
        } finally {
          await dispatcher.close();
        }
        this.#done++;
      }
    }
  }
}
