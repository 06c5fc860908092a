import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { RecordedEvents, refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { buildSelfSignedObjects } from "../../../test/support/selfSignedObjects.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { type CaTarget, getCaBundles } from "../../certificates/caBundle.ts";
import type { DesiredCertificate } from "../../certificates/desiredCertificates.ts";
import type { CertificateTimes } from "../../certificates/rotation.ts";
import { parseCertificates, readStoredCertificates } from "../../certificates/storedCertificates.ts";
import type { Client } from "../../kube/client.ts";
import { getObjectKey } from "../../release/identity.ts";
import { issueCertificate } from "../../serving/issueWorker.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { CertificateKeeper, ExtensionCertificates } from "./certificates.ts";

const HOUR = 3_600_000;
const TIMES: CertificateTimes = { validityMs: 100 * HOUR, renewBeforeMs: 24 * HOUR, settleMs: 60_000, skewMs: 0 };
const SECRET = { apiVersion: "v1", kind: "Secret", namespace: "ns", name: "s-cert" } as const;
const target = (name: string): CaTarget => ({
  ref: { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", name },
  webhooks: [name],
});
const API_SERVICE: CaTarget = {
  ref: { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", name: "v1.g.io" },
  webhooks: undefined,
};
const WANTED: DesiredCertificate = {
  secret: SECRET,
  host: "s.ns",
  dnsNames: ["s.ns", "s.ns.svc"],
  targets: [target("a"), target("b"), API_SERVICE],
};
const OWNER = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "x", uid: "u" };

const listWebhooks = (object: KubeObject | undefined): string[] =>
  ((object?.["webhooks"] ?? []) as { name: string }[]).map(({ name }) => name);

/** A Secret, two webhook configurations and an APIService. A write can fail. Records every certificate that a Pod ever got. */
class FakeObjects {
  readonly objects = new Map<string, KubeObject>();
  /** Serving certificates, PEM, in the order in which they were written. */
  readonly served: string[] = [];
  /** Writes that succeed before one fails. */
  failAfter = Number.POSITIVE_INFINITY;
  /** The answer to each apply of a Secret; undefined if it succeeds. */
  refuseSecret: (dryRun: boolean) => Error | undefined = () => undefined;
  #writes = 0;

  constructor() {
    for (const { ref, webhooks } of WANTED.targets) {
      const { apiVersion, kind, name } = ref;
      const entries = webhooks?.map((webhook) => ({ name: webhook, clientConfig: { service: {} } }));
      this.objects.set(getObjectKey(ref), { apiVersion, kind, metadata: { name, uid: name }, webhooks: entries });
    }
  }

  get<T extends KubeObject>(ref: ObjectRef): Promise<T | undefined> {
    return Promise.resolve(this.objects.get(getObjectKey(ref)) as T | undefined);
  }

  apply<T extends KubeObject>(object: T, { dryRun = false }: { dryRun?: boolean } = {}): Promise<T> {
    const refusal = object.kind === "Secret" ? this.refuseSecret(dryRun) : undefined;
    if (refusal) return Promise.reject(refusal);
    if (dryRun) return Promise.resolve(object);
    const missing = listWebhooks(object).filter((name) => !listWebhooks(this.objects.get(getObjectKey(object))).includes(name));
    if (missing.length > 0) return Promise.reject(new Error(`${missing.join()} has no admissionReviewVersions`));
    if (--this.failAfter < 0) {
      this.failAfter = Number.POSITIVE_INFINITY;
      return Promise.reject(new Error("connection reset"));
    }
    const key = getObjectKey(object);
    const metadata = { ...this.objects.get(key)?.metadata, ...object.metadata, resourceVersion: String(++this.#writes) };
    const after = { ...object, metadata };
    this.objects.set(key, after);
    if (object.kind === "Secret") this.served.push(readStoredCertificates(object).serving.certificate);
    return Promise.resolve(after);
  }

  get secret(): KubeObject | undefined {
    return this.objects.get(getObjectKey(SECRET));
  }

  /** Certificates that a Pod may serve now although a target does not trust them. */
  untrusted(now: number): string[] {
    const bundles = WANTED.targets.map((one) => getCaBundles(this.objects.get(getObjectKey(one.ref))!, one).flatMap(parseCertificates));
    return this.served.filter((pem) => {
      const leaf = new X509Certificate(pem);
      const isTrusted = (authority: string): boolean => leaf.verify(new X509Certificate(authority).publicKey);
      return leaf.validToDate.getTime() > now && !bundles.every((authorities) => authorities.some(isTrusted));
    });
  }
}

/** A CertificateKeeper for these objects, with a clock that the test sets. */
function newKeeper(
  objects: FakeObjects,
  {
    replaced = [],
    uid = "u",
    isAbandoned = false,
    webhooks = ["a"],
  }: { replaced?: string[]; uid?: string; isAbandoned?: boolean; webhooks?: string[] } = {},
) {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const events: string[] = [];
  const trustedSince = new Map<string, number>();
  const { log, signal } = stepContext();
  const keep = (): Promise<number> =>
    new CertificateKeeper({
      client: objects,
      issuer: { issue: issueCertificate },
      times: TIMES,
      now: () => clock.now,
      owner: { ...OWNER, uid },
      installNamespace: "ns",
      extensionExists: () => true,
      abandoned: { contains: () => Promise.resolve(isAbandoned) },
      replaced: new Set(replaced),
      trustedSince,
      record: (reason) => events.push(reason),
      signal,
      log,
    }).keep([{ ...WANTED, targets: WANTED.targets.map((one, i) => (i === 0 ? { ...one, webhooks } : one)) }]);
  return { clock, events, keep, trustedSince };
}

test("CertificateKeeper issues a certificate once, renews it in three reconciles, and removes the old CA after it has expired", async () => {
  const objects = new FakeObjects();
  const { clock, events, keep } = newKeeper(objects);
  expect(await keep()).toBe(clock.now + 76 * HOUR);
  expect(objects.secret).toMatchObject({ type: "kubernetes.io/tls", metadata: { ownerReferences: [{ uid: "u" }] } });
  const [first] = readStoredCertificates(objects.secret!).authorities;
  const looks = [76 * HOUR, 60_000, 24 * HOUR];
  const authorities: number[] = [];
  for (const pause of looks) {
    clock.now += pause;
    await keep();
    authorities.push(readStoredCertificates(objects.secret!).authorities.length);
    expect(objects.untrusted(clock.now)).toEqual([]);
  }
  expect(events).toEqual(["CertificateIssued", "CertificatePrepared", "CertificateRenewed"]);
  expect(authorities).toEqual([2, 2, 1]);
  expect(readStoredCertificates(objects.secret!)).not.toHaveProperty("next");
  expect(readStoredCertificates(objects.secret!).authorities).not.toContain(first);
});

test.for<[string, readonly string[], { served: number; events: string[]; next: string[] }]>([
  ["keeps a certificate of OLM v0 and its CA until it expires", WANTED.dnsNames, { served: 1, events: [], next: ["CertificatePrepared"] }],
  ["trusts the CA of OLM v0 when it replaces an unsuitable certificate", ["s.ns"], { served: 2, events: ["CertificateIssued"], next: [] }],
])("CertificateKeeper %s", async ([, dnsNames, want]) => {
  const objects = new FakeObjects();
  const { clock, events, keep } = newKeeper(objects);
  const task = { host: "s.ns", dnsNames, startsAt: clock.now, endsAt: clock.now + 50 * HOUR };
  const { authority, certificate, key } = await issueCertificate(task);
  const texts = { olmCAKey: authority, "tls.crt": certificate, "tls.key": key };
  const data = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
  const ownerReferences = [{ ...OWNER, controller: true }];
  await objects.apply({ ...SECRET, metadata: { namespace: "ns", name: SECRET.name, ownerReferences }, data });
  await keep();
  expect([objects.served.length, events]).toEqual([want.served, want.events]);
  expect(objects.untrusted(clock.now)).toEqual([]);
  clock.now += 49 * HOUR;
  await keep();
  expect(events).toEqual([...want.events, ...want.next]);
  expect(objects.untrusted(clock.now)).toEqual([]);
});

describe("after a failed write", () => {
  test.for([1, 2, 3, 4, 5, 6, 7])("CertificateKeeper keeps served certificates trusted when write %d fails", async (failAfter) => {
    const objects = new FakeObjects();
    const { clock, keep, trustedSince } = newKeeper(objects);
    await keep();
    objects.failAfter = failAfter - 1;
    let failed = 0;
    for (const pause of [76 * HOUR, 60_000, 60_000, 60_000, 24 * HOUR, 60_000]) {
      clock.now += pause;
      await keep().catch(() => {
        failed++;
        trustedSince.clear(); // as if the controller had been restarted
      });
      expect(objects.untrusted(clock.now)).toEqual([]);
    }
    expect(failed).toBe(1);
    expect(readStoredCertificates(objects.secret!)).not.toHaveProperty("next");
    expect(readStoredCertificates(objects.secret!).authorities.length).toBe(1);
    expect(new Set(objects.served).size).toBe(2);
  });
});

const quota = new Error("exceeded quota");
const unsupported = refusal(400, "BadRequest", 'admission webhook "w.example.com" does not support dry run');
test.for<[when: string, refuse: (dryRun: boolean) => Error | undefined, writes: boolean]>([
  ["a dry run rejects the Secret", () => quota, false],
  ["only the write of the Secret fails", (dryRun) => (dryRun ? undefined : quota), true],
  ["an admission webhook does not support dry runs", (dryRun) => (dryRun ? unsupported : quota), true],
])("CertificateKeeper keeps the CA of served certificates through 20 failed attempts when %s", async ([, refuse, writes]) => {
  const objects = new FakeObjects();
  const { clock, keep } = newKeeper(objects);
  await keep();
  const webhook = objects.objects.get(getObjectKey(WANTED.targets[0]!.ref));
  objects.objects.delete(getObjectKey(SECRET));
  objects.refuseSecret = refuse;
  for (let i = 0; i < 20; i++) {
    await expect(keep()).rejects.toThrow("exceeded quota");
    expect(objects.untrusted(clock.now)).toEqual([]);
  }
  expect(objects.objects.get(getObjectKey(WANTED.targets[0]!.ref)) !== webhook).toBe(writes);
  objects.refuseSecret = () => undefined;
  await keep();
  expect(objects.served).toHaveLength(2);
  expect(objects.untrusted(clock.now)).toEqual([]);
});

test("CertificateKeeper keeps the CAs of the last two certificates when the Secret is deleted 20 times", async () => {
  const objects = new FakeObjects();
  const { clock, keep } = newKeeper(objects);
  for (let i = 0; i < 20; i++) {
    await keep();
    objects.objects.delete(getObjectKey(SECRET));
  }
  const untrusted = objects.untrusted(clock.now);
  expect(objects.served.slice(-2).filter((pem) => untrusted.includes(pem))).toEqual([]);
});

test("CertificateKeeper recreates a deleted or damaged Secret, and keeps the CA of certificates that Pods still serve", async () => {
  const objects = new FakeObjects();
  const { clock, events, keep } = newKeeper(objects);
  await keep();
  objects.objects.delete(getObjectKey(SECRET));
  clock.now += HOUR;
  await keep();
  expect(objects.untrusted(clock.now)).toEqual([]);
  const { data } = objects.secret as unknown as { data: Record<string, string> };
  objects.objects.set(getObjectKey(SECRET), { ...objects.secret!, data: { ...data, "tls.key": "" } });
  await keep();
  expect(objects.untrusted(clock.now)).toEqual([]);
  expect(readStoredCertificates(objects.secret!).authorities.length).toBe(3);
  expect(events).toEqual(["CertificateIssued", "CertificateIssued", "CertificateIssued"]);
});

test("CertificateKeeper injects the CA into the other webhooks when a webhook was removed, and into all after it was restored", async () => {
  const objects = new FakeObjects();
  const key = getObjectKey(WANTED.targets[0]!.ref);
  const complete = objects.objects.get(key)!;
  const entry = (name: string) => ({ name, clientConfig: { service: {} } });
  const keep = newKeeper(objects, { webhooks: ["a", "second"] }).keep;
  const bundles = (webhooks: string[]): string[] => getCaBundles(objects.objects.get(key)!, { ...WANTED.targets[0]!, webhooks });
  const isInjected = (webhooks: string[]): boolean[] => bundles(webhooks).map((text) => text !== "");
  await keep();
  expect(isInjected(["a"])).toEqual([true]);
  objects.objects.set(key, { ...complete, webhooks: [] });
  await keep();
  expect(listWebhooks(objects.objects.get(key))).toEqual([]);
  objects.objects.set(key, { ...complete, webhooks: [entry("a"), entry("second")] });
  await keep();
  expect(isInjected(["a", "second"])).toEqual([true, true]);
});

test("CertificateKeeper fails when the Secret has another owner, and takes over a Secret of the previous certificate provider", async () => {
  const objects = new FakeObjects();
  const foreign: KubeObject = { ...SECRET, metadata: { name: SECRET.name, namespace: "ns" }, type: "kubernetes.io/tls", data: {} };
  objects.objects.set(getObjectKey(SECRET), foreign);
  await expect(newKeeper(objects).keep()).rejects.toThrow(
    "cannot provide the serving certificate in Secret ns/s-cert: Secret 's-cert' already exists in namespace 'ns' and cannot be managed by operator-controller",
  );
  expect(objects.secret).toBe(foreign);
  await newKeeper(objects, { replaced: [getObjectKey(SECRET)] }).keep();
  expect(objects.secret).toMatchObject({ metadata: { ownerReferences: [{ uid: "u" }] } });
});

test("CertificateKeeper adopts a Secret that OLM v0 left, and keeps the CA that the Pods and the webhooks still use", async () => {
  const objects = new FakeObjects();
  const before = newKeeper(objects);
  await before.keep();
  // OLM v0 writes only these keys, and sets labels in place of an owner.
  const { data } = objects.secret as unknown as { data: Record<string, string> };
  const metadata = { name: SECRET.name, namespace: SECRET.namespace, uid: "1", labels: { "olm.managed": "true" } };
  const { "tls.crt": certificate, "tls.key": key } = data;
  const left: KubeObject = {
    ...SECRET,
    metadata,
    type: "kubernetes.io/tls",
    data: { "tls.crt": certificate, "tls.key": key, olmCAKey: "" },
  };
  objects.objects.set(getObjectKey(SECRET), left);
  await expect(newKeeper(objects).keep()).rejects.toThrow("cannot be managed by operator-controller");
  expect(objects.secret).toBe(left);
  await newKeeper(objects, { isAbandoned: true }).keep();
  expect(objects.secret).toMatchObject({ metadata: { uid: "1", ownerReferences: [{ uid: "u", controller: true }] } });
  expect(objects.untrusted(before.clock.now)).toEqual([]);
  expect(new Set(objects.served).size).toBe(2);
});

test.for<[kind: string, labels: Record<string, string>, options: { replaced?: string[]; isAbandoned?: boolean }]>([
  ["of a deleted extension", { "olm.operatorframework.io/owner-kind": CLUSTER_EXTENSION, "olm.operatorframework.io/owner-name": "x" }, {}],
  ["of OLM v0", { "olm.managed": "true" }, { isAbandoned: true }],
  ["of the previous certificate provider", {}, { replaced: [getObjectKey(SECRET)] }],
])(
  "CertificateKeeper marks a valid Secret as its own, and keeps the certificate, when it adopts a Secret %s",
  async ([, labels, options]) => {
    const objects = new FakeObjects();
    await newKeeper(objects).keep();
    const { ownerReferences: _, ...metadata } = objects.secret!.metadata;
    objects.objects.set(getObjectKey(SECRET), { ...objects.secret!, metadata: { ...metadata, labels } });
    const { events, keep } = newKeeper(objects, { uid: "v", ...options });
    await keep();
    expect(objects.secret?.metadata).toMatchObject({
      labels: { "olm.operatorframework.io/owner-name": "x" },
      ownerReferences: [{ uid: "v", controller: true }],
    });
    await keep();
    expect([events, objects.served.length, new Set(objects.served).size]).toEqual([[], 2, 1]);
  },
);

test("CertificateKeeper leaves a valid Secret of the previous certificate provider when another object controls it", async () => {
  const objects = new FakeObjects();
  await newKeeper(objects).keep();
  const ownerReferences = [{ apiVersion: "cert-manager.io/v1", kind: "Certificate", name: "c", uid: "c", controller: true }];
  const controlled = { ...objects.secret!, metadata: { ...objects.secret!.metadata, ownerReferences } };
  objects.objects.set(getObjectKey(SECRET), controlled);
  await newKeeper(objects, { replaced: [getObjectKey(SECRET)] }).keep();
  expect(objects.secret).toBe(controlled);
});

test("ExtensionCertificates checks certificates again when the last check failed", async () => {
  let reads = 0;
  let failure: Error | undefined;
  const client = {
    get: (): Promise<undefined> => {
      reads++;
      return failure ? Promise.reject(failure) : Promise.resolve(undefined);
    },
    apply: (object: KubeObject) => Promise.resolve(object),
  } as unknown as Client;
  const extension = createExtension("x", { packageName: "p" });
  const phase = buildAuthenticated(extension, { client, changes: {} });
  const certificates = { issuer: { issue: issueCertificate }, times: TIMES, enqueueAfter: () => undefined };
  const services = {
    memory: new ExtensionCache(),
    events: new RecordedEvents(),
    now: () => Date.UTC(2026, 0, 1),
    driftIntervalMs: 300_000,
  };
  const deps = { ...services, certificates, extensionExists: () => true, discovery: client };
  const release = releaseRecord(1, "deployed", { objects: buildSelfSignedObjects("s", "x-system") });
  const maintain = async (began: boolean): Promise<number> => {
    reads = 0;
    phase.changes.began = began;
    await new ExtensionCertificates(deps, phase, stepContext()).maintain(release);
    return reads;
  };
  expect(await maintain(false)).toBeGreaterThan(0);
  expect(await maintain(false)).toBe(0);
  failure = new Error("connection reset");
  await expect(maintain(true)).rejects.toThrow("connection reset");
  failure = undefined;
  expect(await maintain(false)).toBeGreaterThan(0);
  expect(await maintain(false)).toBe(0);
});
