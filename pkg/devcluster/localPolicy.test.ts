import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder } from "../../test/support/pulling.ts";
import { parsePolicy } from "../oci/policy/policyFile.ts";
import { renderLocalPolicy } from "./devServers.ts";

const REGISTRY = "127.0.0.1:5000";

test("renderLocalPolicy applies a strict policy to all registries except the registry of the control plane", async () => {
  const file = join(await folder(), "policy.json");
  await writeFile(
    file,
    '{"default":[{"type":"reject"}],"transports":{"dir":{"":[{"type":"reject"}]},"docker":{"quay.io":[{"type":"reject"}]}}}',
  );
  const policy = parsePolicy((await renderLocalPolicy({ file }, REGISTRY)) ?? "");
  expect([policy.default, [...policy.docker]]).toEqual([
    [{ type: "reject" }],
    [
      ["quay.io", [{ type: "reject" }]],
      [REGISTRY, [{ type: "insecureAcceptAnything" }]],
    ],
  ]);
});

test("renderLocalPolicy returns undefined without a policy file", async () => {
  expect(await renderLocalPolicy({ file: join(await folder(), "policy.json") }, REGISTRY)).toBeUndefined();
});

test("renderLocalPolicy rejects an invalid policy", async () => {
  const file = join(await folder(), "policy.json");
  await writeFile(file, "{}");
  await expect(renderLocalPolicy({ file }, REGISTRY)).rejects.toThrow("Default policy is missing");
});
