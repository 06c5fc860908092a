import { beforeEach, expect, test } from "vitest";
import { MemoryReleases, RecordedEvents, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildUnpacked } from "../../../test/support/phases.ts";
import { configMap } from "../../../test/support/releases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { type GroupVersionKind, getGroup, type KubeObject, type ObjectRef } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { getObjectKey } from "../../release/identity.ts";
import { withOwner } from "../../release/labels.ts";
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

/** A cluster that accepts all objects. */
class FakeCluster {
  readonly live = new Map<string, KubeObject>();

  get(ref: ObjectRef): Promise<KubeObject | undefined> {
    return Promise.resolve(this.live.get(getObjectKey(ref)));
  }

  apply(object: KubeObject, { dryRun = false }: { dryRun?: boolean }): Promise<KubeObject> {
    if (!dryRun) this.live.set(getObjectKey(object), object);
    return Promise.resolve(object);
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
  const bundles = { a: ofOwner, b: [definition("things")] };
  const errors = new Map<string, Error | undefined>();
  for (let round = 0; round < 8; round++)
    for (const name of ["b", "a"] as const) {
      if (round % 2 === 0) wave.handovers.endReconcile(extension("a"), false, true); // as if another reconcile had not reached the apply
      errors.set(name, await wave.reconcile(name, bundles[name]));
    }
  expect(Object.fromEntries(errors)).toEqual({ a: undefined, b: undefined });
  expect(wave.cluster.ownerOf("things")).toBe("b");
});
