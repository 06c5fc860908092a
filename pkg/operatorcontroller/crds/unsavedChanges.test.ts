import { expect, test } from "vitest";
import { thingDefinition } from "../../../test/support/definitions.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_LAST_BACKUP } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { hashCrd } from "./backupRecord.ts";
import { findUnsavedChange, requiresBackup } from "./unsavedChanges.ts";

const BACKUP = "2026-01-31T10:00:00.500Z";
const DEFINITION = thingDefinition("g.io");
const CRD: KubeObject = { ...DEFINITION, metadata: { ...DEFINITION.metadata, uid: "crd-uid" } };
const OLD_FORMAT = { createdAt: BACKUP, crds: 1, objects: 1, sha256: "0".repeat(64) };
const RECORD = JSON.stringify({ ...OLD_FORMAT, crdHashes: ["AAAAAAAA", hashCrd(CRD)] });
const OF_OTHER_CRD = JSON.stringify({ ...OLD_FORMAT, crdHashes: ["AAAAAAAA"] });
const BEFORE = "2026-01-31T09:59:59Z";
const SAME_SECOND = "2026-01-31T10:00:00Z";
const AFTER = "2026-01-31T10:00:01Z";

const made = createExtension("db", { packageName: "db" });
const withBackup = (record: string | undefined): ClusterExtension => ({
  ...made,
  metadata: { ...made.metadata, annotations: record === undefined ? {} : { [ANNOTATION_LAST_BACKUP]: record } },
});
const thing = (metadata: object): KubeObject => ({
  apiVersion: "g.io/v1",
  kind: "Thing",
  metadata: { name: "mine", namespace: "ns", creationTimestamp: BEFORE, ...metadata },
});
const changed = (time: string, subresource?: string): object => ({
  managedFields: [{ manager: "m", time, ...(subresource ? { subresource } : {}) }],
});

function find(objects: readonly KubeObject[] | "not served", record: string | undefined, crd = CRD): Promise<string | undefined> {
  const client = {
    get: () => Promise.resolve(undefined), // no APIService of another server
    raw: () => Promise.resolve({ status: { allowed: true } }),
    listPage: () => {
      if (objects === "not served") return Promise.reject(new KindNotServed("g.io/v1", "Thing"));
      return Promise.resolve(new TextEncoder().encode(JSON.stringify({ kind: "ThingList", metadata: {}, items: objects })));
    },
  };
  return findUnsavedChange(client, withBackup(record), crd, new AbortController().signal);
}

const CHANGED = `the last backup is from ${BACKUP}, and Thing ns/mine was changed`;

test.for<[when: string, objects: KubeObject[], record: string | undefined, expected: string | undefined]>([
  ["no custom resource exists", [], undefined, undefined],
  ["no backup is recorded", [thing({})], undefined, "no backup is recorded, and Thing ns/mine exists"],
  ["the backup is newer", [thing(changed(BEFORE))], RECORD, undefined],
  [
    "a custom resource was created after the backup",
    [thing({}), thing({ creationTimestamp: AFTER })],
    RECORD,
    `${CHANGED} at 2026-01-31T10:00:01.000Z`,
  ],
  ["a custom resource was changed after the backup", [thing(changed(AFTER))], RECORD, `${CHANGED} at 2026-01-31T10:00:01.000Z`],
  [
    "a custom resource was changed in the second of the backup",
    [thing(changed(SAME_SECOND))],
    RECORD,
    `${CHANGED} at 2026-01-31T10:00:00.000Z`,
  ],
  ["only the status was changed after the backup", [thing(changed(AFTER, "status"))], RECORD, undefined],
  ["another subresource was changed after the backup", [thing(changed(AFTER, "scale"))], RECORD, `${CHANGED} at 2026-01-31T10:00:01.000Z`],
  ["a changed custom resource is being deleted", [thing({ ...changed(AFTER), deletionTimestamp: AFTER })], RECORD, undefined],
  [
    "the backup does not contain the CRD of an older custom resource",
    [thing({})],
    OF_OTHER_CRD,
    `the last backup, from ${BACKUP}, does not contain CustomResourceDefinition things.g.io, and Thing ns/mine exists`,
  ],
  ["the backup does not contain a CRD without custom resources", [], OF_OTHER_CRD, undefined],
  [
    "the record of the backup does not name its CRDs",
    [thing({})],
    JSON.stringify(OLD_FORMAT),
    `the last backup, from ${BACKUP}, does not record its CRDs, and Thing ns/mine exists`,
  ],
  ["a time is not a time", [thing({ creationTimestamp: "soon" })], RECORD, `${CHANGED} at an unknown time`],
])("findUnsavedChange returns the first unsaved custom resource, if any, when %s", async ([, objects, record, expected]) => {
  expect(await find(objects, record)).toBe(expected);
});

test("findUnsavedChange reports the custom resources of a CRD as unsaved when the CRD was created again after the backup", async () => {
  const again = { ...CRD, metadata: { ...CRD.metadata, uid: "another-uid" } };
  expect(await find([thing({})], RECORD, again)).toContain("does not contain CustomResourceDefinition things.g.io");
  expect(await find([thing({})], RECORD, DEFINITION)).toContain("does not contain CustomResourceDefinition things.g.io");
});

test("findUnsavedChange reports custom resources that cannot be read as unsaved", async () => {
  expect(await find("not served", RECORD)).toBe(
    "custom resources of CustomResourceDefinition things.g.io cannot be read: the API server does not currently serve them",
  );
  const { spec, ...crd } = CRD;
  expect(await find([], RECORD, { ...crd, spec: { ...(spec as object), versions: [] } })).toBe(
    "CustomResourceDefinition things.g.io serves no version, so its custom resources cannot be read",
  );
});

test.for<[uninstall: ClusterExtension["spec"]["uninstall"], expected: boolean]>([
  [undefined, false],
  [{ crdPolicy: "Delete" }, false],
  [{ crdPolicy: "Delete", backup: "Optional" }, false],
  [{ crdPolicy: "Delete", backup: "Required" }, true],
  [{ crdPolicy: "DeleteIfUnused", backup: "Required" }, false],
  [{ crdPolicy: "Retain", backup: "Required" }, false],
])(
  "requiresBackup returns whether custom resources can be deleted and a backup is required when spec.uninstall is %j",
  ([uninstall, expected]) => {
    expect(requiresBackup({ spec: { ...made.spec, ...(uninstall ? { uninstall } : {}) } })).toBe(expected);
  },
);
