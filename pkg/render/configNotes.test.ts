import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject } from "../api/k8s.ts";
import { listConfigNotes } from "./configNotes.ts";
import { renderBundle } from "./render.ts";

interface NotesCase extends CaseHead {
  config: JsonObject | null;
  notes: string[];
}

const deployment = (app: string, label?: Record<string, string>): JsonObject => ({
  name: app,
  label,
  spec: { template: { metadata: { labels: { app } }, spec: { containers: [{ name: "c" }] } } },
});

test.for(loadCases<NotesCase>("config-notes"))("$name", ({ config, notes }) => {
  const bundle = bundleOf({ deployments: [deployment("web", { tier: "front" }), deployment("api")] });
  const objects = renderBundle(bundle, { installNamespace: "ns", config: config ?? undefined });
  expect(listConfigNotes(config, objects)).toEqual(notes);
});

test("listConfigNotes reports a selector without effect for a bundle without Deployments", () => {
  expect(listConfigNotes({ deploymentConfig: { selector: {} } }, renderBundle(bundleOf(), { installNamespace: "ns" }))).toEqual([
    "deploymentConfig.selector in the configuration has no effect: it matches no Deployment in the bundle; existing: none",
  ]);
});
