import { expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { thingDefinition } from "../../../test/support/thingDefinition.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import { KindNotServed, KubeError } from "../../kube/errors.ts";
import type { ListResult } from "../../kube/options.ts";
import { type CrdUse, crdUse } from "./crdUse.ts";

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

/** A definition as the API server has it. */
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

/** What the list through each version answers; KindNotServed without an entry. */
type Lists = Record<string, KubeObject[] | Error>;

async function useOf(live: KubeObject | undefined, lists: Lists = {}): Promise<{ use: CrdUse; listed: string[] }> {
  const listed: string[] = [];
  const client = {
    get: <T extends KubeObject>() => Promise.resolve(live as T | undefined),
    list: <T extends KubeObject>({ apiVersion, kind }: GroupVersionKind): Promise<ListResult<T>> => {
      listed.push(apiVersion);
      const answer = lists[apiVersion] ?? new KindNotServed(apiVersion, kind);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ items: answer as T[], resourceVersion: "9" });
    },
  };
  return { use: await crdUse(client, definition(), new AbortController().signal), listed };
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
  ["one of two versions answers with an empty list", definition({ versions: [V1, V2] }), { "g.io/v1": BUSY, "g.io/v2": [] }, "unused"],
  ["one of two versions answers with objects", definition({ versions: [V1, V2] }), { "g.io/v2": [THING] }, "CustomResourcesExist"],
])("crdUse decides when %s", async ([, live, lists, want]) => {
  const { use } = await useOf(live, lists);
  expect(use.kind === "in use" ? `${use.reason}${use.retry ? ", retry" : ""}` : use.kind).toBe(want);
});

test("crdUse returns gone when the definition does not exist", async () => {
  expect((await useOf(undefined)).use).toEqual({ kind: "gone" });
});

test("crdUse lists through the storage version first, so that nothing has to be converted", async () => {
  const live = definition({ versions: [V2, V1] });
  expect((await useOf(live, { "g.io/v1": [], "g.io/v2": WEBHOOK })).listed).toEqual(["g.io/v1"]);
});
