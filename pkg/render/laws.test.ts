import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BundleParts, bundleOf, createCrd } from "../../test/support/bundleFixture.ts";
import { deepFreeze } from "../../test/support/deepFreeze.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import type { CsvPolicyRule, RegistryV1Bundle } from "../bundle/types.ts";
import { CERTIFICATE_PROVIDERS } from "../certificates/providers.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { type RenderOptions, renderBundle } from "./render.ts";

const INSTALL = "install";
const WATCHED = "watched";
const MODES = ["AllNamespaces", "OwnNamespace", "SingleNamespace"];
const RUNS = { numRuns: 150 };
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Valid names of roles and bindings. */
const PATH_SEGMENT = /^(?!\.\.?$)[^/%]+$/;

const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,58}[a-z0-9])?$/);
const words = (texts: readonly string[]) => fc.uniqueArray(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 });
const rule = fc.record({
  verbs: words(["get", "list", "watch", "create", "*"]),
  apiGroups: words(["", "apps", "example.com"]),
  resources: words(["pods", "deployments", "things"]),
});
const permission = fc.record({
  serviceAccountName: fc.constantFrom("", "default", "sa", "other"),
  rules: fc.array(rule, { maxLength: 3 }),
});

/** Generates unique names in lists, because a bundle with duplicate names is rejected. */
const deployments = fc.uniqueArray(label, { maxLength: 4 }).map((names) =>
  names.map((name) => ({
    name,
    label: { app: name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c" }] } },
    },
  })),
);

function webhooksOf(names: readonly string[], served: readonly string[]): JsonObject[] {
  return names.flatMap((name, i) => {
    const deploymentName = served[i % Math.max(1, served.length)];
    const type = i % 2 === 0 ? "ValidatingAdmissionWebhook" : "MutatingAdmissionWebhook";
    const ports = i % 3 === 0 ? {} : { containerPort: 8_000 + i, targetPort: 9_000 };
    return deploymentName === undefined
      ? []
      : [{ type, generateName: `${name}.example.com`, deploymentName, sideEffects: "None", admissionReviewVersions: ["v1"], ...ports }];
  });
}

const others = fc.uniqueArray(fc.tuple(fc.constantFrom("ConfigMap", "Service", "ClusterRole", "PriorityClass", "Role"), label), {
  selector: ([kind, name]) => `${kind}/${name}`,
  maxLength: 6,
});

const parts: fc.Arbitrary<BundleParts> = fc
  .record({
    name: label.map((name) => `${name}.v1.0.0`),
    annotations: fc.dictionary(label, fc.string({ maxLength: 10 }), { maxKeys: 3 }),
    permissions: fc.array(permission, { maxLength: 3 }),
    clusterPermissions: fc.array(permission, { maxLength: 3 }),
    deployments,
    webhookNames: fc.uniqueArray(label, { maxLength: 4 }),
    crds: fc.uniqueArray(label, { maxLength: 4 }),
    others,
  })
  .map(({ webhookNames, crds, others: manifests, ...rest }) => ({
    ...rest,
    modes: MODES,
    webhooks: webhooksOf(
      webhookNames,
      rest.deployments.map(({ name }) => name),
    ),
    crds: crds.map((name) => createCrd(`${name}.example.com`, { group: "example.com", scope: "Namespaced" })),
    others: manifests.map(([kind, name]) => ({ apiVersion: "v1", kind, metadata: { name, namespace: "elsewhere" } })),
  }));

const options: fc.Arbitrary<RenderOptions> = fc.record({
  installNamespace: fc.constant(INSTALL),
  certProvider: fc.constantFrom(...CERTIFICATE_PROVIDERS),
  config: fc.constantFrom<JsonObject | undefined>(
    undefined,
    { watchNamespace: INSTALL },
    { watchNamespace: WATCHED },
    { deploymentConfig: { env: [{ name: "A", value: "b" }], nodeSelector: { a: "b" }, volumes: [{ name: "v", emptyDir: {} }] } },
  ),
});

function holds(law: (given: BundleParts, rendering: RenderOptions) => void): void {
  fc.assert(
    fc.property(parts, options, (given, rendering) => law(given, rendering)),
    RUNS,
  );
}

const sortedTexts = (objects: readonly unknown[]): string[] => objects.map((object) => encodeCanonicalJson(object)).sort();
const rulesOf = (objects: readonly KubeObject[], kinds: readonly string[]): CsvPolicyRule[] =>
  objects.filter(({ kind }) => kinds.includes(kind)).flatMap((role) => (role["rules"] ?? []) as CsvPolicyRule[]);

