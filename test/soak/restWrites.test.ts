import { expect, test } from "vitest";
import type { Request } from "../support/auditTail.ts";
import { listChangingWrites } from "./restWrites.ts";

const ACCOUNT = "system:serviceaccount:shop:installer";

function write(verb: string, resource: string, name: string): Request {
  const ref = { group: "", resource, namespace: "shop", name, subresource: "" };
  return { account: ACCOUNT, verb, uri: "/", code: 200, reason: "", ref, time: { begin: "", end: "" } };
}

test.for<[what: string, write: Request, after: string | undefined, isListed: boolean]>([
  ["omits a patch when the version of the object is the same", write("patch", "configmaps", "shop"), "7", false],
  ["lists a patch when the version of the object changed", write("patch", "configmaps", "shop"), "8", true],
  ["lists a patch when the object no longer exists", write("patch", "configmaps", "shop"), undefined, true],
  ["lists a deletion when an object with the same version exists", write("delete", "configmaps", "shop"), "7", true],
  ["lists a patch when the kind is not in bundles", write("patch", "clusterextensions", "shop"), "7", true],
])("listChangingWrites %s", ([, one, version, isListed]) => {
  const before = new Map([["configmaps shop/shop", "7"]]);
  const after = new Map(version === undefined ? [] : [["configmaps shop/shop", version]]);
  const text = `${ACCOUNT} ${one.verb} ${one.ref.resource} shop`;
  expect(listChangingWrites([one], before, after)).toEqual(isListed ? [text] : []);
});
