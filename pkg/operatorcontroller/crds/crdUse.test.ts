import { expect, test } from "vitest";
import { thingDefinition } from "../../../test/support/definitions.ts";
import { refusal } from "../../../test/support/extensionFakes.ts";
import type { GroupVersionKind, KubeObject, ObjectRef } from "../../api/k8s.ts";
import { KindNotServed, KubeError } from "../../kube/errors.ts";
import type { ListResult } from "../../kube/request.ts";
import { type CrdUse, checkCrdUse } from "./crdUse.ts";

const ACCEPTED = [
  { type: "NamesAccepted", status: "True" },
  { type: "Established", status: "True" },
];
const THING: KubeObject = { apiVersion: "g.io/v1", kind: "Thing", metadata: { name: "mine" } };
const MISSING = new KubeError("the server could not find the requested resource", { status: 404, reason: "NotFound" });
const BUSY = new KubeError("etcdserver: leader changed", { status: 503, reason: "ServiceUnavailable" });
const WEBHOOK = new KubeError("conversion webhook for g.io/v2, Kind=Thing failed", { status: 500, reason: "InternalError" });
const BROKEN = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

type Version = { name: string; served: boolean; storage: boolean };
const V1: Version = { name: "v1", served: true, storage: true };
const V2: Version = { name: "v2", served: true, storage: false };

/** A definition as the API server returns it. */
function definition({
  versions = [V1],
  conditions = ACCEPTED,
  ...metadata
}: Record<string, unknown> & { versions?: Version[] } = {}): KubeObject {
  const { spec, ...crd } = thingDefinition("g.io");
  return {
    ...crd,
    metadata: { ...crd.metadata, uid: "1", resourceVersion: "7", ...metadata },
    spec: { ...(spec as object), versions },
    status: { conditions, storedVersions: ["v1"] },
  };
}

/** The lists of custom resources by version. Listing a version without an entry fails with KindNotServed. */
type Lists = Record<string, KubeObject[] | Error>;

/** The servers of the versions: APIServices by apiVersion, or the error of reading them, and the discovery resource lists by path. */
interface Serving {
  apiServices?: Record<string, KubeObject> | Error;
  discovery?: Record<string, unknown>;
}

async function runCheck(
  live: KubeObject | undefined,
  lists: Lists = {},
  { apiServices = {}, discovery = {} }: Serving = {},
): Promise<{ use: CrdUse; listed: string[] }> {
  const listed: string[] = [];
  const client = {
    get: <T extends KubeObject>({ kind, name }: ObjectRef): Promise<T | undefined> => {
      if (kind !== "APIService") return Promise.resolve(live as T | undefined);
      return apiServices instanceof Error ? Promise.reject(apiServices) : Promise.resolve(apiServices[name] as T | undefined);
    },
    raw: (_method: string, path: string): Promise<unknown> => {
      if (path.endsWith("/selfsubjectaccessreviews")) return Promise.resolve({ status: { allowed: apiServices !== DENIED } });
      const answer = discovery[path];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    list: <T extends KubeObject>({ apiVersion, kind }: GroupVersionKind): Promise<ListResult<T>> => {
      listed.push(apiVersion);
      const answer = lists[apiVersion] ?? new KindNotServed(apiVersion, kind);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ items: answer as T[], resourceVersion: "9" });
    },
  };
  return { use: await checkCrdUse(client, definition(), new AbortController().signal), listed };
}

const condition = (type: string, status: string): object[] => [...ACCEPTED.filter((known) => known.type !== type), { type, status }];

