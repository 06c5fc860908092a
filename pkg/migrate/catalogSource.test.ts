import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { findSourceFault, parseCatalogSource, toClusterCatalog } from "./catalogSource.ts";

interface SourceCase extends CaseHead {
  given: { spec: JsonObject; annotations?: Record<string, string>; intervalMs?: number };
  want: { fault?: string; text?: string; spec?: JsonObject; notes?: string[] };
}

test.for(loadCases<SourceCase>("classic-catalogs"))("$name", ({ given, want }) => {
  const { spec, annotations, intervalMs } = given;
  const object: KubeObject = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "CatalogSource",
    metadata: { name: "community", namespace: "olm", ...(annotations ? { annotations } : {}) },
    spec,
  };
  const source = parseCatalogSource(object);
  const fault = findSourceFault(source);
  expect(fault?.code).toBe(want.fault);
  if (want.text) expect(fault?.text).toBe(want.text);
  if (fault) return;
  const { catalog, notes } = toClusterCatalog(source, { name: "community", image: source.image ?? "", intervalMs });
  expect(catalog.spec).toEqual(want.spec);
  expect(notes).toEqual(want.notes ?? []);
});
