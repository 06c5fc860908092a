import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { waitUntilGone } from "./installerObjects.ts";

const NAMESPACE: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", uid: "1" } };
const RECREATED: KubeObject = { ...NAMESPACE, metadata: { name: "shop", uid: "2" } };
const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

test.for<[what: string, answers: (KubeObject | Error | undefined)[], timeoutMs: number, result: string]>([
  ["returns when the object is gone", [undefined], 0, "gone"],
  ["returns when the object was recreated", [RECREATED], 0, "gone"],
  ["returns the object when it still exists at the deadline", [NAMESPACE], 0, "1"],
  ["continues when one request fails", [REFUSED, undefined], 60_000, "gone"],
  ["throws the error of the API server when requests fail until the deadline", [REFUSED], 0, "connect ECONNREFUSED"],
  ["throws an error immediately when a retry cannot fix it", [new Error("denied"), undefined], 60_000, "denied"],
])("waitUntilGone %s", async ([, answers, timeoutMs, result]) => {
  const left = [...answers];
  const client: Pick<Client, "get"> = {
    get: <T extends KubeObject>() => {
      const answer = left.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T | undefined);
    },
  };
  const ended = await waitUntilGone(client, NAMESPACE, Date.now() + timeoutMs, AbortSignal.timeout(60_000)).then(
    (object) => object?.metadata.uid ?? "gone",
    (err: unknown) => (err as Error).message,
  );
  expect(ended).toBe(result);
});
