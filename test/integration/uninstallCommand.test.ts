import { expect, test } from "vitest";
import { LABEL_CREATED_FOR } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { type Ended, runCli } from "../support/runCli.ts";

// On the shared control plane, the namespace controller is busy with all test files.
describeWithPrivateCluster("olmv1 uninstall of an installation by olmv1 install", (cluster) => {
  const uninstall = (name: string, ...args: string[]): Promise<Ended> =>
    runCli(["uninstall", name, "--delete-namespace", "--yes", ...args, "--kubeconfig", cluster.kubeconfig], { width: 200 });

  test("olmv1 uninstall reports what blocks the deletion of a namespace until the namespace no longer exists", async () => {
    await cluster.installCrds();
    const name = "held-uninstall";
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { [LABEL_CREATED_FOR]: name } } };
    const held = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "held", namespace: name, finalizers: ["example.com/hold"] },
    };
    await cluster.client.create(namespace);
    await cluster.client.create(held);
    const atOnce = await uninstall(name, "--no-wait");
    expect([atOnce.code, atOnce.out]).toEqual([0, expect.stringMatching(new RegExp(`^Namespace ${name}: deletion requested\n`))]);
    await eventually(async () => {
      const again = await uninstall(name, "--timeout", "1s");
      expect([again.code, again.out]).toEqual([1, expect.stringMatching(/^Namespace .*: deletion requested\n(.*\n)*.*example\.com\/hold/)]);
      expect(again.err).toContain(`Namespace ${name} still exists after 1 s`);
    });
    const waiting = uninstall(name, "--timeout", "5m");
    await cluster.client.patch(
      { apiVersion: "v1", kind: "ConfigMap", namespace: name, name: "held" },
      { metadata: { finalizers: null } },
      { type: "merge" },
    );
    expect(await waiting).toMatchObject({ code: 0, out: `Namespace ${name} deleted\n` });
    expect(await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name })).toBeUndefined();
  });
});
