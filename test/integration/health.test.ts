import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const READY = { Installed: "True/Succeeded", Progressing: "True/Succeeded", Available: "True/Healthy", Ready: "True/Succeeded" };

// Source: D-10, O-04.
describeWithPrivateCluster("the health of installed bundles", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { minuteMs: 300 });
    world.bundle("p.v1.0.0", tinyBundle("1.0.0"));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Returns the requests of an extension's ServiceAccount so far, as "verb resource". */
  const listRequests = async (namespace: string): Promise<string[]> => {
    const events = await cluster.auditEvents();
    const own = events.filter(({ user }) => user.username.startsWith(`system:serviceaccount:${namespace}:`));
    return own.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource ?? ""}`);
  };

  test("an extension is Available and Ready when its objects are ready, and causes no further requests", async () => {
    const x = await world.extension("fine");
    expect(await world.conditions("fine", READY)).toMatchObject({
      Available: "the only object with a health check is healthy",
      Ready: 'bundle "p.v1.0.0" is installed and available',
    });
    await eventually(async () => expect(await world.events("fine")).toContain("Healthy: the only object with a health check is healthy"));
    const before = await listRequests(getNamespace(x));
    for (let pass = 0; pass < 3; pass++) await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    const other = await world.extension("fine-2");
    await world.conditions("fine-2", READY);
    expect(await listRequests(getNamespace(x))).toEqual(before);
    expect(await listRequests(getNamespace(other))).not.toEqual([]);
  });

  test("condition Available reports a Pod that does not become ready, and becomes True when the Pod is ready", async () => {
    const x = await world.extension("late", { podOutcome: "NotReady" });
    const { Ready } = await world.conditions("late", {
      Progressing: "True/Succeeded",
      Available: "False/RollingOut",
      Ready: "False/RollingOut",
    });
    expect(Ready).toMatch(/^Deployment late-system\/tiny: /);
    await eventually(async () => {
      const { Available } = await world.conditions("late", { Available: "False/RollingOut" });
      expect(Available).toMatch(
        /^Deployment late-system\/tiny: 0 of 1 replicas are available; Pod tiny-\S+: container "manager" is running but not ready$/,
      );
    });
    await cluster.setPodOutcome(getNamespace(x), "Ready");
    await world.conditions("late", READY);
  });

  test("condition Available reports a crash loop with the container and its restart count, even when no object of the bundle changes", async () => {
    const x = await world.extension("crash");
    await world.conditions("crash", READY);
    await cluster.setPodOutcome(getNamespace(x), "CrashLoop");
    const { Available } = await world.conditions("crash", { Available: "False/Unhealthy", Ready: "False/Unhealthy" });
    expect(Available).toMatch(/container "manager" is in CrashLoopBackOff, restarted 5 times/);
    await world.expectProblem("crash", "Unhealthy", {
      message: "CrashLoopBackOff",
      details: [{ group: "apps", kind: "Deployment", namespace: "crash-system", name: "tiny" }],
    });
    await eventually(async () =>
      expect((await world.events("crash")).join("\n")).toMatch(/Unhealthy: Deployment crash-system\/tiny: .*CrashLoop/),
    );
    await cluster.setPodOutcome(getNamespace(x), "Ready");
    await world.conditions("crash", READY);
  });

  test("a quota that prevents Pods is reported with the API server's message", async () => {
    const quota = async (namespace: string): Promise<void> => {
      const resourceQuota = {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "none", namespace },
        spec: { hard: { pods: "0" } },
      };
      await cluster.client.create(resourceQuota);
      await eventually(async () =>
        expect((await cluster.client.get({ ...resourceQuota, namespace, name: "none" }))?.["status"]).toMatchObject({
          hard: { pods: "0" },
        }),
      );
    };
    await world.extension("quota", { before: quota });
    const { Available } = await world.conditions("quota", { Progressing: "True/Succeeded", Available: "False/Unhealthy" });
    expect(Available).toMatch(
      /^Deployment quota-system\/tiny: its Pods cannot be created: pods "tiny-\S+" is forbidden: exceeded quota: none/,
    );
  });

  // Source: I-23, progress deadline.
  test("a rollout that exceeds its deadline is reported until the rollout completes", async () => {
    const x = await world.extension("overdue", { podOutcome: "NotReady", progressDeadlineMinutes: 10 });
    await world.conditions("overdue", { Progressing: "True/Succeeded", Available: "False/RollingOut" });
    const { Progressing } = await world.conditions("overdue", {
      Installed: "True/Succeeded",
      Progressing: "False/ProgressDeadlineExceeded",
      Ready: "False/ProgressDeadlineExceeded",
    });
    expect(Progressing).toMatch(
      /^Revision has not rolled out for 10 minute\(s\)\. Last status: Revision 1\.0\.0 is rolling out\.; Deployment overdue-system\/tiny: 0 of 1 replicas are available/,
    );
    await world.expectProblem("overdue", "ProgressDeadlineExceeded", { message: "Revision has not rolled out for 10 minute(s)" });
    await eventually(async () =>
      expect((await world.events("overdue")).join("\n")).toContain("ProgressDeadlineExceeded: Revision has not rolled out for 10"),
    );
    await cluster.setPodOutcome(getNamespace(x), "Ready");
    await world.conditions("overdue", READY);
    await cluster.setPodOutcome(getNamespace(x), "NotReady");
    await world.conditions("overdue", { Progressing: "True/Succeeded", Available: "False/Unhealthy", Ready: "False/Unhealthy" });
  });
});
