import { X509Certificate } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../test/support/watchedKind.ts";
import type { KubeObject } from "../api/k8s.ts";
import { getServingSecretName, SERVING_TIMES } from "../certificates/servingCertificate.ts";
import { readStoredCertificates } from "../certificates/storedCertificates.ts";
import { KubeError } from "../kube/errors.ts";
import { createLogger } from "../telemetry/log.ts";
import type { IssuedCertificate, IssueTask } from "./certificateIssuer.ts";
import { issueCertificate } from "./issueWorker.ts";
import { SelfManagedCertificate } from "./selfManagedCertificate.ts";

const PLACE = getServingSecretName("catalogd", "ns");
const NAMES = ["c.ns.svc"];
const LABELS = { "olm.operatorframework.io/self-managed-certificate": "catalogd" };
const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

/** A Secret in a simulated API server, several replicas and a shared clock; a replica may have its own clock. */
class Replicas {
  readonly clock = new FakeClock();
  readonly secrets = new WatchedKind({ apiVersion: "v1", kind: "Secret" });
  readonly events: string[] = [];
  readonly logged: string[] = [];
  mayCreate = false;
  writes = 0;
  #making = 0;
  live: KubeObject | undefined;

  constructor(data?: Record<string, string>) {
    this.put({ name: PLACE.name, namespace: "ns", labels: LABELS }, data);
  }

  put(metadata: KubeObject["metadata"], data?: Record<string, string>): void {
    this.live = this.secrets.put({ metadata, ...(data ? { data } : {}) });
  }

  /** Simulates a change by another writer. */
  edit(data: Record<string, string>): void {
    this.put(this.live?.metadata ?? { name: PLACE.name }, { ...(this.live?.["data"] as Record<string, string> | undefined), ...data });
  }

  delete(): void {
    this.secrets.remove(PLACE.name);
    this.live = undefined;
  }

  get now(): number {
    return START + this.clock.now();
  }

  add({ leading, skewMs = 0 }: { leading: boolean; skewMs?: number }): SelfManagedCertificate {
    const client = {
      list: <T extends KubeObject>() => this.secrets.list<T>(),
      watch: this.secrets.watch.bind(this.secrets),
      get: async <T extends KubeObject>() => structuredClone(this.live) as T | undefined,
      create: <T extends KubeObject>(object: T) => this.#create(object),
      replace: <T extends KubeObject>(object: T) => this.#replace(object),
    };
    const replica = new SelfManagedCertificate({
      client,
      place: PLACE,
      dnsNames: NAMES,
      issuer: { issue: (task) => this.#issue(task) },
      times: SERVING_TIMES,
      leading: () => leading,
      recordEvent: (_secret, reason, message) => this.events.push(`${reason}: ${message}`),
      log: createLogger({ component: "test", level: "debug", destination: { write: (line) => this.logged.push(line) } }),
      clock: this.clock,
      now: () => this.now + skewMs,
    });
    const ended = new AbortController();
    stop.push(ended);
    void replica.run(ended.signal);
    return replica;
  }

  async later(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.rested();
  }

  /** Waits until all pending promises and new keys are processed. */
  async rested(): Promise<void> {
    do {
      await flushPromises();
      await new Promise((resolve) => setTimeout(resolve, 2));
      await flushPromises();
    } while (this.#making > 0);
  }

  get authorities(): readonly string[] {
    return this.live ? readStoredCertificates(this.live).authorities : [];
  }

  async #issue(task: IssueTask): Promise<IssuedCertificate> {
    this.#making++;
    try {
      return await issueCertificate(task);
    } finally {
      this.#making--;
    }
  }

  async #create<T extends KubeObject>(object: T): Promise<T> {
    if (!this.mayCreate) throw new KubeError("secrets is forbidden", { status: 403, reason: "Forbidden" });
    if (this.live) throw new KubeError("secrets already exists", { status: 409, reason: "AlreadyExists" });
    return this.#stored(object);
  }

