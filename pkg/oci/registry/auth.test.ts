import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import cases from "../../../test/cases/oci/credentials.json" with { type: "json" };
import { parseReference } from "../reference.ts";
import { findCredentials, mergeAuthEntries, type RegistryCredentials, readAuthFile, readLogins, readPullSecret } from "./authFile.ts";

interface Case {
  name: string;
  file: unknown;
  want: Record<string, string>;
}

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "olmv1-auth-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function read(content: unknown): Promise<(ref: string) => RegistryCredentials | undefined> {
  const path = join(dir, "auth.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  const file = await readAuthFile(path);
  return (text) => {
    const ref = parseReference(text);
    return findCredentials(file, ref.registry, ref.repository);
  };
}

function shown(credentials: RegistryCredentials | undefined): string {
  if (!credentials) return "";
  return `${credentials.username}:${credentials.password}${credentials.identityToken ? `+${credentials.identityToken}` : ""}`;
}

test.for(cases.cases as unknown as Case[])("credentials: $name", async ({ file, want }) => {
  const find = await read(file);
  expect(Object.fromEntries(Object.keys(want).map((ref) => [ref, shown(find(ref))]))).toEqual(want);
});

test("an auth entry may have separate user name and password fields, or only a token", async () => {
  const find = await read({
    auths: {
      "a.local": { username: "u", password: "p" },
      "b.local": { identitytoken: "idt" },
      "c.local": { registrytoken: "rt" },
      "d.local": { auth: Buffer.from("fromAuth:x").toString("base64"), username: "other", password: "y" },
    },
  });
  expect(find("a.local/x:1")).toMatchObject({ username: "u", password: "p" });
  expect(find("b.local/x:1")?.identityToken).toBe("idt");
  expect(find("c.local/x:1")?.registryToken).toBe("rt");
  expect(find("d.local/x:1")?.username).toBe("fromAuth");
});

test("readAuthFile returns no credentials when the file does not exist", async () => {
  expect((await readAuthFile(join(dir, "absent.json"))).size).toBe(0);
  expect((await readAuthFile(undefined)).size).toBe(0);
});

test("a credentials file in a command-line option must exist, and without the option the files of podman and docker are read", async () => {
  const home = await mkdtemp(join(dir, "home-"));
  const file = join(home, ".docker", "config.json");
  await expect(readLogins(file, {}, home).entries()).rejects.toThrow(`reading JSON file "${file}": ENOENT`);
  expect((await readLogins(undefined, {}, home).entries()).size).toBe(0);
  await mkdir(join(home, ".docker"));
  await writeFile(file, '{"auths": {"quay.io": {}}}');
  expect([...(await readLogins(undefined, {}, home).entries()).keys()]).toEqual(["quay.io"]);
  expect([...(await readLogins(file, {}, "").entries()).keys()]).toEqual(["quay.io"]);
});

test.for(['{"auths": {"quay.io": {"auth": "c2VjcmV0', '{"auths": {"quay.io": "c2VjcmV0"}}', "c2VjcmV0"])(
  "the error for an invalid credentials file does not contain the file's content",
  async (content) => {
    const { message } = await read(content).then(
      () => new Error("read"),
      (err: Error) => err,
    );
    expect(message).toMatch(/^reading JSON file ".*auth.json": /);
    expect(message).not.toContain("c2Vjc");
  },
);

// Source: C-02, "Pull credentials".
test.for([
  ["a whole configuration", '{"auths":{"a":{"auth":"x"}},"credHelpers":{"b":"c"}}', "config", { a: { auth: "x" } }],
  ["one without entries", "{}", "config", {}],
  ["one with null entries", '{"auths":null}', "config", {}],
  [
    "only entries",
    '{"a":{"username":"u","password":"p","identitytoken":"i"}}',
    "cfg",
    { a: { username: "u", password: "p", identitytoken: "i" } },
  ],
  ["a configuration in place of entries", '{"auths":{"a":{"auth":5}}}', "config", undefined],
  ["invalid JSON", "{", "config", undefined],
  ["invalid JSON", "{", "cfg", undefined],
  ["a list", "[]", "cfg", undefined],
  ["a string", '"x"', "config", undefined],
] as const)("a pull secret with %s: %s", ([, text, form, want]) => {
  const entries = readPullSecret(text, form);
  expect(entries && Object.fromEntries(entries)).toEqual(want);
});

test("the last credentials file with an entry for the registry takes precedence", () => {
  const [first, second] = [new Map([["a", { auth: "1" }]]), new Map([["a", { auth: "2" }]])];
  expect([...mergeAuthEntries([first, second, new Map([["b", {}]])])]).toEqual([
    ["a", { auth: "2" }],
    ["b", {}],
  ]);
});
