import { beforeEach, expect, test } from "vitest";
import { MemoryReleases, RecordedEvents, refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildUnpacked } from "../../../test/support/phases.ts";
import { configMap } from "../../../test/support/releases.ts";
import { buildSelfSignedObjects } from "../../../test/support/selfSignedObjects.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_INJECT_CA_FROM_SECRET, API_VERSION, CERTIFICATES_FIELD_MANAGER, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { type GroupVersionKind, getGroup, type KubeObject, type ObjectRef } from "../../api/k8s.ts";
import { CERTIFICATE_TIMES } from "../../certificates/rotation.ts";
import type { Client } from "../../kube/client.ts";
import { getObjectKey } from "../../release/identity.ts";
import { withOwner } from "../../release/labels.ts";
import { hasApplied } from "../../release/managedFields.ts";
import { issueCertificate } from "../../serving/issueWorker.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { ApplyServices } from "./applyContext.ts";
import { HandoverPending, Handovers, ObjectLocks } from "./handovers.ts";
import { ObjectReconciler } from "./objectReconciler.ts";

const extension = (name: string): ClusterExtension => {
  const made = createExtension(name, { packageName: name });
  return { ...made, metadata: { ...made.metadata, uid: name } };
};
const ownedBy = (name: string, object: KubeObject): KubeObject =>
  withOwner(object, { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid: name });
const definition = (plural: string): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural, kind: plural, singular: plural, listKind: `${plural}List` },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
});

const appliedBy = (manager: string) => ({ manager, operation: "Apply", fieldsV1: {} });
const conversion = { strategy: "Webhook", webhook: { clientConfig: { service: { name: "a-service", namespace: "a-system" } } } };
const converted = (plural: string): KubeObject => {
  const object = definition(plural);
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { [ANNOTATION_INJECT_CA_FROM_SECRET]: "a-system/a-service-cert" } },
    spec: { ...(object["spec"] as object), conversion },
  };
};
const getConversion = (crd: KubeObject | undefined): ConvertedSpec["conversion"] =>
  (crd?.["spec"] as ConvertedSpec | undefined)?.conversion;

interface ConvertedSpec {
  conversion?: { webhook?: { clientConfig?: { caBundle?: string } } };
}

/** A cluster that accepts all objects, except a CustomResourceDefinition without a conversion webhook while the controller still applies its CA. */
class FakeCluster {
  readonly live = new Map<string, KubeObject>();

  get(ref: ObjectRef): Promise<KubeObject | undefined> {
    return Promise.resolve(this.live.get(getObjectKey(ref)));
  }

  apply(object: KubeObject, { dryRun = false, fieldManager = "" }: { dryRun?: boolean; fieldManager?: string }): Promise<KubeObject> {
    const key = getObjectKey(object);
    const before = this.live.get(key);
    const isInjection = fieldManager === CERTIFICATES_FIELD_MANAGER && before !== undefined;
    const { managedFields = [] } = before?.metadata ?? {};
    const others = managedFields.filter(({ manager }) => manager !== fieldManager);
    if (!isInjection && hasApplied({ managedFields: others }, CERTIFICATES_FIELD_MANAGER) && !getConversion(object))
      return Promise.reject(refusal(422, "Invalid", "spec.conversion.webhookClientConfig: Forbidden"));
    const entries = isInjection && !getConversion(object) ? others : [...others, appliedBy(fieldManager)];
    const content = isInjection ? withInjection(before, object) : object;
    const after = { ...content, metadata: { ...content.metadata, managedFields: entries } };
    if (!dryRun) this.live.set(key, after);
    return Promise.resolve(after);
  }

  patch(ref: ObjectRef, { metadata }: { metadata: object }, { dryRun = false }: { dryRun?: boolean }): Promise<KubeObject> {
    const before = this.live.get(getObjectKey(ref)) as KubeObject;
    const after = { ...before, metadata: { ...before.metadata, ...metadata } };
    if (!dryRun) this.live.set(getObjectKey(ref), after);
    return Promise.resolve(after);
  }

