import { expect, test } from "vitest";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_LAST_BACKUP } from "../../api/constants.ts";
import { describeBackup, readBackupRecord } from "./backupRecord.ts";

const RECORD = { createdAt: "2026-01-31T10:00:00.000Z", crds: 2, objects: 12, sha256: "0".repeat(64), crdHashes: ["AAAAAAAA", "BBBBBBBB"] };
const MANY_CRDS = { ...RECORD, crdHashes: Array.from({ length: 5_000 }, (_, i) => String(i).padStart(8, "0")) };
const { crdHashes: _, ...OLD_FORMAT } = RECORD;
const withAnnotation = (text?: string, backup?: "Required"): Pick<ClusterExtension, "metadata" | "spec"> => ({
  spec: {
    source: { sourceType: "Catalog", catalog: { packageName: "db" } },
    ...(backup ? { uninstall: { crdPolicy: "Delete", backup } } : {}),
  },
  metadata: { name: "db", annotations: text === undefined ? {} : { [ANNOTATION_LAST_BACKUP]: text } },
});

test.for<[what: string, text: string | undefined, expected: typeof OLD_FORMAT | undefined]>([
  ["the record when it is valid", JSON.stringify(RECORD), RECORD],
  ["the record when it contains thousands of CRDs", JSON.stringify(MANY_CRDS), MANY_CRDS],
  ["the record when it does not name its CRDs", JSON.stringify(OLD_FORMAT), OLD_FORMAT],
  ["nothing without the annotation", undefined, undefined],
  ["nothing when the annotation is not JSON", "{", undefined],
  ["nothing when a member is missing", JSON.stringify({ ...RECORD, sha256: undefined }), undefined],
  ["nothing when the time is not a time", JSON.stringify({ ...RECORD, createdAt: "\u001B[2Jtoday" }), undefined],
  ["nothing when the annotation is too long", JSON.stringify({ ...RECORD, note: "x".repeat(65_536) }), undefined],
])("readBackupRecord returns %s", ([, text, expected]) => {
  expect(readBackupRecord(withAnnotation(text))).toEqual(expected);
});

test("describeBackup names time and size of the last backup, and the command for a new one", () => {
  expect(describeBackup(withAnnotation(JSON.stringify(RECORD)))).toBe(
    "The last backup is from 2026-01-31T10:00:00.000Z, with 12 custom resources. To make another one: olmv1 backup db",
  );
  expect(describeBackup(withAnnotation())).toBe("No backup is recorded. To make one: olmv1 backup db");
  expect(describeBackup(withAnnotation(undefined, "Required"))).toBe(
    "spec.uninstall.backup is Required. No backup is recorded. To make one: olmv1 backup db",
  );
});
