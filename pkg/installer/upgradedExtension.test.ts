import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO } from "../api/constants.ts";
import { buildUpgradedExtension, type UpgradeChange } from "./extensionSpec.ts";

const EXTENSION = createExtension("x", { packageName: "p", version: "1.x", channels: ["stable"] });

test.for<[string, UpgradeChange, object]>([
  ["nothing", { channel: [] }, { version: "1.x", channels: ["stable"] }],
  ["another range", { version: "2.x", channel: [] }, { version: "2.x", channels: ["stable"] }],
  ["any version", { anyVersion: true, channel: [] }, { channels: ["stable"] }],
  ["other channels", { channel: ["fast"] }, { version: "1.x", channels: ["fast"] }],
])("buildUpgradedExtension applies %s", ([, change, want]) => {
  const { catalog } = buildUpgradedExtension(EXTENSION, change).spec.source;
  expect(catalog).toEqual({ packageName: "p", upgradeConstraintPolicy: "CatalogProvided", ...want });
});

test.for<[string, (extension: ClusterExtension) => void, string]>([
  ["is being deleted", ({ metadata }) => (metadata.deletionTimestamp = "2026-03-10T12:00:00Z"), "is being deleted"],
  ["is suspended", ({ spec }) => (spec.suspend = true), "spec.suspend"],
  ["is pinned to a revision", ({ metadata }) => (metadata.annotations = { [ANNOTATION_ROLLBACK_TO]: "3" }), "olmv1 rollback x --cancel"],
])("buildUpgradedExtension rejects an extension that %s", ([, change, text]) => {
  const extension = structuredClone(EXTENSION);
  change(extension);
  expect(() => buildUpgradedExtension(extension, { channel: [] })).toThrow(text);
});