test.for<[name: string, live: KubeObject, lists: Lists, want: string]>([
  ["the list is complete and empty", definition(), { "g.io/v1": [] }, "unused"],
  ["custom resources exist", definition(), { "g.io/v1": [THING] }, "CustomResourcesExist"],
  ["no version is served", definition({ versions: [{ ...V1, served: false }] }), { "g.io/v1": [] }, "NoServedVersion"],
  ["there are no versions", definition({ versions: [] }), {}, "NoServedVersion"],
  ["the API server does not serve the group", definition(), {}, "NotServed"],
  ["the path of the version is not found", definition(), { "g.io/v1": MISSING }, "ListFailed"],
  ["the list is denied", definition(), { "g.io/v1": refusal(403, "Forbidden", "no") }, "ListDenied"],
  ["a conversion webhook fails", definition({ versions: [V2] }), { "g.io/v2": WEBHOOK }, "ListFailed"],
  ["the API server is busy", definition(), { "g.io/v1": BUSY }, "ListFailed, retry"],
  ["the connection breaks", definition(), { "g.io/v1": BROKEN }, "ListFailed, retry"],
  ["the names are not accepted", definition({ conditions: condition("NamesAccepted", "False") }), { "g.io/v1": [] }, "NamesNotAccepted"],
  ["it is not established", definition({ conditions: condition("Established", "False") }), { "g.io/v1": [] }, "NotEstablished"],
  ["it has no conditions yet", definition({ conditions: [] }), { "g.io/v1": [] }, "NamesNotAccepted"],
  [
    "its custom resources are being deleted",
    definition({ conditions: condition("Terminating", "True") }),
    { "g.io/v1": [] },
    "BeingDeleted",
  ],
  ["it is being deleted", definition({ deletionTimestamp: "2026-01-01T00:00:00Z" }), { "g.io/v1": [] }, "BeingDeleted"],
  ["another definition has its name", definition({ uid: "2" }), { "g.io/v1": [] }, "gone"],
  ["the list of one of two versions is empty", definition({ versions: [V1, V2] }), { "g.io/v1": BUSY, "g.io/v2": [] }, "unused"],
  ["the list of one of two versions has objects", definition({ versions: [V1, V2] }), { "g.io/v2": [THING] }, "CustomResourcesExist"],
])("checkCrdUse decides whether a CRD is in use when %s", async ([, live, lists, want]) => {
  const { use } = await runCheck(live, lists);
  expect(use.kind === "in use" ? `${use.reason}${use.retry ? ", retry" : ""}` : use.kind).toBe(want);
});

test("checkCrdUse returns gone when the CRD does not exist", async () => {
  expect((await runCheck(undefined)).use).toEqual({ kind: "gone" });
});

test("checkCrdUse lists custom resources in the storage version first, because that list needs no conversion", async () => {
  const live = definition({ versions: [V2, V1] });
  expect((await runCheck(live, { "g.io/v1": [], "g.io/v2": WEBHOOK })).listed).toEqual(["g.io/v1"]);
});

const apiService = (spec: object): KubeObject => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "x" },
  spec,
});
const LOCAL = apiService({ group: "g.io" });
const SHADOW = apiService({ group: "g.io", service: { namespace: "ns", name: "server" } });
const DENIED = refusal(403, "Forbidden", "no");
const newResourceList = (...resources: object[]): object => ({ kind: "APIResourceList", resources });
/** The hash of g.io/v1/Thing. */
const HASH = "bME24V7Wk94=";
const STATUS = { name: "things/status", kind: "Thing" };

test.for<[name: string, versions: Version[], serving: Serving, want: string]>([
  ["its APIService is local", [V1], { apiServices: { "v1.g.io": LOCAL } }, "unused"],
  ["another API server serves its version", [V1], { apiServices: { "v1.g.io": SHADOW } }, "ServedElsewhere"],
  ["another API server serves the first of two versions", [V1, V2], { apiServices: { "v1.g.io": SHADOW } }, "unused"],
  ["another API server serves both versions", [V1, V2], { apiServices: { "v1.g.io": SHADOW, "v2.g.io": SHADOW } }, "ServedElsewhere"],
  ["the cluster has no APIServices", [V1], { apiServices: new KindNotServed("apiregistration.k8s.io/v1", "APIService") }, "unused"],
  [
    "APIServices are denied and discovery has its hash",
    [V1],
    {
      apiServices: DENIED,
      discovery: { "/apis/g.io/v1": newResourceList(STATUS, { name: "things", kind: "Thing", storageVersionHash: HASH }) },
    },
    "unused",
  ],
  [
    "APIServices are denied and discovery has another hash",
    [V1],
    {
      apiServices: DENIED,
      discovery: { "/apis/g.io/v1": newResourceList({ name: "things", kind: "Thing", storageVersionHash: "AAAAAAAAAAA=" }) },
    },
    "ServedElsewhere",
  ],
  [
    "APIServices are denied and discovery has no hash",
    [V1],
    { apiServices: DENIED, discovery: { "/apis/g.io/v1": newResourceList({ name: "things", kind: "Thing" }) } },
    "ServedElsewhere",
  ],
  ["APIServices and discovery are denied", [V1], { apiServices: DENIED, discovery: { "/apis/g.io/v1": DENIED } }, "ServedElsewhere"],
  ["the API server is busy when its APIService is read", [V1], { apiServices: BUSY }, "ListFailed, retry"],
])("checkCrdUse decides whether a CRD with an empty list of custom resources is unused when %s", async ([, versions, serving, want]) => {
  const { use } = await runCheck(definition({ versions }), { "g.io/v1": [], "g.io/v2": [] }, serving);
  expect(use.kind === "in use" ? `${use.reason}${use.retry ? ", retry" : ""}` : use.kind).toBe(want);
});
