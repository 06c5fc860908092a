import { expect, test } from "vitest";
import { describeInstalledSubject } from "./riskSubject.ts";

const PLACE = { installNamespace: "argocd", systemNamespace: "olmv1-system" };
const WEBHOOK = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };

test("describeInstalledSubject returns names by resource, and the groups of definitions", () => {
  const subject = describeInstalledSubject(
    [
      { ...WEBHOOK, name: "first" },
      { ...WEBHOOK, name: "second" },
      { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "argocds.argoproj.io" },
      { apiVersion: "example.com/v1", kind: "Unknown", name: "x" },
    ],
    PLACE,
  );
  expect(subject).toEqual({
    ...PLACE,
    ownNames: new Map([
      ["admissionregistration.k8s.io/validatingwebhookconfigurations", new Set(["first", "second"])],
      ["apiextensions.k8s.io/customresourcedefinitions", new Set(["argocds.argoproj.io"])],
    ]),
    ownGroups: new Set(["argoproj.io"]),
  });
});

test("describeInstalledSubject returns nothing without inventory", () => {
  expect(describeInstalledSubject([], PLACE)).toEqual({ ...PLACE, ownNames: new Map(), ownGroups: new Set() });
});
