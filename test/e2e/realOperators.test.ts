import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { bundleWrites, ownObjects } from "../support/audit.ts";
import { AuditTail } from "../support/auditTail.ts";
import { type AuditEvent, describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { problemText } from "../support/problems.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { describeWithData } from "../support/sharedData.ts";
import { filesBelow, World } from "../support/world.ts";

const BUNDLES: [packageName: string, version: string][] = [
  ["cat-facts-operator", "1.1.1"],
  ["cat-facts-operator", "1.1.2"],
  ["aws-neuron-operator", "1.2.0"],
];
const REPOSITORY = "community-operator-pipeline-prod";
const MONITOR_CRD = "servicemonitors.monitoring.coreos.com";

describeWithData("real data", (data) =>
  describeWithPrivateCluster("operators from real catalogs", (cluster) => {
    let world: World;

    async function render(
      packageName: string,
      version: string,
      namespace: string,
      config?: Record<string, unknown>,
    ): Promise<KubeObject[]> {
      const files = await filesBelow(join(data, "bundles", packageName, version));
      return renderBundle(loadBundle(files), { installNamespace: namespace, config });
    }

    beforeAll(async () => {
      world = await World.start(cluster);
      for (const [name, version] of BUNDLES) {
        await world.pushBundle(`${REPOSITORY}/${name}`, version, name, await filesBelow(join(data, "bundles", name, version)));
      }
      const unpacked = mkdtempSync(join(tmpdir(), "olmv1-data-"));
      try {
        execFileSync("tar", ["-xzf", join(data, "fbc/certified-v4.14.tar.gz"), "-C", unpacked]);
        await world.pushCatalog("catalogs/certified", "v4.14", await filesBelow(join(unpacked, "certified-v4.14")));
      } finally {
        rmSync(unpacked, { recursive: true });
      }
      await world.pushCatalog("catalogs/community", "v4.19", await filesBelow(join(data, "fbc/community-v4.19")));
      await Promise.all([
        world.serve("community", "quay.io/catalogs/community:v4.19"),
        world.serve("certified", "quay.io/catalogs/certified:v4.14"),
      ]);
    });

    afterAll(async () => {
      await world?.stop();
      expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
    });

    test("operator-controller installs, upgrades and uninstalls cat-facts-operator", async () => {
      const name = "cat-facts";
      const extension = createExtension(name, { packageName: "cat-facts-operator", version: "1.1.1" });
      const namespace = getNamespace(extension);
      const config = { watchNamespace: namespace };
      const objects = [
        ...(await render("cat-facts-operator", "1.1.1", namespace, config)),
        ...(await render("cat-facts-operator", "1.1.2", namespace, config)),
      ];
      await grantInstaller(cluster.client, extension, objects);

      await world.apply(extension);
      const refused = await world.condition("ClusterExtension", name, (c) => c("Progressing")?.reason === "InvalidConfiguration");
      expect(getMessage(refused, "Progressing")).toBe(
        'error for resolved bundle "cat-facts-operator.v1.1.1" with version "1.1.1": invalid ClusterExtension configuration: ' +
          'invalid configuration: required field "watchNamespace" is missing',
      );
      expect(await ownObjects(cluster.client, name)).toEqual([]);

      await world.apply({ ...extension, spec: { ...extension.spec, config: { configType: "Inline", inline: config } } });
      await world.installed(name, "1.1.1");
      const first = await ownObjects(cluster.client, name);
      expect(first).toContain(`Deployment ${namespace}/cat-facts-operator-controller-manager`);
      expect(first).toContain("CustomResourceDefinition catfacts.ryanmillerc.github.io");
      await eventually(async () => {
        const deployment = await cluster.client.get({
          apiVersion: "apps/v1",
          kind: "Deployment",
          namespace,
          name: "cat-facts-operator-controller-manager",
        });
        expect((deployment?.["status"] as { availableReplicas?: number } | undefined)?.availableReplicas).toBe(1);
      });

      const { version: _pinned, ...unpinned } = extension.spec.source.catalog ?? { packageName: "" };
      await world.cluster.client.patch(
        { ...extension, name },
        { spec: { source: { catalog: { ...unpinned, version: null } } } },
        { type: "merge" },
      );
      await world.installed(name, "1.1.2");
      const second = await ownObjects(cluster.client, name);
      const expected = (await render("cat-facts-operator", "1.1.2", namespace, config)).length;
      expect(second).toHaveLength(expected);

      await world.removed("ClusterExtension", name);
      expect(await ownObjects(cluster.client, name)).toEqual([]);
      expect(await listReleases(name)).toEqual([]);
    });

    test("operator-controller installs aws-neuron-operator when the API server starts to serve kind ServiceMonitor", async () => {
      const name = "neuron";
      const extension = createExtension(name, { packageName: "aws-neuron-operator", version: "1.2.0" });
      await grantInstaller(cluster.client, extension, await render("aws-neuron-operator", "1.2.0", getNamespace(extension)));
      await world.apply(extension);
      const waiting = await world.condition("ClusterExtension", name, (c) => c("Progressing")?.message.includes("ServiceMonitor") ?? false);
      expect(getMessage(waiting, "Progressing")).toContain('no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"');
      expect(await ownObjects(cluster.client, name)).toEqual([]);

      await world.apply(serviceMonitorCrd());
      await world.installed(name, "1.2.0");
      expect((await ownObjects(cluster.client, name)).filter((object) => object.startsWith("ServiceMonitor "))).toHaveLength(1);

      await world.removed("ClusterExtension", name);
      expect(await ownObjects(cluster.client, name)).toEqual([]);
      expect(await cluster.client.get({ ...serviceMonitorCrd(), name: MONITOR_CRD })).toBeDefined();
    });

    test("operator-controller reports a missing permission, writes nothing, and installs the bundle after the permission is granted", async () => {
      const name = "poor-cat";
      const extension = createExtension(name, { packageName: "cat-facts-operator", version: "1.1.2" });
      const namespace = getNamespace(extension);
      const config = { watchNamespace: namespace };
      const objects = await render("cat-facts-operator", "1.1.2", namespace, config);
      const granted = await grantInstaller(cluster.client, extension, objects, { without: "services" });
      await world.apply({ ...extension, spec: { ...extension.spec, config: { configType: "Inline", inline: config } } });
      const refused = await world.condition(
        "ClusterExtension",
        name,
        (c) => c("Progressing")?.message.includes("pre-authorization failed") ?? false,
      );
      const message = getMessage(refused, "Progressing");
      expect(problemText((refused as ClusterExtension).status)).toContain(
        `Error MissingPermissions: ServiceAccount ${namespace}/${extension.spec.serviceAccount?.name} lacks permissions`,
      );
      expect(message).toMatch(
        new RegExp(`Namespace:"${namespace}" APIGroups:\\[\\] Resources:\\[services\\] ResourceNames:\\[[^\\]]+\\] Verbs:`),
      );
      expect(await ownObjects(cluster.client, name)).toEqual([]);

      await granted.complete();
      await world.installed(name, "1.1.2");
      await world.removed("ClusterExtension", name);
      expect(await ownObjects(cluster.client, name)).toEqual([]);
    });

    // all requests use the extension's ServiceAccount, also for CRDs.
    test("only the extensions' ServiceAccounts read and write bundle content", async () => {
      // permission-manager reads and writes only the roles and ServiceAccounts with its label.
      const isGrant = ({ user, requestURI }: AuditEvent): boolean =>
        user.username.endsWith(":permission-manager-controller-manager") && requestURI.includes("permissions-for");
      // The controller watches the owners of CustomResourceDefinitions for dependencies.
      const isDefinitionWatch = ({ verb, objectRef }: AuditEvent): boolean =>
        objectRef?.resource === "customresourcedefinitions" && ["list", "watch"].includes(verb);
      const foreign = bundleWrites(await cluster.auditEvents()).filter(
        (event) => event.user.username.startsWith("system:serviceaccount:olmv1-system:") && !isDefinitionWatch(event) && !isGrant(event),
      );
      expect(foreign.map(({ user, verb, requestURI }) => `${user.username} ${verb} ${requestURI}`)).toEqual([]);
      const scoped = bundleWrites(await cluster.auditEvents()).filter(({ user }) => user.username.endsWith("-installer"));
      expect(scoped.length).toBeGreaterThan(20);
    });

    async function listReleases(extension: string): Promise<string[]> {
      const { items } = await cluster.client.list(
        { apiVersion: "v1", kind: "Secret" },
        { namespace: "olmv1-system", labelSelector: `name=${extension}` },
      );
      return items.map((secret) => secret.metadata.name);
    }
  }),
);

function getMessage(object: KubeObject, type: string): string {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: { type: string; message: string }[] };
  return conditions.find((condition) => condition.type === type)?.message ?? "";
}

/** Returns a minimal definition of the Prometheus operator's kind, which accepts any content. */
function serviceMonitorCrd(): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: MONITOR_CRD },
    spec: {
      group: "monitoring.coreos.com",
      scope: "Namespaced",
      names: { plural: "servicemonitors", singular: "servicemonitor", kind: "ServiceMonitor", listKind: "ServiceMonitorList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  };
}
