import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { UninstallView } from "../../consoleapi/uninstall.ts";
import type { UninstallPreview } from "../../installer/uninstallPreview.ts";
import { buildUninstallView } from "./uninstallView.ts";

const EXTENSION = {
  ...createExtension("backup", { packageName: "backup" }),
  status: {
    install: { bundle: { name: "backup.v1", version: "1.0.0" } },
    inventory: { count: 3, objects: [{ version: "v1", kind: "Service", namespace: "a", name: "b" }] },
  },
};
const definition = (name: string, names: readonly string[], parts: object = {}) => ({
  crd: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name } },
  kind: "Backup",
  names,
  isMore: false,
  ...parts,
});
const PREVIEW = {
  extension: EXTENSION,
  crdPolicy: "DeleteIfUnused" as const,
  installed: { refs: [{ apiVersion: "v1", kind: "Service", namespace: "a", name: "b" }], count: 3 },
  customResources: [definition("used.example.com", ["shop/a", "shop/b"]), definition("unused.example.com", [])],
  blocked: [],
  created: [],
  staying: [],
};

function build(parts: Partial<UninstallPreview> = {}, chosen?: "Delete"): UninstallView {
  return UninstallView.parse(buildUninstallView({ ...PREVIEW, ...parts, extension: EXTENSION }, chosen));
}

test("buildUninstallView shows what is kept and what is deleted, with the number of custom resources", () => {
  const { definitions, effects, objects, command } = build();
  expect(definitions.map(({ name, outcome, count }) => [name, outcome, count])).toEqual([
    ["used.example.com", "kept", "2 custom resources"],
    ["unused.example.com", "unused", "0 custom resources"],
  ]);
  expect(effects[0]).toBe("The controller deletes backup.v1 with 2 objects.");
  expect([objects, command]).toEqual([[{ kind: "Service", namespace: "a", name: "b" }], "olmv1 uninstall backup"]);
});

test("buildUninstallView shows lost data first when the policy deletes it", () => {
  const { definitions, effects, command } = build({ crdPolicy: "Delete" }, "Delete");
  expect(definitions[0]).toMatchObject({ name: "used.example.com", outcome: "lost", names: ["shop/a", "shop/b"] });
  expect(effects[0]).toContain("2 custom resources of used.example.com will be deleted");
  expect(command).toBe("olmv1 uninstall backup --crd-policy Delete");
});

test("buildUninstallView counts data that cannot be counted as lost when the policy deletes it", () => {
  const customResources = [definition("secret.example.com", [], { unknown: "listing is forbidden" })];
  expect(build({ crdPolicy: "Delete", customResources }).definitions).toMatchObject([{ outcome: "lost", unknown: "listing is forbidden" }]);
});

test("buildUninstallView says who depends on the extension, what blocks the uninstall, and what could not be read", () => {
  const dependents = [{ extension: "gateway", bundle: "gateway.v1", needs: ['package "backup" >=1.0.0'] }];
  const view = build({ dependents, blocked: ["CRD x needs its webhook"], unread: ["Roles cannot be read"] });
  expect(view).toMatchObject({ dependents, blocked: ["CRD x needs its webhook"], unread: ["Roles cannot be read"] });
  expect(view.effects).toContain('The uninstall waits until gateway is uninstalled or no longer needs package "backup" >=1.0.0.');
  expect(view.unblock.length).toBeGreaterThan(0);
  expect(build({ dependents: "listing is forbidden" }).dependents).toBe("listing is forbidden");
});

test("buildUninstallView offers no policy, and says that all data is lost, when the Go implementation wrote the status", () => {
  const conditions = [{ type: "Installed", status: "True" as const, reason: "Succeeded", message: "", lastTransitionTime: "" }];
  const extension = { ...EXTENSION, status: { install: EXTENSION.status.install, conditions } };
  const view = UninstallView.parse(buildUninstallView({ ...PREVIEW, crdPolicy: "Delete", extension }, undefined));
  expect(view).toMatchObject({ policies: [], currentPolicy: "Delete", policyNote: expect.stringContaining("deletes all") as string });
});
