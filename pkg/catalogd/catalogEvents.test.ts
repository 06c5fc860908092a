import { expect, test } from "vitest";
import type { ClusterCatalog, ClusterCatalogStatus } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { computeCatalogEvents } from "./status.ts";

const CATALOG: ClusterCatalog = {
  apiVersion: API_VERSION,
  kind: CLUSTER_CATALOG,
  metadata: { name: "c" },
  spec: { source: { type: "Image", image: { ref: "registry.example/c:v1" } } },
};

type Part = Pick<Condition, "status" | "reason" | "message">;
const succeeded: Part = { status: "True", reason: "Succeeded", message: "stored" };
const retrying: Part = { status: "True", reason: "Retrying", message: "no route to host" };
const blocked: Part = { status: "False", reason: "Blocked", message: "terminal error: no label" };
const serving: Part = { status: "True", reason: "Available", message: "serving" };
const switchedOff: Part = { status: "False", reason: "UserSpecifiedUnavailable", message: "mode is Unavailable" };
const unavailable: Part = { status: "False", reason: "Unavailable", message: "" };

function statusOf(type: string, part: Part): ClusterCatalogStatus {
  return { conditions: [{ type, ...part, lastTransitionTime: "2026-01-01T00:00:00Z" }] };
}

function statusBefore(type: string, part: Part | undefined): { status?: ClusterCatalogStatus } {
  return part ? { status: statusOf(type, part) } : {};
}

test.for<[string, string, Part | undefined, Part, boolean, string[]]>([
  ["a first success", "Progressing", undefined, succeeded, false, []],
  ["a failure", "Progressing", succeeded, retrying, false, ["Retrying: no route to host"]],
  ["the same failure again", "Progressing", retrying, retrying, false, []],
  ["another failure", "Progressing", retrying, { ...retrying, message: "timeout" }, false, ["Retrying: timeout"]],
  ["a persistent failure", "Progressing", retrying, blocked, false, ["Blocked: terminal error: no label"]],
  ["a success after a failure", "Progressing", retrying, succeeded, false, ["Recovered: stored. Previous error: no route to host"]],
  ["a success after a block", "Progressing", blocked, succeeded, false, ["Recovered: stored. Previous error: terminal error: no label"]],
  ["content is served for the first time", "Serving", undefined, serving, false, []],
  ["a catalog became unavailable", "Serving", serving, switchedOff, false, ["UserSpecifiedUnavailable: mode is Unavailable"]],
  [
    "the deletion of a catalog",
    "Serving",
    serving,
    unavailable,
    true,
    ["ContentRemoved: the content was removed because the catalog is being deleted"],
  ],
  ["the loss of content", "Serving", serving, unavailable, false, ["Unavailable: the content is no longer served"]],
  ["the deletion of a catalog that was never served", "Serving", undefined, unavailable, true, []],
])("computeCatalogEvents returns the Events after %s", ([, type, before, after, deleted, want]) => {
  const catalog = { ...CATALOG, metadata: { name: "c", ...(deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}) } };
  const events = computeCatalogEvents({ ...catalog, ...statusBefore(type, before) }, statusOf(type, after));
  expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual(want);
});
