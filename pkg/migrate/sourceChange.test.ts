import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { ANNOTATION_WITHOUT_SUBSCRIPTION } from "../api/migration.ts";
import { findSourceChange } from "./sourceChange.ts";

function object(kind: string, metadata: JsonObject = {}, status: JsonObject = {}): KubeObject {
  const apiVersion = "operators.coreos.com/v1alpha1";
  return { apiVersion, kind, metadata: { name: "p", namespace: "n", uid: "1", generation: 1, ...metadata }, status };
}

const SUBSCRIPTION = object("Subscription", {}, { state: "AtLatestKnown" });
const CSV = object("ClusterServiceVersion", {}, { phase: "Succeeded" });
const ORPHAN = object("Subscription", { annotations: { [ANNOTATION_WITHOUT_SUBSCRIPTION]: "p" } });

test.for<[string, KubeObject, KubeObject[], string | undefined]>([
  ["nothing if all objects are unchanged", SUBSCRIPTION, [SUBSCRIPTION, CSV], undefined],
  [
    "nothing if OLM v0 wrote another part of the status",
    SUBSCRIPTION,
    [{ ...SUBSCRIPTION, status: { state: "AtLatestKnown", lastUpdated: "now" } }, CSV],
    undefined,
  ],
  ["nothing for a ClusterServiceVersion without Subscription", ORPHAN, [CSV], undefined],
  ["the deleted object", SUBSCRIPTION, [SUBSCRIPTION], "ClusterServiceVersion n/p was deleted"],
  [
    "the object with another spec",
    SUBSCRIPTION,
    [object("Subscription", { generation: 2 }, { state: "AtLatestKnown" }), CSV],
    "Subscription n/p was changed",
  ],
  [
    "the object that was created again",
    SUBSCRIPTION,
    [SUBSCRIPTION, object("ClusterServiceVersion", { uid: "2" }, { phase: "Succeeded" })],
    "ClusterServiceVersion n/p was changed",
  ],
  [
    "the object with another state",
    SUBSCRIPTION,
    [SUBSCRIPTION, object("ClusterServiceVersion", {}, { phase: "Failed" })],
    "ClusterServiceVersion n/p was changed",
  ],
])("findSourceChange returns %s", async ([, subscription, live, want]) => {
  const client = { get: async ({ kind }: { kind: string }) => live.find((one) => one.kind === kind) };
  const found = await findSourceChange(client as Parameters<typeof findSourceChange>[0], { subscription, csv: CSV, group: undefined });
  if (want === undefined) expect(found).toBeUndefined();
  else expect(found).toBe(`${want} after the command had checked it`);
});
