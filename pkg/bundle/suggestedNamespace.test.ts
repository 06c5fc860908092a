import { expect, test } from "vitest";
import { isLabel } from "../api/names.ts";
import { readSuggestedNamespace, type SuggestedNamespace } from "./suggestedNamespace.ts";

const SUGGESTED = "operatorframework.io/suggested-namespace";
const TEMPLATE = "operatorframework.io/suggested-namespace-template";
const template = (metadata: object, kind = "Namespace"): string => JSON.stringify({ apiVersion: "v1", kind, metadata });

test.for<[string, Record<string, string>, Partial<SuggestedNamespace>]>([
  ["the package name and -system without a suggestion", {}, { name: "cert-manager-system", labels: {}, annotations: {} }],
  ["the suggested name", { [SUGGESTED]: "certs" }, { name: "certs" }],
  [
    "the name of the template before the suggested name",
    { [SUGGESTED]: "certs", [TEMPLATE]: template({ name: "other" }) },
    { name: "other" },
  ],
  [
    "labels and annotations of the template",
    { [TEMPLATE]: template({ name: "certs", labels: { a: "b", n: 1 }, annotations: { c: "d" } }) },
    { name: "certs", labels: { a: "b" }, annotations: { c: "d" } },
  ],
  [
    "the suggested name with the labels of a template without name",
    { [SUGGESTED]: "certs", [TEMPLATE]: template({ labels: { a: "b" } }) },
    { name: "certs", labels: { a: "b" } },
  ],
  [
    "the suggested name if the name of the template is invalid",
    { [SUGGESTED]: "certs", [TEMPLATE]: template({ name: "../x" }) },
    { name: "certs" },
  ],
  ["the package name if the suggested name is invalid", { [SUGGESTED]: "a.b" }, { name: "cert-manager-system" }],
  ["the package name if the template is another kind", { [TEMPLATE]: template({ name: "certs" }, "Pod") }, { name: "cert-manager-system" }],
  ["the package name if the template is not JSON", { [TEMPLATE]: "{" }, { name: "cert-manager-system" }],
  [
    "the package name if the template has no object as metadata",
    { [TEMPLATE]: '{"kind":"Namespace","metadata":[]}' },
    { name: "cert-manager-system" },
  ],
])("readSuggestedNamespace returns %s", ([, annotations, want]) => {
  expect(readSuggestedNamespace("cert-manager", annotations)).toMatchObject(want);
});

test.for([
  ["a.b", "a-b-system"],
  ["x".repeat(80), `${"x".repeat(56)}-system`],
  [`${"x".repeat(55)}.y`, `${"x".repeat(55)}--system`],
  ["", "operator-system"],
])("readSuggestedNamespace returns a valid label for package %j", ([packageName, want]) => {
  const { name } = readSuggestedNamespace(packageName ?? "", {});
  expect(name).toBe(want);
  expect(isLabel(name)).toBe(true);
});
