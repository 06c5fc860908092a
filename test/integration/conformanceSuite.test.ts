import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { withImages } from "../../pkg/authoring/build/publishImage.ts";
import { ClusterContentReader } from "../../pkg/conformance/catalogContent.ts";
import { createRunName, runSuite, type ScenarioResult } from "../../pkg/conformance/runSuite.ts";
import { parseScenarios } from "../../pkg/conformance/scenario.ts";
import { parseReference } from "../../pkg/oci/reference.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";

const SOURCE = "https://example.com/docs";

/** Starts a registry in front of another one that does not delete tags, as many registries. */
async function startWithoutDeletion(upstream: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "DELETE") {
      outgoing.writeHead(405).end('{"errors":[{"code":"UNSUPPORTED","message":"the operation is unsupported"}]}');
      return;
    }
    const { method, headers, url } = incoming;
    const forwarded = request(`http://${upstream}${url}`, { method, headers: { ...headers, host: upstream } }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Namespaces on the shared control plane are not deleted while an API server of another test is unavailable.
describeWithPrivateCluster("the conformance suite", (cluster) => {
  beforeAll(() => cluster.installCrds());

  /** Runs a scenario without servers of OLM v1. */
  async function run(
    scenario: object,
    { registry = cluster.registry.host, name = createRunName() } = {},
  ): Promise<ScenarioResult | undefined> {
    const document = JSON.stringify({ name: "an expectation", source: SOURCE, ...scenario });
    const signal = AbortSignal.timeout(240_000);
    const terminal = { env: {}, signal, out: () => undefined, err: () => undefined };
    const [result] = await withImages({ insecure: true }, terminal, (stores) =>
      runSuite(
        {
          client: cluster.client,
          stores,
          repository: parseReference(`${registry}/conformance`),
          content: new ClusterContentReader(cluster.client),
          systemNamespace: "olmv1-system",
          run: name,
          timeoutMs: 60_000,
        },
        parseScenarios("test", document),
        { parallel: 1, keepFailed: false, signal, report: () => undefined },
      ),
    );
    return result;
  }

  const namespaceOf = (id: string): ObjectRef => ({ apiVersion: "v1", kind: "Namespace", name: `conformance-${id}` });

  test("runSuite reports tags that the registry does not delete, and the scenario passes", async () => {
    const registry = await startWithoutDeletion(cluster.registry.host);
    const steps = [{ "given an image with files is pushed": { name: "main", tag: "v1", files: { "catalog.json": "{}" } } }];
    const result = await run({ id: "kept-tags", steps }, { registry, name: "rkept" });
    expect(result).toMatchObject({
      state: "passed",
      left: [expect.stringMatching(/^127\.0\.0\.1:\d+\/conformance:rkept-kept-tags-main-v1: .*the operation is unsupported/)],
    });
  });

  test("runSuite does not run a scenario when one of its objects exists, and keeps the object", async () => {
    const metadata = { name: "conformance-taken", labels: { team: "a" } };
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata });
    onTestFinished(async () => void (await cluster.client.delete(namespaceOf("taken"))));
    expect(await run({ id: "taken", steps: [{ "given a namespace exists": "$namespace" }] })).toMatchObject({
      state: "notRun",
      message: "Namespace conformance-taken exists, and this run did not create it. Delete it, or wait until its run has ended",
    });
    expect((await cluster.client.get(namespaceOf("taken")))?.metadata).toMatchObject({ labels: { team: "a" } });
  });

  test("a deleted object is gone when a controller has already created another one with its name", async () => {
    const object: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "restored", namespace: "conformance-restored" } };
    const stop = new AbortController();
    // As a controller that restores an object before the client can read that it is gone.
    const controller = (async () => {
      while (!stop.signal.aborted) await cluster.client.create(object).catch(() => undefined);
    })();
    const steps = [
      { "given a namespace exists": "$namespace" },
      { "and these objects exist": ["ConfigMap restored"] },
      { "when an object is deleted": "ConfigMap restored" },
      { "then these objects exist": ["ConfigMap restored"] },
    ];
    const result = await run({ id: "restored", steps }).finally(() => stop.abort());
    await controller;
    expect(result).toMatchObject({ state: "passed" });
  });

  test("runSuite removes extensions before the other objects of a scenario", async () => {
    const deleted: string[] = [];
    const steps = [
      "given the namespace and the installer exist",
      { "and the extension is applied without its namespace": {} },
      { "and another extension is applied": { suffix: "other" } },
      { "then these objects exist": ["ClusterExtension $extension-other"] },
    ];
    const name = createRunName();
    expect(await run({ id: "in-order", steps }, { name })).toMatchObject({ state: "passed" });
    for (const { verb, objectRef } of await cluster.auditEvents())
      if (verb === "delete" && objectRef?.name?.startsWith("conformance-in-order")) deleted.push(`${objectRef.resource} ${objectRef.name}`);
    expect(deleted).toEqual([
      "clusterextensions conformance-in-order-other",
      "clusterextensions conformance-in-order",
      "clusterrolebindings conformance-in-order",
      "namespaces conformance-in-order",
    ]);
  });
});