describe("laws of rendering", () => {
  test("renderBundle returns the same objects in the same order for the same bundle and options", () => {
    holds((given, rendering) => {
      const bundle = bundleOf(given);
      const first = encodeCanonicalJson(renderBundle(bundle, rendering));
      expect(encodeCanonicalJson(renderBundle(bundle, rendering))).toBe(first);
      expect(encodeCanonicalJson(renderBundle(bundleOf(given), rendering))).toBe(first);
    });
  });

  test("renderBundle changes only the order of objects if manifests, permissions, deployments and webhooks are reordered", () => {
    holds((given, rendering) => {
      const { permissions = [], clusterPermissions = [], deployments: list = [], webhooks = [], crds = [], others: rest = [] } = given;
      const turned: BundleParts = {
        ...given,
        permissions: permissions.toReversed(),
        clusterPermissions: clusterPermissions.toReversed(),
        deployments: list.toReversed(),
        webhooks: webhooks.toReversed(),
        crds: crds.toReversed(),
        others: rest.toReversed(),
      };
      expect(sortedTexts(renderBundle(bundleOf(turned), rendering))).toEqual(sortedTexts(renderBundle(bundleOf(given), rendering)));
    });
  });

  test("renderBundle changes no other object if a manifest is added or removed", () => {
    holds((given, rendering) => {
      const all = sortedTexts(renderBundle(bundleOf(given), rendering));
      const [dropped, ...rest] = given.others ?? [];
      const without = sortedTexts(renderBundle(bundleOf({ ...given, others: rest }), rendering));
      expect(all.length - without.length).toBe(dropped ? 1 : 0);
      expect(without.filter((text) => !all.includes(text))).toEqual([]);
    });
  });

  test("renderBundle does not change the bundle or the options", () => {
    holds((given, rendering) => {
      const bundle = deepFreeze(bundleOf(given));
      deepFreeze(rendering.config);
      expect(renderBundle(bundle, rendering)).toEqual(renderBundle(bundleOf(given), rendering));
    });
  });

  test("renderBundle generates valid names of limited length", () => {
    holds((given, rendering) => {
      const stated = new Set((given.others ?? []).map((object) => (object["metadata"] as { name: string }).name));
      for (const { kind, metadata } of renderBundle(bundleOf(given), rendering)) {
        if (stated.has(metadata.name)) continue;
        const isRole = /^(?:Cluster)?Role/.test(kind);
        expect(metadata.name, kind).toMatch(isRole ? PATH_SEGMENT : SUBDOMAIN);
        // A text and a digest with 63 characters in total result in a name of 64 characters, as
        // upstream.
        expect(metadata.name.length, metadata.name).toBeLessThanOrEqual(isRole ? 64 : 253);
        if (kind === "Service") expect(metadata.name.length).toBeLessThanOrEqual(63);
      }
    });
  });

  test("renderBundle puts namespaced objects into the install namespace, and Roles and RoleBindings into watched namespaces", () => {
    holds((given, rendering) => {
      const watched = (rendering.config?.["watchNamespace"] as string | undefined) ?? INSTALL;
      for (const { kind, metadata } of renderBundle(bundleOf(given), rendering)) {
        const { namespace } = metadata;
        if (kind === "ClusterRole" || kind === "PriorityClass") continue;
        if (namespace !== undefined && namespace !== INSTALL) expect([kind, namespace]).toEqual([expect.stringMatching(/^Role/), watched]);
      }
    });
  });

  test("renderBundle grants only permissions of the bundle, and permission to read namespaces if all are watched", () => {
    holds((given, rendering) => {
      const { permissions = [], clusterPermissions = [] } = given;
      const stated = new Set(
        [...permissions, ...clusterPermissions].flatMap(({ rules }) => rules as JsonObject[]).map(encodeCanonicalJson),
      );
      const reads = encodeCanonicalJson({ verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["namespaces"] });
      const watchesAll = rendering.config?.["watchNamespace"] === undefined;
      const objects = renderBundle(bundleOf({ ...given, others: [] }), rendering);
      const made = rulesOf(objects, ["Role", "ClusterRole"]).map(encodeCanonicalJson);
      expect(made.filter((text) => !stated.has(text) && !(watchesAll && text === reads))).toEqual([]);
      const inCluster = new Set(clusterPermissions.flatMap(({ rules }) => rules as JsonObject[]).map(encodeCanonicalJson));
      if (!watchesAll)
        expect(
          rulesOf(objects, ["ClusterRole"])
            .map(encodeCanonicalJson)
            .filter((text) => !inCluster.has(text)),
        ).toEqual([]);
    });
  });
});

/** Returns the number of reads of bundle members while rendering. */
function readsOf(count: number): number {
  const names = Array.from({ length: count }, (_, i) => `n${i}`);
  const bundle = bundleOf({
    modes: ["AllNamespaces"],
    clusterPermissions: names.map((serviceAccountName) => ({
      serviceAccountName,
      rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
    })),
    deployments: names.map((name) => ({ name, spec: { selector: { matchLabels: { a: name } }, template: { spec: { containers: [] } } } })),
    webhooks: webhooksOf(names, names),
    owned: names.map((name) => `${name}.example.com`),
    crds: names.map((name) => createCrd(`${name}.example.com`)),
    others: names.slice(count / 2).map((name) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } })),
  });
  const counter = { reads: 0 };
  const objects = renderBundle(counted(bundle, counter) as RegistryV1Bundle, {
    installNamespace: INSTALL,
    certProvider: CERTIFICATE_PROVIDERS[0],
  });
  expect(objects.length).toBeGreaterThan(5 * count);
  return counter.reads;
}

/** Returns `value` as a proxy that counts each read of a member at any depth. */
function counted(value: unknown, counter: { reads: number }): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, member) {
      counter.reads++;
      return counted(Reflect.get(target, member), counter);
    },
  });
}

test("renderBundle needs ten times as many steps for ten times as many CRDs, roles, deployments and webhooks", () => {
  const [few, many] = [readsOf(40), readsOf(400)];
  expect(many / few).toBeLessThan(11);
});