  list(): Promise<{ items: KubeObject[] }> {
    return Promise.resolve({ items: [] });
  }

  raw(): Promise<unknown> {
    return Promise.resolve({ status: { resourceRules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] } });
  }

  resourceFor({ kind, apiVersion }: GroupVersionKind): Promise<{ group: string; resource: string; namespaced: boolean }> {
    return Promise.resolve({
      group: getGroup(apiVersion),
      resource: `${kind.toLowerCase()}s`,
      namespaced: kind !== "CustomResourceDefinition",
    });
  }

  ownerOf(plural: string): string | undefined {
    return this.live.get(getObjectKey(definition(plural)))?.metadata.labels?.["olm.operatorframework.io/owner-name"];
  }
}

/** Returns a live object with the CA bundle of an apply. */
function withInjection(live: KubeObject, object: KubeObject): KubeObject {
  const { caBundle } = getConversion(object)?.webhook?.clientConfig ?? {};
  if (caBundle === undefined) return live;
  const before = getConversion(live);
  const webhook = { ...before?.webhook, clientConfig: { ...before?.webhook?.clientConfig, caBundle } };
  return { ...live, spec: { ...(live["spec"] as object), conversion: { ...before, webhook } } };
}

/** The bundles of one wave, as their extensions apply them. */
class Wave {
  readonly cluster = new FakeCluster();
  readonly events = new RecordedEvents();
  readonly handovers = new Handovers(() => []);
  readonly #locks = new ObjectLocks();
  readonly #members: readonly string[];
  readonly #stages = new Map<string, "checked" | "defined">();

  constructor(members: readonly string[]) {
    this.#members = members;
  }

  /** Reconciles one extension with these objects. @returns the error */
  async reconcile(name: string, objects: readonly KubeObject[]): Promise<Error | undefined> {
    const client = this.cluster as unknown as Client;
    const releases = new MemoryReleases();
    const deps: ApplyServices = {
      discovery: client,
      releases,
      events: this.events,
      now: () => 0,
      driftIntervalMs: 60_000,
      extensionExists: () => true,
      memory: new ExtensionCache(),
      locks: this.#locks,
      handovers: this.handovers,
      certificates: { issuer: { issue: issueCertificate }, times: CERTIFICATE_TIMES, enqueueAfter: () => undefined },
      plans: {
        fail: () => true,
        isApproved: () => true,
        isProvidedByPartner: () => false,
        listPartners: () =>
          this.#partners(name).map((one) => ({ extension: one, packageName: one, wave: 1 }) as ReturnType<Plans["listPartners"]>[number]),
        hasReached: (one, stage) => this.#hasReached(one, stage),
        reach: (one, stage) => {
          if (!this.#hasReached(one, stage)) this.#stages.set(one, stage);
          return this.#partners(one).filter((other) => !this.#hasReached(other, stage));
        },
      },
    };
    const bundle = { packageName: name, name: `${name}.v2`, version: "2.0.0", image: "i", explanation: "" };
    const phase = buildUnpacked(extension(name), bundle, { client, releases: { history: releases.now() } });
    try {
      await new ObjectReconciler(deps, phase, stepContext()).release({
        bundle,
        objects,
        annotations: {},
        requirements: undefined,
        inputDigest: "d",
        proxy: undefined,
      });
      return undefined;
    } catch (err) {
      return err as Error;
    } finally {
      this.handovers.endReconcile(extension(name), phase.changes.isAimed === true, true);
    }
  }

  #partners(name: string): string[] {
    return this.#members.filter((one) => one !== name);
  }

  #hasReached(name: string, stage: "checked" | "defined"): boolean {
    const reached = this.#stages.get(name);
    return reached === stage || reached === "defined";
  }
}

