import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { AuthorityFolder } from "./certificateAuthorities.ts";

const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

test("AuthorityFolder reads changed certificates after a delay, in the order of their files, and ignores other files", async () => {
  using folder = new TempFolder();
  const dir = folder.write("ca", { "b.crt": pem("b"), "a.pem": pem("a"), "README.md": "none", "..data/b.crt": pem("hidden") });
  let now = 0;
  const authorities = new AuthorityFolder(dir, () => now);
  const first = await authorities.current();
  expect(first.certificates).toEqual([pem("a"), pem("b")]);
  folder.write("ca", { "b.crt": pem("new") });
  expect(await authorities.current()).toBe(first);
  now += 1_000;
  const second = await authorities.current();
  expect([second.certificates, second.fingerprint === first.fingerprint]).toEqual([[pem("a"), pem("new")], false]);
  now += 1_000;
  expect((await authorities.current()).fingerprint).toBe(second.fingerprint);
});

test("AuthorityFolder keeps its certificates when a later read fails, and throws when the first read fails", async () => {
  using folder = new TempFolder();
  const dir = folder.write("ca", { "a.crt": pem("a") });
  let now = 0;
  const authorities = new AuthorityFolder(dir, () => now);
  rmSync(dir, { recursive: true });
  now += 1_000;
  expect((await authorities.current()).certificates).toEqual([pem("a")]);
  expect(() => new AuthorityFolder(dir)).toThrow("ENOENT");
});
