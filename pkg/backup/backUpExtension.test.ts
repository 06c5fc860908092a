import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { thingDefinition } from "../../test/support/definitions.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { HttpBody, HttpResponse } from "../http/types.ts";
import { type BackupRecord, hashCrd } from "../operatorcontroller/crds/backupRecord.ts";
import { backUpExtension } from "./backUpExtension.ts";
import { type BackupHead, verifyBackup } from "./backupFile.ts";

const CRDS = ["a.example.com", "b.example.com"].map((group): KubeObject => {
  const crd = thingDefinition(group);
  return { ...crd, metadata: { ...crd.metadata, uid: `uid of ${group}` } };
});

/** An API server whose clock is at least a year slow. */
class BackupApi {
  readonly requests: string[] = [];

  request = async (_method: string, path: string): Promise<HttpResponse> => {
    this.requests.push(path);
    const headers = { date: "Fri, 31 Jan 2025 10:00:00 GMT" };
    return { statusCode: 200, headers, body: Readable.from([Buffer.from("{}")]) as HttpBody };
  };

  list = async () => {
    this.requests.push("CRDs");
    return { items: CRDS as never[], resourceVersion: "1" };
  };

  listPage = async ({ apiVersion }: { apiVersion: string }): Promise<Uint8Array> => {
    this.requests.push(apiVersion);
    return new TextEncoder().encode(JSON.stringify({ kind: "ThingList", metadata: {}, items: [] }));
  };
}

async function backUp(api: BackupApi): Promise<{ record: BackupRecord; file: BackupHead }> {
  using folder = new TempFolder();
  const path = join(folder.path, "backup.gz");
  const record = await backUpExtension(api, { extension: "things", path, signal: new AbortController().signal });
  return { record, file: await verifyBackup(path) };
}

test("backUpExtension returns a record with the hashes of all CRDs that the backup contains", async () => {
  const { record } = await backUp(new BackupApi());
  expect(record).toMatchObject({ crds: 2, objects: 0, crdHashes: CRDS.map(hashCrd) });
  expect(new Set(record.crdHashes).size).toBe(2);
});

test("backUpExtension uses the time of the API server before the first list when the clock of this machine is ahead", async () => {
  const api = new BackupApi();
  const { record, file } = await backUp(api);
  expect([record.createdAt, file.createdAt]).toEqual(Array.from({ length: 2 }, () => "2025-01-31T10:00:00.000Z"));
  expect(api.requests).toEqual(["/version", "CRDs", "a.example.com/v1", "b.example.com/v1"]);
});
