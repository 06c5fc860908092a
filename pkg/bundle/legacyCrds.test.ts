import { expect, test } from "vitest";
import { bundleOf, createCrd } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject } from "../api/k8s.ts";
import { explainLegacyCrds } from "./legacyCrds.ts";

interface ConversionCase extends CaseHead {
  crds: JsonObject[];
  says: string[];
}

test.for(loadCases<ConversionCase>("bundle-legacy-crds"))("explainLegacyCrds: $name", ({ crds, says }) => {
  expect(explainLegacyCrds(bundleOf({ crds }))).toEqual(says);
});

test("explainLegacyCrds lists ten CRDs and truncates long names", () => {
  const names = Array.from({ length: 12 }, (_, i) => `${"x".repeat(300)}${i + 10}`);
  const crds = names.map((name) => ({ ...createCrd(name), apiVersion: "apiextensions.k8s.io/v1beta1" }));
  const [sentence = "", ...more] = explainLegacyCrds(bundleOf({ crds }));
  expect(more).toEqual([]);
  expect(sentence).toContain(`"${"x".repeat(200)}…" and 2 more use apiextensions.k8s.io/v1beta1`);
  expect(sentence.length).toBeLessThan(3_000);
});
