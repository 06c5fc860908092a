import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { BlobFile } from "./download.ts";

const MIB = 1024 * 1024;
const chunk = fc
  .record({ bytes: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 3 * MIB })), value: fc.nat(255) })
  .map(({ bytes, value }) => Buffer.alloc(bytes, value));

test("BlobFile contains the written bytes for any sizes of the pieces", async () => {
  using folder = new TempFolder();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 8 }), async (chunks) => {
      const path = join(folder.path, `blob${count++}`);
      const file = await BlobFile.create(path);
      for (const one of chunks) await file.write(one);
      await file.flush();
      await file.close();
      expect(readFileSync(path).equals(Buffer.concat(chunks))).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test("BlobFile does not write to an existing file", async () => {
  using folder = new TempFolder();
  const path = folder.write("blob", {});
  await expect(BlobFile.create(path)).rejects.toMatchObject({ code: "EEXIST" });
});

test("BlobFile reports a failed write at the next write or flush", async () => {
  using folder = new TempFolder();
  const file = await BlobFile.create(join(folder.path, "blob"));
  await file.write(Buffer.alloc(MIB));
  await file.close();
  await expect(file.write(Buffer.alloc(MIB)).then(() => file.flush())).rejects.toThrow();
});