  async #replace<T extends KubeObject>(object: T): Promise<T> {
    if (!this.live) throw new KubeError("secrets not found", { status: 404, reason: "NotFound" });
    if (object.metadata.resourceVersion !== this.live.metadata.resourceVersion)
      throw new KubeError("the object has been modified", { status: 409, reason: "Conflict" });
    return this.#stored(object);
  }

  #stored<T extends KubeObject>(object: T): T {
    this.writes++;
    this.live = this.secrets.put(object);
    return structuredClone<KubeObject>(this.live) as T;
  }
}

const served = (replica: SelfManagedCertificate): X509Certificate => new X509Certificate(replica.current.cert ?? "");
const trusts = (authorities: readonly string[], leaf: X509Certificate): boolean =>
  authorities.some((pem) => leaf.verify(new X509Certificate(pem).publicKey));
const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("when two replicas start at the same time without a leader, one issues the certificate and both serve it", async () => {
  const world = new Replicas();
  const [a, b] = [world.add({ leading: false }), world.add({ leading: false })];
  expect(() => a.check()).toThrow("no serving certificate from Secret catalogd-serving-cert: the Secret has not been read yet");
  expect(a.current.cert).toBeUndefined();
  await world.rested();
  await world.later(1_000);
  expect(served(a).fingerprint256).toBe(served(b).fingerprint256);
  expect(served(a).checkHost("c.ns.svc")).toBe("c.ns.svc");
  expect(trusts(world.authorities, served(a))).toBe(true);
  expect([world.writes, world.events]).toEqual([
    1,
    ["CertificateIssued: serving certificate in Secret ns/catalogd-serving-cert: issued, because the Secret is empty"],
  ]);
  a.check();
  b.check();
});

test("over a year, both replicas serve each renewed certificate only minutes after clients trust its CA", async () => {
  const world = new Replicas();
  const [a, b] = [world.add({ leading: true }), world.add({ leading: false })];
  await world.rested();
  await world.later(1_000);
  const seen = new Set<string>();
  let known = world.authorities;
  for (let day = 0; day < 365; day += 10) {
    for (const ms of [10 * DAY - HOUR, HOUR - 300_000, 240_000, 60_000]) {
      await world.later(ms);
      for (const replica of [a, b]) {
        expect(trusts(known, served(replica))).toBe(true);
        expect(served(replica).validToDate.getTime()).toBeGreaterThan(world.now);
        replica.check();
      }
      seen.add(served(b).fingerprint256);
      known = world.authorities;
    }
  }
  expect(seen.size).toBe(7);
  expect(world.authorities.length).toBeLessThanOrEqual(2);
  expect(new Set(world.events.map((text) => text.split(":")[0]))).toEqual(
    new Set(["CertificateIssued", "CertificatePrepared", "CertificateRenewed"]),
  );
}, 60_000);

test.for([
  ["a key of another certificate", async () => ({ "tls.key": base64((await other()).key) }), "the key does not match the certificate"],
  [
    "text in place of a certificate",
    async () => ({ "tls.crt": base64("-----BEGIN CERTIFICATE-----") }),
    "the certificate cannot be parsed",
  ],
  ["a certificate for another name", async () => otherPair(), "the certificate is not valid for c.ns.svc"],
  [
    "authorities of another certificate",
    async () => ({ "ca.crt": base64((await other()).authority) }),
    "the certificate was not signed by a stored authority",
  ],
] as const)("%s is replaced with the served certificate, which is still served", async ([, damage, because]) => {
  const world = new Replicas();
  const [a, b] = [world.add({ leading: true }), world.add({ leading: false })];
  await world.rested();
  await world.later(1_000);
  const [before, stored] = [served(a).fingerprint256, world.live?.["data"]];
  world.edit(await damage());
  await world.rested();
  await world.later(1_000);
  expect([served(a).fingerprint256, served(b).fingerprint256]).toEqual([before, before]);
  expect(world.live?.["data"]).toEqual(stored);
  expect(world.events.at(-1)).toContain(
    `CertificateRestored: serving certificate in Secret ns/catalogd-serving-cert: restored from the served certificate, because ${because}`,
  );
});

