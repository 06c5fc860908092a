import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { findProblem } from "../../pkg/api/problems.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { SampleWorld } from "../support/sampleWorld.ts";

const OVERLAY = join(import.meta.dirname, "../../config/overlays/shared-watch/shared-watch.yaml");
const CONTROLLER = "system:serviceaccount:olmv1-system:operator-controller-controller-manager";
const RBAC = { apiVersion: "rbac.authorization.k8s.io/v1" };

// Source: O-14.
describeWithPrivateCluster("with the overlay shared-watch", (cluster) => {
  let sample: SampleWorld;

  beforeAll(async () => {
    sample = await SampleWorld.start(cluster, "1h", ["--shared-watches"]);
    for (const object of loadAll(readFileSync(OVERLAY, "utf8")) as KubeObject[])
      await cluster.client.apply(object, { fieldManager: "test", force: true });
  });
  afterAll(async () => {
    await sample?.clear();
    await sample?.world.stop();
  });

  /** Creates an extension whose installer may only read single objects. */
  async function install(name: string): Promise<ClusterExtension> {
    const extension = await sample.extension(name, { version: "1.0.0" });
    const { namespace, serviceAccount } = extension.spec;
    const account = serviceAccount?.name ?? "";
    for (const ref of [
      { ...RBAC, kind: "ClusterRole", name: `${namespace}-${account}` },
      { ...RBAC, kind: "Role", namespace, name: account },
    ]) {
      const role = await cluster.client.get(ref);
      if (!role) throw new Error(`there is no ${ref.kind} ${ref.name}`);
      const rules = (role["rules"] as PolicyRule[]).map((rule) => ({
        ...rule,
        verbs: rule.verbs.filter((verb) => !["list", "watch"].includes(verb)),
      }));
      await cluster.client.replace({ ...role, rules: rules.filter(({ verbs }) => verbs.length > 0) });
    }
    await sample.world.apply(extension);
    await sample.world.installed(name, "1.0.0");
    return extension;
  }

  test("overlay shared-watch corrects drift at once with watches of operator-controller instead of the extension's ServiceAccount", async () => {
    const extension = await install("shared");
    await sample.damageIsRepaired(extension);
    expect(findProblem((await sample.world.extension("shared"))?.status, "DriftUnwatched")).toBeUndefined();
    const watches = async (of: (username: string) => boolean): Promise<string[]> =>
      (await cluster.auditEvents())
        .filter(({ verb, user }) => ["list", "watch"].includes(verb) && of(user.username))
        .map(({ requestURI }) => requestURI);
    await eventually(async () => {
      const own = (await watches((username) => username === CONTROLLER)).filter((uri) => uri.startsWith("/api/v1/configmaps?"));
      expect(own.length).toBeGreaterThan(0);
      for (const uri of own) expect(uri).toContain("labelSelector=olm.operatorframework.io%2Fowner-kind%3DClusterExtension");
    });
    const theirs = await watches((username) => username.endsWith("-installer"));
    expect(theirs.filter((uri) => !uri.includes("/resourcequotas?"))).toEqual([]); // quotas are listed before the install
  });
});