type Plans = NonNullable<ApplyServices["plans"]>;

let wave: Wave;
beforeEach(() => {
  wave = new Wave(["a", "b"]);
  wave.cluster.live.set(getObjectKey(definition("things")), ownedBy("c", definition("things")));
});

/** Reconciles the bundles of the wave eight times. @returns the last error of each */
async function installWave(bundles: Readonly<Record<"a" | "b", readonly KubeObject[]>>): Promise<Record<string, Error | undefined>> {
  const errors = new Map<string, Error | undefined>();
  for (let round = 0; round < 8; round++)
    for (const name of ["b", "a"] as const) {
      if (round % 2 === 0) wave.handovers.endReconcile(extension("a"), false, true); // as if another reconcile had not reached the apply
      errors.set(name, await wave.reconcile(name, bundles[name]));
    }
  return Object.fromEntries(errors);
}

test("ObjectReconciler takes over a CustomResourceDefinition for a wave only after its owner agrees", async () => {
  wave.handovers.setTarget(extension("c"), [], [definition("things")]);
  await wave.reconcile("a", [definition("others")]);
  expect(await wave.reconcile("b", [definition("things")])).toBeInstanceOf(HandoverPending);
  expect(wave.cluster.ownerOf("things")).toBe("c");
  wave.handovers.ready("c", []);
  expect(await wave.reconcile("b", [definition("things")])).toBeInstanceOf(WaitingError);
  expect(wave.cluster.ownerOf("things")).toBe("b");
  expect(wave.events.seen).toContainEqual(
    expect.stringMatching(/HandedOver: took over CustomResourceDefinition things.example.com from .*"c"/),
  );
});

test.for<[when: string, ofOwner: KubeObject[]]>([
  ["the partner has CustomResourceDefinitions", [definition("others")]],
  ["the partner has none", [configMap("m", "a-system")]],
])("ObjectReconciler installs a wave when a bundle needs a CustomResourceDefinition of a partner and %s", async ([, ofOwner]) => {
  wave.cluster.live.set(getObjectKey(definition("things")), ownedBy("a", definition("things")));
  wave.handovers.settle(extension("a"), [definition("things")]);
  expect(await installWave({ a: ofOwner, b: [definition("things")] })).toEqual({ a: undefined, b: undefined });
  expect(wave.cluster.ownerOf("things")).toBe("b");
});

test("ObjectReconciler upgrades a wave when a CustomResourceDefinition loses its conversion webhook", async () => {
  const managedFields = [appliedBy(CERTIFICATES_FIELD_MANAGER)];
  const { metadata, ...live } = ownedBy("a", converted("others"));
  wave.cluster.live.set(getObjectKey(definition("others")), { ...live, metadata: { ...metadata, managedFields } });
  expect(await installWave({ a: [definition("others")], b: [configMap("m", "b-system")] })).toEqual({ a: undefined, b: undefined });
  expect(getConversion(wave.cluster.live.get(getObjectKey(definition("others"))))).toBeUndefined();
});

test.for<[when: string, live: KubeObject | undefined]>([
  ["is new", undefined],
  ["gains a conversion webhook", ownedBy("a", definition("others"))],
])("ObjectReconciler applies a CustomResourceDefinition of a wave with a CA when it %s", async ([, live]) => {
  const key = getObjectKey(definition("others"));
  if (live) wave.cluster.live.set(key, live);
  const error = await wave.reconcile("a", [converted("others"), ...buildSelfSignedObjects("a", "a-system")]);
  expect(error).toBeInstanceOf(WaitingError);
  await wave.reconcile("b", [configMap("m", "b-system")]);
  await wave.reconcile("a", [converted("others"), ...buildSelfSignedObjects("a", "a-system")]);
  expect(getConversion(wave.cluster.live.get(key))?.webhook?.clientConfig).toMatchObject({
    caBundle: expect.stringMatching(/.+/) as unknown,
  });
});