test("a Secret with another owner is reported once and not changed, and the certificate is still served", async () => {
  const world = new Replicas();
  const a = world.add({ leading: true });
  await world.rested();
  const before = served(a).fingerprint256;
  world.put({ name: PLACE.name, namespace: "ns" }, { "tls.crt": base64("x") });
  await world.rested();
  for (let i = 0; i < 5; i++) await world.later(31_000);
  expect([served(a).fingerprint256, world.live?.["data"], world.writes]).toEqual([before, { "tls.crt": base64("x") }, 1]);
  expect(world.events.filter((text) => text.startsWith("CertificateRefused"))).toEqual([
    expect.stringContaining("the Secret does not belong to this server, so it is not changed: the Secret has no label"),
  ]);
  world.put({ name: PLACE.name, namespace: "ns", labels: LABELS });
  await world.later(31_000);
  expect(trusts(world.authorities, served(a))).toBe(true);
});

test("a deleted Secret is created again if the server has permission, and otherwise the server waits until the Secret exists", async () => {
  const world = new Replicas();
  const a = world.add({ leading: true });
  await world.rested();
  const before = served(a).fingerprint256;
  world.delete();
  await world.later(31_000);
  expect(world.logged.join("\n")).toContain("the Secret does not exist, and this server may not create it. Apply the manifests again");
  expect([world.live, served(a).fingerprint256]).toEqual([undefined, before]);
  a.check();
  world.mayCreate = true;
  await world.later(31_000);
  expect([readStoredCertificates(world.live as KubeObject).serving.certificate, served(a).fingerprint256]).toEqual([
    a.current.cert?.toString(),
    before,
  ]);
});

test("a follower whose clock is years ahead writes nothing and serves the existing certificate", async () => {
  const world = new Replicas();
  const a = world.add({ leading: true });
  await world.rested();
  const b = world.add({ leading: false, skewMs: 1_000 * DAY });
  await world.rested();
  await world.later(60_000);
  expect([world.writes, served(b).fingerprint256]).toEqual([1, served(a).fingerprint256]);
  expect(() => b.check()).toThrow("the serving certificate of Secret catalogd-serving-cert has expired");
});

test("a certificate that expired while no replica was running is issued again by the leader", async () => {
  const { authority, certificate, key } = await issueCertificate({
    host: "c",
    dnsNames: NAMES,
    startsAt: START - 90 * DAY,
    endsAt: START - DAY,
  });
  const world = new Replicas({ "tls.crt": base64(certificate), "tls.key": base64(key), "ca.crt": base64(authority) });
  const follower = world.add({ leading: false });
  await world.rested();
  expect(() => follower.check()).toThrow("has expired");
  const leader = world.add({ leading: true });
  await world.rested();
  await world.later(1_000);
  leader.check();
  follower.check();
  expect(world.authorities).toHaveLength(1);
});

test("log lines and Events never contain a key", async () => {
  const world = new Replicas();
  const a = world.add({ leading: true });
  await world.rested();
  world.edit({ "tls.crt": base64("nonsense") });
  await world.later(100 * DAY);
  const key = (a.current.key?.toString() ?? "").split("\n")[1] ?? "none";
  expect(key.length).toBeGreaterThan(40);
  const reported = [...world.logged, ...world.events].join("\n");
  expect(reported).toContain("serving certificate");
  expect([reported.includes(key), reported.includes("PRIVATE")]).toEqual([false, false]);
});

async function other(name = "c.ns.svc") {
  return issueCertificate({ host: name, dnsNames: [name], startsAt: START - HOUR, endsAt: START + 90 * DAY });
}

async function otherPair(): Promise<Record<string, string>> {
  const { authority, certificate, key } = await other("b.ns.svc");
  return { "tls.crt": base64(certificate), "tls.key": base64(key), "ca.crt": base64(authority) };
}
