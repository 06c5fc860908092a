import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { ANNOTATION_ROLLBACK_TO } from "../../api/constants.ts";
import { ExtensionHistory } from "../../consoleapi/history.ts";
import type { ReleaseRow } from "../../rollout/releaseHistory.ts";
import { buildDrift, buildReleases } from "./historyView.ts";

const EXTENSION = createExtension("kafka", { packageName: "kafka" });
const row = (revision: number, parts: Partial<ReleaseRow> = {}): ReleaseRow => ({
  revision,
  status: "superseded",
  bundle: `kafka.v${revision}`,
  version: `${revision}.0.0`,
  deployed: "2026-01-02T03:04:05Z",
  description: "Install complete",
  pinned: false,
  current: false,
  cause: "",
  ...parts,
});
const OPTIONS = { canRollBack: true, systemNamespace: "olmv1-system" };
const NO_DRIFT = { policy: { policy: "Correct" as const, isTakenOver: false }, objects: [], ignore: [], unwatched: undefined };

test("buildReleases offers a rollback only to other revisions that were applied completely", () => {
  const rows = [row(4, { status: "deployed", current: true }), row(3, { status: "failed" }), row(2, { cause: "install by olmv1" })];
  const { revisions } = buildReleases(rows, EXTENSION, OPTIONS);
  expect(revisions.map(({ revision, state, rollBack, cause }) => [revision, state.mood, rollBack?.request, cause])).toEqual([
    [4, "good", undefined, undefined],
    [3, "bad", undefined, undefined],
    [2, "faint", { action: "rollBack", extension: "kafka", revision: 2 }, "Install by olmv1."],
  ]);
});

test("buildReleases offers neither rollbacks nor the removal of a pin when the OLM of the cluster does not support them", () => {
  const metadata = { name: "kafka", annotations: { [ANNOTATION_ROLLBACK_TO]: "2" } };
  const releases = buildReleases([row(3, { current: true }), row(2)], { metadata }, { ...OPTIONS, canRollBack: false });
  expect(releases).not.toHaveProperty("pin");
  expect(releases.revisions.map(({ rollBack }) => rollBack)).toEqual([undefined, undefined]);
});

test("buildReleases says where the release of the installed bundle is missing", () => {
  const status = { install: { bundle: { name: "kafka.v3", version: "3.0.0" } } };
  expect(buildReleases([], { ...EXTENSION, status }, OPTIONS).note).toBe(
    "Bundle kafka.v3 is installed, but namespace olmv1-system contains no release of it.",
  );
  expect(buildReleases([], EXTENSION, OPTIONS)).not.toHaveProperty("note");
});

test("buildReleases lists releases that cannot be read apart from the others, and offers to remove a pin", () => {
  const metadata = { name: "kafka", annotations: { [ANNOTATION_ROLLBACK_TO]: "2" } };
  const releases = buildReleases(
    [row(0, { status: "unreadable", description: "Secret x is damaged" }), row(2, { pinned: true })],
    { metadata },
    OPTIONS,
  );
  expect(releases).toMatchObject({
    unreadable: ["Secret x is damaged"],
    pin: "2",
    removePin: { request: { action: "removePin", extension: "kafka" } },
  });
  expect(releases.revisions.map(({ revision, isPinned }) => [revision, isPinned])).toEqual([[2, true]]);
});

test("buildDrift offers the other policies, and YAML that keeps the drifted fields and the existing rules", () => {
  const old = { target: { kind: "Service" }, paths: ["/spec/ports"] };
  const extension = { ...EXTENSION, spec: { ...EXTENSION.spec, drift: { policy: "Warn" as const, ignore: [old] } } };
  const field = { path: "spec.replicas", managers: ["kubectl-edit"], live: "3", released: "1", pointer: "/spec/replicas" };
  const target = { group: "apps", kind: "Deployment", namespace: "a", name: "b" };
  const drift = buildDrift(
    {
      policy: { policy: "Warn", isTakenOver: false },
      objects: [{ ...target, what: "changed", fields: [field], hasLive: true, hasReleased: true }],
      ignore: [{ target, paths: ["/spec/replicas"] }],
      unwatched: undefined,
    },
    extension,
  );
  expect(ExtensionHistory.parse({ releases: { error: "denied" }, drift }).drift).toEqual(drift);
  expect(drift.offers.map(({ request }) => request)).toEqual([
    { action: "setDriftPolicy", extension: "kafka", policy: "Correct" },
    { action: "setDriftPolicy", extension: "kafka", policy: "Ignore" },
  ]);
  expect(drift.objects[0]?.fields).toEqual([{ path: "spec.replicas", managers: ["kubectl-edit"], live: "3", released: "1" }]);
  expect(drift.ignore).toContain("kind: Service");
  expect(drift.ignore).toContain("- /spec/replicas");
  expect(buildDrift(NO_DRIFT, EXTENSION).ignore).toBeUndefined();
});
