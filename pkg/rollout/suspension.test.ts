import { expect, test } from "vitest";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, ConditionType, Reason } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { waitUntilSuspended } from "./suspension.ts";

const EXTENSION: KubeObject = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: "shop", generation: 2 } };
const progressing = { type: ConditionType.Progressing, status: "False", message: "m" };
const SUSPENDED = { ...EXTENSION, status: { conditions: [{ ...progressing, reason: Reason.Suspended, observedGeneration: 2 }] } };
const EARLIER = { ...EXTENSION, status: { conditions: [{ ...progressing, reason: Reason.Suspended, observedGeneration: 1 }] } };
const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const TIMEOUT = 'timed out after 0 s waiting for ClusterExtension "shop" to be suspended: m';

test.for<[what: string, answers: (KubeObject | Error)[], timeoutMs: number, error: string]>([
  ["returns when the controller has suspended the extension", [SUSPENDED], 0, ""],
  ["continues when one request fails", [REFUSED, SUSPENDED], 60_000, ""],
  ["throws the error of the API server when requests fail until the timeout", [REFUSED], 0, "connect ECONNREFUSED"],
  ["throws an error immediately when a retry cannot fix it", [new Error("denied"), SUSPENDED], 60_000, "denied"],
  ["throws the message of the controller when it does not suspend the extension in time", [EARLIER], 0, TIMEOUT],
])("waitUntilSuspended %s", async ([, answers, timeoutMs, error]) => {
  const left = [...answers];
  const client: Pick<Client, "get"> = {
    get: <T extends KubeObject>() => {
      const answer = left.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T | undefined);
    },
  };
  const limit = { timeoutMs, signal: AbortSignal.timeout(60_000) };
  const ended = await waitUntilSuspended(client, EXTENSION as ClusterExtension, limit).then(
    () => "",
    (err: unknown) => (err as Error).message,
  );
  expect(ended).toBe(error);
});
