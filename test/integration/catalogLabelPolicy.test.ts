import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_CATALOG } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { isOlderThan } from "../support/kubernetesVersion.ts";

const POLICY = join(import.meta.dirname, "../../config/admission/catalog-label.yaml");
const FOLDER = "config/admission";
const LABEL = "olm.operatorframework.io/metadata.name";

// Source: C-28; O-11.
if (isOlderThan(36, FOLDER)) test.skip(FOLDER, () => undefined);
else
  describeWithPrivateCluster(FOLDER, (cluster) => {
    const catalog = (name: string, labels: Record<string, string> = {}): KubeObject => ({
      apiVersion: API_VERSION,
      kind: CLUSTER_CATALOG,
      metadata: { name, labels },
      spec: { source: { type: "Image", image: { ref: "quay.io/example/catalog:v1" } } },
    });

    beforeAll(async () => {
      await cluster.installCrds();
      for (const object of loadAll(readFileSync(POLICY, "utf8")) as KubeObject[])
        await cluster.client.apply(object, { fieldManager: "test", force: true });
      // The API server takes a moment to apply the policy.
      await eventually(async () => {
        const probe = await cluster.client.create(catalog("probe"), { dryRun: true });
        expect(probe.metadata.labels?.[LABEL]).toBe("probe");
      });
    });

    test("the admission policy sets the name label of a new catalog, overwrites another value, and keeps other labels", async () => {
      const created = await cluster.client.create(catalog("made", { team: "a", [LABEL]: "another" }));
      expect(created.metadata.labels).toEqual({ team: "a", [LABEL]: "made" });
    });

    test("the admission policy restores the name label when a request removes the label", async () => {
      await cluster.client.create(catalog("kept"));
      const ref = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "kept" };
      const changed = await cluster.client.patch(ref, { metadata: { labels: { [LABEL]: null, team: "b" } } }, { type: "merge" });
      expect(changed.metadata.labels).toEqual({ team: "b", [LABEL]: "kept" });
    });
  });
