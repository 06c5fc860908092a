import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { LoopbackApi, statusAnswer } from "../../../test/support/loopbackApi.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { Client } from "../../kube/client.ts";
import { ConstraintCache, loadCelRules } from "../../operatorcontroller/dependencies/constraintCache.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { InstalledMemberReader } from "./installedMembers.ts";

const SIGNAL = AbortSignal.timeout(20_000);

function installed(name: string): ClusterExtension {
  const providedAPIs = [{ group: "example.com", kind: "Board", versions: ["v1", "v2"] }];
  const status = { install: { bundle: { name: `${name}.v1.2.0`, version: "1.2.0" } }, providedAPIs };
  return { ...createExtension(name, { packageName: name }), status };
}

test("InstalledMemberReader returns the bundle and APIs of the status when the user may not read releases", async () => {
  await using api = await LoopbackApi.start(() => statusAnswer(403, "Forbidden", "secrets is forbidden"));
  const client = Client.of(api.credentials());
  try {
    const reader = new InstalledMemberReader("olmv1-system", new ConstraintCache(loadCelRules));
    const extensions = [installed("a"), createExtension("b", { packageName: "b" })];
    const { members, unknown } = await reader.read({ client } as ClusterIdentity, extensions, SIGNAL);
    expect(
      members.map(({ extension, bundle, provider, declared }) => ({ extension, bundle, apis: provider.apis.length, declared })),
    ).toEqual([{ extension: "a", bundle: "a.v1.2.0", apis: 2, declared: { constraints: [], faults: [] } }]);
    expect(unknown).toEqual([expect.stringMatching(/^The requirements of extension "a" are unknown: .*secrets is forbidden/)]);
  } finally {
    await client.close();
  }
});
