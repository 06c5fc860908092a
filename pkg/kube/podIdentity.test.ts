import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { readPodIdentity } from "./tokens.ts";

function tokenOf(claims: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part(claims)}.signature`;
}

async function identityIn(text: string): Promise<unknown> {
  using folder = new TempFolder();
  return await readPodIdentity(join(folder.write("token", { token: text }), "token"));
}

test("readPodIdentity returns the ServiceAccount in the token's subject", async () => {
  expect(await identityIn(`${tokenOf({ sub: "system:serviceaccount:olmv1-system:catalogd" })}\n`)).toEqual({
    namespace: "olmv1-system",
    name: "catalogd",
  });
});

test("readPodIdentity returns undefined outside of a cluster", async () => {
  expect(await readPodIdentity("/nowhere/token")).toBeUndefined();
});

// Source: C-02.
test.for([
  [tokenOf({ sub: "system:node:worker" }), "badly formatted subject: system:node:worker"],
  [tokenOf({ sub: "system:serviceaccount:a:b:c" }), "badly formatted subject: system:serviceaccount:a:b:c"],
  [tokenOf({ sub: "system:serviceaccount::b" }), "badly formatted subject: system:serviceaccount::b"],
  [tokenOf({ sub: 5 }), "does not contain a JSON Web Token with a subject"],
  ["s3cr3t", "does not contain a JSON Web Token with a subject"],
  ["", "does not contain a JSON Web Token with a subject"],
] as const)("readPodIdentity rejects %j: %s", async ([text, message]) => {
  const refused = await identityIn(text).catch((err: Error) => err.message);
  expect(refused).toContain(message);
  expect(refused).not.toContain("s3cr3t");
});
