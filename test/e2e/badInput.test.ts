import { afterAll, beforeAll, expect, test } from "vitest";
import { type CatalogSource, type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import {
  buildSampleBundles,
  buildSampleImages,
  SAMPLE_CATALOG_REPOSITORY,
  SAMPLE_CATALOG_TAG,
  SAMPLE_PACKAGE,
} from "../../pkg/devcluster/sample/sample.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { ownObjects } from "../support/audit.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { expectProblem, problemText } from "../support/problems.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { World } from "../support/world.ts";

const CATALOG_REF = `quay.io/${SAMPLE_CATALOG_REPOSITORY}:${SAMPLE_CATALOG_TAG}`;
const NO_SUCH_DIGEST = `sha256:${"0".repeat(64)}`;

describeWithPrivateCluster("invalid input", (cluster) => {
  let world: World;

  beforeAll(async () => {
    world = await World.start(cluster);
    for (const { repository, tag, files, labels } of buildSampleImages("quay.io"))
      await pushImage(cluster.registry, repository, tag, { files, labels });
    await world.serve("sample", CATALOG_REF);
  });

  afterAll(async () => {
    await world?.stop();
    expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
  });

  /** Creates an extension of the sample with a namespace and an installer with all permissions. */
  async function extension(name: string, catalog: Partial<CatalogSource> = {}): Promise<ClusterExtension> {
    const extension = createExtension(name, { packageName: SAMPLE_PACKAGE, version: "1.0.0", ...catalog });
    const namespace = getNamespace(extension);
    const objects = buildSampleBundles().flatMap(({ files }) => renderBundle(loadBundle(files), { installNamespace: namespace }));
    await grantInstaller(cluster.client, extension, objects);
    return extension;
  }

  async function progressing(name: string, includes: string): Promise<Condition> {
    const object = await world.condition("ClusterExtension", name, (c) => c("Progressing")?.message.includes(includes) ?? false);
    return getConditions(object).find(({ type }) => type === "Progressing")!;
  }
  async function live(name: string): Promise<ClusterExtension> {
    const found = await world.extension(name);
    if (!found) throw new Error(`ClusterExtension ${name} does not exist`);
    return found;
  }

  test.for<[why: string, ref: string, status: Condition["status"], message: RegExp]>([
    [
      "a repository that does not exist",
      "quay.io/no-such-catalog:latest",
      "True",
      /^source catalog content: error creating image source: .*no-such-catalog/,
    ],
    [
      "a digest that does not exist",
      `quay.io/${SAMPLE_CATALOG_REPOSITORY}@${NO_SUCH_DIGEST}`,
      "True",
      /^source catalog content: .*sha256:0000/,
    ],
    [
      "an image that is not a catalog",
      "quay.io/hello-operator-bundle:v1.0.0",
      "True",
      /catalog image is missing the required label "operators\.operatorframework\.io\.index\.configs\.v1"/,
    ],
  ])("catalogd reports a catalog image with %s", async ([, ref, status, message]) => {
    const name = `bad-${ref.replace(/\W+/g, "-").slice(0, 40)}`;
    await world.apply({
      apiVersion: "olm.operatorframework.io/v1",
      kind: "ClusterCatalog",
      metadata: { name },
      spec: { source: { type: "Image", image: { ref } } },
    });
    const object = await world.condition("ClusterCatalog", name, (c) => c("Progressing")?.reason === "Retrying");
    const found = getConditions(object).find(({ type }) => type === "Progressing");
    expect(found).toMatchObject({ status, message: expect.stringMatching(message) as string });
    await world.removed("ClusterCatalog", name);
  });

  // invalid content is rejected as a whole, and the last valid content is still served.
  test("catalogd reports the file and position of a malformed document, and serves the last valid content", async () => {
    const good = new Map([["shop/catalog.yaml", Buffer.from("schema: olm.package\nname: shop\ndefaultChannel: stable\n")]]);
    const broken = new Map([
      ["shop/catalog.yaml", Buffer.from("schema: olm.package\nname: shop\n---\nschema: olm.channel\nname: [stable\n")],
    ]);
    await world.pushCatalog("catalogs/shop", "latest", good);
    await world.serve("shop", "quay.io/catalogs/shop:latest");
    const before = await world.condition("ClusterCatalog", "shop", () => true);
    const digest = await world.pushCatalog("catalogs/shop", "latest", broken);
    await world.apply({ ...withoutStatus(before), spec: { source: { type: "Image", image: { ref: digest } } } });
    const after = await world.condition("ClusterCatalog", "shop", (c) => c("Progressing")?.reason === "Retrying");
    const message = getConditions(after).find(({ type }) => type === "Progressing")?.message ?? "";
    expect(message).toContain("shop/catalog.yaml");
    expect(message).toMatch(/line \d+|document 2/);
    expect(getConditions(after).find(({ type }) => type === "Serving")?.status).toBe("True");
    const response = await fetch(`${world.installation.catalogs}/catalogs/shop/api/v1/all`);
    expect(await response.text()).toBe('{"defaultChannel":"stable","name":"shop","schema":"olm.package"}\n');
    await world.removed("ClusterCatalog", "shop");
  });

  test.for<[why: string, catalog: Partial<CatalogSource>, start: string, explained: string]>([
    [
      "a package that no catalog contains",
      { packageName: "no-such-operator" },
      'no bundles found for package "no-such-operator" matching version "1.0.0"',
      "; ",
    ],
    [
      "a range that matches nothing",
      { version: ">=7" },
      `no bundles found for package "${SAMPLE_PACKAGE}" matching version ">=7"`,
      "1.2.0",
    ],
    [
      "a channel that does not exist",
      { channels: ["beta"] },
      `no bundles found for package "${SAMPLE_PACKAGE}" matching version "1.0.0" in channels [beta]`,
      "stable",
    ],
    ["a malformed range", { version: "|" }, 'desired version range "|" is invalid: ', ""],
  ])("operator-controller reports a failed resolution for %s", async ([why, catalog, start, explained]) => {
    const name = `res-${why.replace(/\W+/g, "-")}`;
    await world.apply(await extension(name, catalog));
    const { message, status, reason } = await progressing(name, start.slice(0, 20));
    expect(message.startsWith(start)).toBe(true);
    expect(problemText((await live(name)).status)).toContain(explained);
    expect([status, reason]).toEqual(["True", "Retrying"]);
    expect(await ownObjects(cluster.client, name)).toEqual([]);
    await world.removed("ClusterExtension", name);
  });

  test("operator-controller reports a missing namespace and ServiceAccount, and installs the bundle after both are created", async () => {
    const created = createExtension("late", { packageName: SAMPLE_PACKAGE, version: "1.0.0" });
    const namespace = getNamespace(created);
    await world.apply(created);
    const missing = `operation cannot proceed due to the following validation error(s): service account "late-installer" not found in namespace "${namespace}"`;
    expect((await progressing("late", "not found")).message).toBe(missing);
    expectProblem(await live("late"), "NamespaceNotFound", { message: `namespace "${namespace}" does not exist`, details: [namespace] });
    await world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await progressing("late", "serviceaccounts/token");
    expectProblem(await live("late"), "TokenDenied", {
      next: `olmv1 rbac --token-only --namespace ${namespace} --service-account late-installer`,
    });
    await extension("late");
    await world.installed("late", "1.0.0");
    await world.removed("ClusterExtension", "late");
  });

  test("operator-controller installs nothing when spec.serviceAccount is set without spec.namespace, and reports the missing field", async () => {
    const { namespace: _, ...spec } = createExtension("no-account", { packageName: SAMPLE_PACKAGE, version: "1.0.0" }).spec;
    await world.apply({ apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", metadata: { name: "no-account" }, spec });
    const { message, reason } = await progressing("no-account", "serviceAccount");
    expect(reason).toBe("Blocked");
    expect(message).toContain("spec.namespace is required with spec.serviceAccount");
    expectProblem(await live("no-account"), "InvalidSpec");
    await world.removed("ClusterExtension", "no-account");
  });

  test("operator-controller does not change an object that already exists, and installs the bundle after a user deletes the object", async () => {
    const created = await extension("second");
    const namespace = getNamespace(created);
    const theirs = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "hello-operator-phrases", namespace }, data: { mine: "yes" } };
    await world.apply(theirs);
    await world.apply(created);
    const { message } = await progressing("second", "already exists");
    expect(
      message.startsWith(
        `error for resolved bundle "${SAMPLE_PACKAGE}.v1.0.0" with version "1.0.0": failed to get release state using server-side dry-run: ` +
          `ConfigMap 'hello-operator-phrases' already exists in namespace '${namespace}' and cannot be managed by operator-controller`,
      ),
    ).toBe(true);
    expect(await ownObjects(cluster.client, "second")).toEqual([]);
    const ref = { apiVersion: "v1", kind: "ConfigMap", name: "hello-operator-phrases", namespace };
    expect((await cluster.client.get(ref))?.["data"]).toEqual({ mine: "yes" });
    await cluster.client.delete(ref);
    await world.installed("second", "1.0.0");
    await world.removed("ClusterExtension", "second");
  });

  test("operator-controller rejects a second extension of a package, and reports the first extension as the owner", async () => {
    const [one, two] = [await extension("one"), await extension("two")];
    await world.apply(one);
    await world.installed("one", "1.0.0");
    const before = await ownObjects(cluster.client, "one");
    await world.apply(two);
    await progressing("two", "cannot be managed");
    expectProblem(await live("two"), "ObjectConflict", { next: 'belongs to ClusterExtension "one"' });
    expect(await ownObjects(cluster.client, "two")).toEqual([]);
    expect(await ownObjects(cluster.client, "one")).toEqual(before);
    await world.removed("ClusterExtension", "two");
    expect(await ownObjects(cluster.client, "one")).toEqual(before);
    await world.removed("ClusterExtension", "one");
  });

  // uninstalling an extension must not delete user data.
  test("operator-controller keeps a CRD with custom resources after an uninstall, and the next extension adopts the CRD", async () => {
    const created = await extension("keeper");
    await world.apply(created);
    await world.installed("keeper", "1.0.0");
    const greeting = {
      apiVersion: "hello.example.com/v1alpha1",
      kind: "Greeting",
      metadata: { name: "mine", namespace: getNamespace(created) },
      spec: { name: "world" },
    };
    await world.apply(greeting);
    await world.removed("ClusterExtension", "keeper");
    expect(await ownObjects(cluster.client, "keeper")).toEqual(["CustomResourceDefinition greetings.hello.example.com"]);
    expect(await cluster.client.get({ ...greeting, ...greeting.metadata })).toBeDefined();

    const heir = await extension("heir");
    await world.apply(heir);
    await world.installed("heir", "1.0.0");
    expect(await ownObjects(cluster.client, "heir")).toContain("CustomResourceDefinition greetings.hello.example.com");
    await cluster.client.delete({ ...greeting, ...greeting.metadata });
    await world.removed("ClusterExtension", "heir");
    expect(await ownObjects(cluster.client, "heir")).toEqual([]);
  });
});

function getConditions(object: KubeObject): Condition[] {
  return (object["status"] as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}

function withoutStatus(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  return { apiVersion, kind, metadata: { name: metadata.name } };
}
