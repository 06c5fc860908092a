import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { decodedRecord } from "../../../test/support/releases.ts";
import { describeWithData } from "../../../test/support/sharedData.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { describeObject } from "../identity.ts";
import { determineOwnership } from "../ownership.ts";
import { sortForInstall } from "../plan.ts";
import { encodeRelease } from "./encode.ts";

const UID = "de01cff8-b215-4f47-875a-a4433262ab14";

function payloadOf(index: KubeObject): JsonObject {
  const { chunk = "" } = index["data"] as Record<string, string>;
  return JSON.parse(gunzipSync(Buffer.from(chunk, "base64")).toString("utf8")) as JsonObject;
}

describeWithData("releases of the Go operator-controller", (folder) => {
  const read = (file: string): KubeObject[] => {
    const content = JSON.parse(readFileSync(join(folder, "go-release", file), "utf8")) as KubeObject[] | { items: KubeObject[] };
    return Array.isArray(content) ? content : content.items;
  };

  test("decodeRelease reads releases of the Go operator-controller", () => {
    const [first, second] = read("secrets.json").map((secret) => decodedRecord(secret, []));
    expect({ ...first, annotations: {}, objects: [] }).toEqual({
      name: "flux",
      namespace: "flux-system",
      version: 1,
      status: "superseded",
      description: "Install complete",
      firstDeployed: "2026-11-21T11:52:06.762083078Z",
      lastDeployed: "2026-11-21T11:52:06.762083078Z",
      labels: {
        "olm.operatorframework.io/bundle-name": "flux-operator.v0.37.1",
        "olm.operatorframework.io/bundle-reference": "127.0.0.1:5005/bundles/flux-operator:v0.37.1",
        "olm.operatorframework.io/bundle-version": "0.37.1",
        "olm.operatorframework.io/package-name": "flux-operator",
      },
      annotations: {},
      objects: [],
    });
    expect(second).toMatchObject({ version: 2, status: "deployed", description: "Upgrade complete" });
    expect(second?.annotations["containerImage"]).toBe("ghcr.io/controlplaneio-fluxcd/flux-operator:v0.38.1-ubi");
    const kinds = second?.objects.map(({ kind }) => kind);
    expect(kinds).toEqual([
      "ServiceAccount",
      ...Array.from({ length: 4 }, () => "CustomResourceDefinition"),
      "ClusterRole",
      "ClusterRoleBinding",
      "Service",
      "Deployment",
    ]);
  });

  test("encodeRelease preserves every member of a release of the Go operator-controller, and its manifest byte for byte", () => {
    for (const secret of read("secrets.json")) {
      const record = decodedRecord(secret, []);
      const [index] = encodeRelease(record, { systemNamespace: "olmv1-system", owner: { name: "flux", uid: UID } });
      if (!index) throw new Error("no index");
      const { chart, ...ours } = payloadOf(index);
      const { chart: goChart, ...theirs } = payloadOf(secret);
      expect(ours).toEqual(theirs);
      expect(Object.keys(payloadOf(index))).toEqual(Object.keys(payloadOf(secret)));
      expect(Object.keys(chart as object)).toEqual(Object.keys(goChart as object));
      expect((chart as JsonObject)["metadata"]).toEqual((goChart as JsonObject)["metadata"]);
      const { name, namespace, ownerReferences, labels } = index.metadata;
      expect({ name, namespace, ownerReferences }).toEqual({
        name: secret.metadata.name,
        namespace: secret.metadata.namespace,
        ownerReferences: secret.metadata.ownerReferences,
      });
      expect({ ...secret.metadata.labels, createdAt: "", modifiedAt: "" }).toEqual({ ...labels, createdAt: "", modifiedAt: "" });
      expect([index["type"], index["immutable"]]).toEqual([secret["type"], secret["immutable"]]);
    }
  });

  test("sortForInstall matches the order in which Go applied its releases", () => {
    for (const secret of read("secrets.json")) {
      const { objects } = decodedRecord(secret, []);
      expect(sortForInstall(objects).map(({ kind }) => kind)).toEqual(objects.map(({ kind }) => kind));
    }
  });

  test("determineOwnership returns that objects of a Go release belong to the extension only if the uid matches", () => {
    const objects = read("live-objects.json");
    expect(objects.length).toBe(9);
    for (const object of objects) {
      const owner = { name: "flux", uid: UID, installNamespace: "flux-system" };
      expect([describeObject(object), determineOwnership(object, owner).kind]).toEqual([describeObject(object), "ours"]);
      expect(determineOwnership(object, { ...owner, name: "other", uid: "1" })).toMatchObject({ kind: "foreign", owner: "flux" });
    }
  });
});
