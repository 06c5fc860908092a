import { expect, test } from "vitest";
import { buildObjectPath, buildObjectQuery, formatReference, parseReference } from "./objectLink.ts";

const POD = { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "web-1" };
const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "system:node" };

test("parseReference parses what formatReference formats", () => {
  for (const reference of [POD, ROLE]) expect(parseReference(formatReference(reference))).toEqual(reference);
});

test.for([null, "", "v1 Pod shop", "v1 Pod shop a b", "v1  shop a"])("parseReference rejects %j", (text) => {
  expect(parseReference(text)).toBeUndefined();
});

test("addresses contain the reference", () => {
  expect(buildObjectPath("kafka", POD)).toBe("/extensions/kafka/objects?object=v1+Pod+shop+web-1");
  expect(buildObjectQuery(ROLE)).toBe("apiVersion=rbac.authorization.k8s.io%2Fv1&kind=ClusterRole&name=system%3Anode");
});
