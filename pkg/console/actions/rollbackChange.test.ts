import { join } from "node:path";
import { expect, test } from "vitest";
import { ActionApi } from "../../../test/support/actionApi.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { LABEL_BUNDLE_REFERENCE, LABEL_CREATED_FOR } from "../../api/constants.ts";
import { encodeRelease } from "../../release/storage/encode.ts";
import type { ReaderOptions } from "../../sources/bundleReader.ts";

const PATH = "/apis/olm.operatorframework.io/v1/clusterextensions/argocd";
const SECRETS = "/api/v1/namespaces/olmv1-system/secrets";

/** Starts an API server with two revisions of an extension whose ServiceAccount `olmv1 install` created. */
async function startApi(registry: ReaderOptions): Promise<ActionApi> {
  const api = await ActionApi.start({ registry });
  const base = createExtension("argocd", { packageName: "argocd-operator" });
  const metadata = { name: "argocd", uid: "u1", resourceVersion: "7", generation: 2 };
  api.objects.set(PATH, { ...base, metadata, spec: { ...base.spec, namespace: "argocd", serviceAccount: { name: "installer" } } });
  api.objects.set("/api/v1/namespaces/argocd/serviceaccounts/installer", {
    metadata: { name: "installer", namespace: "argocd", labels: { [LABEL_CREATED_FOR]: "argocd" } },
  });
  const items = ([1, 2] as const).flatMap((version) => {
    const labels = { [LABEL_BUNDLE_REFERENCE]: `registry.invalid/argocd:v${version}` };
    const record = releaseRecord(version, version === 2 ? "deployed" : "superseded", { name: "argocd", namespace: "argocd", labels });
    return encodeRelease(record, { systemNamespace: "olmv1-system", owner: { name: "argocd", uid: "u1" } });
  });
  api.objects.set(SECRETS, { kind: "List", metadata: { resourceVersion: "1" }, items });
  for (const item of items) api.objects.set(`${SECRETS}/${item.metadata.name}`, item);
  return api;
}

test("a rollback reads the bundle with the signature policy of the console", async () => {
  using folder = new TempFolder();
  const policy = JSON.stringify({ default: [{ type: "reject" }] });
  const signaturePolicy = join(folder.write("", { "policy.json": policy }), "policy.json");
  await using api = await startApi({ signaturePolicy });
  const { effects } = await api.prepare({ action: "rollBack", extension: "argocd", revision: 1 });
  expect(effects.at(-1)).toContain("registry.invalid/argocd:v1 is rejected by policy");
});
