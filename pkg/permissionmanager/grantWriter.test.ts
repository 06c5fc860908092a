import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { buildGrantObjects } from "../permissions/grantObjects.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { GrantWriter } from "./grantWriter.ts";

const CONTROLLER = { kind: "ServiceAccount", namespace: "s", name: "operator-controller" } as const;
const NAMESPACES = Array.from({ length: 20 }, (_, at) => `n${String(at).padStart(2, "0")}`);

/** Rules that allow the verbs in all namespaces. */
function allow(verbs: string[]): RequiredRules {
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs }];
  return { clusterRules: [], namespaceRules: new Map(NAMESPACES.map((name) => [name, rules])), unknownKinds: [] };
}

test("GrantWriter takes permissions away in all namespaces when one role cannot be written", async () => {
  const narrowed: (string | undefined)[] = [];
  const client: Pick<Client, "apply" | "create" | "delete" | "list"> = {
    apply: async <T extends KubeObject>(object: T) => {
      if (object.metadata.namespace === "n00") throw new Error("namespace n00 is being terminated");
      narrowed.push(object.metadata.namespace);
      return object;
    },
    create: () => Promise.reject(new Error("created")),
    delete: () => Promise.reject(new Error("deleted")),
    list: () => Promise.reject(new Error("listed")),
  };
  const [before, after] = [allow(["get", "delete"]), allow(["get"])];
  const objects = buildGrantObjects("shop", "n01", { rules: before }, CONTROLLER);
  const writing = new GrantWriter(client, CONTROLLER).write("shop", "n01", { rules: after }, { objects, rules: before });
  await expect(writing).rejects.toThrow("namespace n00 is being terminated");
  expect(narrowed).toEqual(NAMESPACES.slice(1));
});
