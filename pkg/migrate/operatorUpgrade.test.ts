import { expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { ANNOTATION_WITHOUT_SUBSCRIPTION, MIGRATION_FINALIZER } from "../api/migration.ts";
import { decideKeptVersion, OperatorUpgradedError, requireSameVersion } from "./operatorUpgrade.ts";
import type { ConversionSource } from "./planConversion.ts";

const { signal } = new AbortController();

function newObject(kind: string, name: string, parts: { metadata?: JsonObject; spec?: JsonObject; status?: JsonObject } = {}): KubeObject {
  const { metadata = {}, spec = {}, status = {} } = parts;
  return { apiVersion: "operators.coreos.com/v1alpha1", kind, metadata: { name, namespace: "ns", ...metadata }, spec, status };
}
const newCsv = (name: string, replaces?: string, metadata: JsonObject = {}): KubeObject =>
  newObject("ClusterServiceVersion", name, { metadata, spec: replaces === undefined ? {} : { replaces } });
const newSubscription = (installedCSV?: string, metadata: JsonObject = {}): KubeObject =>
  newObject("Subscription", "p", { metadata, status: installedCSV === undefined ? {} : { installedCSV } });

const V1 = newCsv("p.v1");
const AT_V1 = newSubscription("p.v1");
const AT_V2 = newSubscription("p.v2");
const ORPHAN = newSubscription("p.v1", { annotations: { [ANNOTATION_WITHOUT_SUBSCRIPTION]: "p.v1" } });
const COPY = newCsv("q.v9", "p.v1", { labels: { "olm.copiedFrom": "other" } });

interface CheckCase {
  when: string;
  subscription?: KubeObject;
  /** The live Subscription. */
  live?: KubeObject | undefined;
  csvs: KubeObject[];
  isTerminated?: boolean;
  want?: string;
}

test.for<CheckCase>([
  { when: "OLM v0 runs it", live: AT_V1, csvs: [V1, newCsv("q.v1", "q.v0"), COPY] },
  { when: "the Subscription was deleted", csvs: [V1] },
  { when: "it never had a Subscription", subscription: ORPHAN, live: AT_V2, csvs: [V1] },
  { when: "the conversion deleted its ClusterServiceVersion", live: AT_V1, csvs: [], isTerminated: true },
  { when: "its ClusterServiceVersion is gone", live: AT_V1, csvs: [], want: "ClusterServiceVersion ns/p.v1 does not exist" },
  {
    when: "OLM v0 installed another one",
    live: AT_V2,
    csvs: [newCsv("p.v2")],
    want: 'Subscription ns/p has installed "p.v2" in place of "p.v1"',
  },
  {
    when: "OLM v0 installed another one while its ClusterServiceVersion was terminating",
    live: AT_V2,
    csvs: [V1],
    isTerminated: true,
    want: 'Subscription ns/p has installed "p.v2" in place of "p.v1"',
  },
  { when: "OLM v0 replaces it", live: AT_V1, csvs: [V1, newCsv("p.v2", "p.v1")], want: 'ClusterServiceVersion ns/p.v2 replaces "p.v1"' },
  {
    when: "the Subscription was created again",
    live: newSubscription(),
    csvs: [V1],
    want: "Subscription ns/p reports no installed version",
  },
])("requireSameVersion returns '$want' for the version of a conversion when $when", async (given) => {
  const { subscription = AT_V1, live, csvs, isTerminated = false, want } = given;
  const client = { get: async () => live, list: async () => ({ items: csvs }) } as unknown as Parameters<typeof requireSameVersion>[0];
  const extension = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: "e" } } as ConversionSource["extension"];
  const { uid: _, ...metadata } = V1.metadata;
  const checked = requireSameVersion(client, { extension, subscription, csv: { ...V1, metadata } }, { isTerminated, signal });
  if (want === undefined) return checked;
  await expect(checked).rejects.toThrow(OperatorUpgradedError);
  await expect(checked).rejects.toThrow(
    `since the conversion began: ${want}. First keep the version that OLM v0 runs: olmv1 migrate rollback e --yes`,
  );
});

const OURS = newCsv("p.v1", undefined, { finalizers: [MIGRATION_FINALIZER] });
const V2 = newCsv("p.v2", "p.v1");

test.for<[name: string, hasTerminated: boolean, csv: KubeObject | undefined, others: KubeObject[], want: [boolean, boolean]]>([
  ["the conversion has not touched it", false, V1, [], [false, false]],
  ["the conversion stopped while it deleted it", false, OURS, [], [false, true]],
  ["the conversion deleted it", true, undefined, [], [false, true]],
  ["OLM v0 removed it before the conversion did", false, undefined, [], [true, false]],
  ["OLM v0 replaces it", false, V1, [V2], [true, false]],
  ["OLM v0 replaced it although the conversion kept it with a finalizer", false, OURS, [V2], [true, true]],
  ["OLM v0 replaced it after the conversion deleted it", true, undefined, [V2], [true, true]],
])("decideKeptVersion decides whether a rollback restores a ClusterServiceVersion when %s", ([, hasTerminated, csv, others, want]) => {
  const { isReplaced, isTerminated } = decideKeptVersion("p.v1", { subscription: AT_V1, csv, others }, hasTerminated);
  expect([isReplaced, isTerminated]).toEqual(want);
});
