import { expect, test } from "vitest";
import type { ClusterCatalog } from "../../../../pkg/api/clusterCatalog.ts";
import { Reason } from "../../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../../pkg/api/k8s.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { createClusterCatalog } from "../../../../pkg/sources/clusterCatalogs.ts";
import { CommandTerminal } from "../../cli/terminal.ts";
import { waitUntilServed } from "./add.ts";

const CREATED: ClusterCatalog = { ...createClusterCatalog("c", "quay.io/acme/c:v1"), status: {} };
const known = { lastTransitionTime: "", message: "", observedGeneration: 1 };
const SERVED: ClusterCatalog = {
  ...CREATED,
  metadata: { ...CREATED.metadata, generation: 1 },
  status: {
    conditions: [
      { type: "Serving", status: "True", reason: "Available", ...known },
      { type: "Progressing", status: "True", reason: Reason.Succeeded, ...known },
    ],
  },
};
const RESET = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

test.for<[what: string, answers: (ClusterCatalog | Error)[], timeoutMs: number, result: string]>([
  ["continues when one request fails", [RESET, SERVED], 60_000, "served"],
  ["throws the error of the API server when requests fail until the timeout", [RESET, RESET], 400, "read ECONNRESET"],
  ["throws an error immediately when a retry cannot fix it", [new Error("denied"), SERVED], 60_000, "denied"],
])("waitUntilServed %s", async ([, answers, timeoutMs, result]) => {
  const left = [...answers];
  const client: Pick<Client, "get"> = {
    get: <T extends KubeObject>() => {
      const answer = left.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T | undefined);
    },
  };
  const terminal = new CommandTerminal({ out: () => undefined, err: () => undefined });
  const ended = await waitUntilServed(terminal, client as Client, CREATED, timeoutMs).then(
    ({ because = "served" }) => because,
    (err: unknown) => (err as Error).message,
  );
  expect(ended).toBe(result);
});
