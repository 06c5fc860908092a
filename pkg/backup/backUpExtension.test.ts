import { join } from "node:path";
import { expect, test } from "vitest";
import { thingDefinition } from "../../test/support/definitions.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { KubeObject } from "../api/k8s.ts";
import { hashCrd } from "../operatorcontroller/crds/backupRecord.ts";
import { backUpExtension } from "./backUpExtension.ts";

const CRDS = ["a.example.com", "b.example.com"].map((group): KubeObject => {
  const crd = thingDefinition(group);
  return { ...crd, metadata: { ...crd.metadata, uid: `uid of ${group}` } };
});

test("backUpExtension returns a record with the hashes of all CRDs that the backup contains", async () => {
  using folder = new TempFolder();
  const client = {
    list: () => Promise.resolve({ items: CRDS as never[], resourceVersion: "1" }),
    listPage: () => Promise.resolve(new TextEncoder().encode(JSON.stringify({ kind: "ThingList", metadata: {}, items: [] }))),
  };
  const record = await backUpExtension(client, {
    extension: "things",
    path: join(folder.path, "backup.gz"),
    createdAt: "2026-01-31T10:00:00.000Z",
    signal: new AbortController().signal,
  });
  expect(record).toMatchObject({ createdAt: "2026-01-31T10:00:00.000Z", crds: 2, objects: 0, crdHashes: CRDS.map(hashCrd) });
  expect(new Set(record.crdHashes).size).toBe(2);
});
