import { expect, test } from "vitest";
import { LoopbackApi } from "../../test/support/loopbackApi.ts";
import { withImages } from "../authoring/build/publishImage.ts";
import { Client } from "../kube/client.ts";
import { parseReference } from "../oci/reference.ts";
import type { CatalogReply } from "./catalogContent.ts";
import { ScenarioRun } from "./scenarioRun.ts";

const BASE = "http://catalogd.example/catalogs/conformance-restart-main";
const ALL = { path: "/api/v1/all", method: "GET", headers: {} };
const API = "/apis/olm.operatorframework.io/v1";
const RESOURCES = [{ name: "clustercatalogs", kind: "ClusterCatalog", namespaced: false, verbs: [] }];

/** Expects the content of a catalog whose server gives these answers. @returns how many it gave */
async function expectContent(answers: readonly (CatalogReply | Error)[]): Promise<number> {
  await using api = await LoopbackApi.start(({ url }) =>
    url === API ? { json: { resources: RESOURCES } } : { json: { metadata: { name: "x" }, status: { urls: { base: BASE } } } },
  );
  const client = Client.of(api.credentials());
  const { signal } = new AbortController();
  const terminal = { env: {}, signal, out: () => undefined, err: () => undefined };
  const left = [...answers];
  const read = async (): Promise<CatalogReply> => {
    const answer = left.shift() ?? new Error("another request");
    if (answer instanceof Error) throw answer;
    return answer;
  };
  try {
    await withImages({}, terminal, async (stores) => {
      const repository = parseReference("registry.invalid/conformance");
      const cluster = { client, stores, repository, content: { read }, systemNamespace: "system", run: "r1", timeoutMs: 10_000 };
      const scenario = { id: "restart", catalogs: new Map(), definitions: {} };
      await new ScenarioRun(cluster, scenario, { namesServiceAccount: true, signal }).catalogs.expectContent("main", ALL, { status: 200 });
    });
  } finally {
    await client.close();
  }
  return answers.length - left.length;
}

const reply = (status: number): CatalogReply => ({ status, headers: {}, body: "" });
const failed = (code: string): Error => new Error(`cannot read ${BASE}: ${code}`, { cause: Object.assign(new Error(code), { code }) });

test("expectContent asks again while the server of the catalog starts", async () => {
  expect(await expectContent([failed("ECONNREFUSED"), reply(503), reply(404), reply(200), reply(200)])).toBe(4);
});

test("expectContent rejects immediately when the certificate of the server is not trusted", async () => {
  await expect(expectContent([failed("SELF_SIGNED_CERT_IN_CHAIN"), reply(200)])).rejects.toThrow("SELF_SIGNED_CERT_IN_CHAIN");
});
