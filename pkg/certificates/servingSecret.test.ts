import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { buildServingSecret, getServingSecretName, listCertificateHostNames, parseServingSecret } from "./servingCertificate.ts";

const PLACE = getServingSecretName("catalogd", "olmv1-system");
const LABEL = "olm.operatorframework.io/self-managed-certificate";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function secret(parts: { labels?: Record<string, string>; data?: Record<string, string>; immutable?: boolean }): KubeObject {
  const { labels, ...rest } = parts;
  return { apiVersion: "v1", kind: "Secret", metadata: { name: PLACE.name, resourceVersion: "7", ...(labels ? { labels } : {}) }, ...rest };
}

test.for([
  ["without the owner label", secret({ data: {} }), { kind: "foreign", reason: `the Secret has no label ${LABEL}=catalogd` }],
  ["managed by cert-manager", secret({ data: { "tls.crt": base64("x") } }), { kind: "foreign" }],
  ["with the owner label of operator-controller", secret({ labels: { [LABEL]: "operator-controller" } }), { kind: "foreign" }],
  [
    "that is immutable",
    secret({ labels: { [LABEL]: "catalogd" }, immutable: true }),
    { kind: "foreign", reason: "the Secret is immutable" },
  ],
  ["without data", secret({ labels: { [LABEL]: "catalogd" } }), { kind: "empty" }],
  ["with other content", secret({ labels: { [LABEL]: "catalogd" }, data: { note: base64("x"), "tls.crt": "" } }), { kind: "empty" }],
  ["with half of a key pair", secret({ labels: { [LABEL]: "catalogd" }, data: { "tls.key": base64("x") } }), { kind: "stored" }],
] as const)("parseServingSecret classifies a Secret %s", ([, given, want]) => {
  expect(parseServingSecret(given, PLACE)).toMatchObject(want);
});

test("parseServingSecret returns kind missing for an undefined Secret", () => {
  expect(parseServingSecret(undefined, PLACE)).toEqual({ kind: "missing" });
});

test("buildServingSecret keeps the resourceVersion, and labels and data from other writers", () => {
  const live = secret({
    labels: { [LABEL]: "catalogd", mine: "x" },
    data: { note: "bm90ZQ==", "next.crt": base64("old"), "next.key": "" },
  });
  const written = buildServingSecret(live, PLACE, { serving: { certificate: "C", key: "K" }, authorities: ["A"] });
  expect(written.metadata).toEqual(live.metadata);
  expect(written["data"]).toEqual({ note: "bm90ZQ==", "tls.crt": base64("C"), "tls.key": base64("K"), "ca.crt": base64("A\n") });
});

test("buildServingSecret creates a Secret of type Opaque that parseServingSecret accepts", () => {
  const made = buildServingSecret(undefined, PLACE, { serving: { certificate: "C", key: "K" }, authorities: [] });
  expect(made).toMatchObject({ type: "Opaque", metadata: { name: "catalogd-serving-cert", namespace: "olmv1-system" } });
  expect(parseServingSecret(made, PLACE).kind).toBe("stored");
});

test.for([
  ["a.ns.svc", ["a.ns", "a.ns.svc", "a.ns.svc.cluster.local"]],
  ["a.ns.svc.cluster.local", ["a.ns", "a.ns.svc", "a.ns.svc.cluster.local"]],
  ["localhost", ["localhost"]],
  ["catalogs.example.com", ["catalogs.example.com"]],
] as const)("listCertificateHostNames for %s returns %j", ([host, names]) => {
  expect(listCertificateHostNames(host)).toEqual(names);
});
