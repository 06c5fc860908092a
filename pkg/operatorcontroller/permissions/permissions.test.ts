import { afterEach, expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { type Answer, LoopbackApi, statusAnswer } from "../../../test/support/loopbackApi.ts";
import { configMap } from "../../../test/support/releases.ts";
import { Client } from "../../kube/client.ts";
import type { PolicyRule } from "../../rbac/policyRule.ts";
import { findKnownResource } from "../../rbac/resources.ts";
import { findMissingPermissions, rulesFromDetails, toRuleDetails } from "./permissions.ts";

const RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const signal = new AbortController().signal;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

interface Asked {
  spec: { namespace?: string; resourceAttributes?: { verb: string; name?: string; namespace: string } };
}

/** Returns the missing permissions for ConfigMaps a and b, from an API server with these responses. */
async function findMissing(rules: (namespace: string) => Answer, allowed: (verb: string, name: string) => boolean = () => false) {
  const requested: string[] = [];
  const api = await LoopbackApi.start(({ url, body }): Answer => {
    const { spec } = JSON.parse(body) as Asked;
    if (url === RULES) return rules(spec.namespace ?? "");
    if (url !== ACCESS) return {};
    const { verb = "", name = "" } = spec.resourceAttributes ?? {};
    requested.push(`${verb} ${name}`);
    return { json: { status: { allowed: allowed(verb, name) } } };
  });
  const client = Client.of(api.credentials());
  open.push(
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  const extension = createExtension("x", { packageName: "p" });
  const desired = [configMap("a"), configMap("b")];
  const found = await findMissingPermissions(client, { extension, desired, pruned: [], images: [], resourceOf: findKnownResource }, signal);
  return { found, requested, api };
}

const answer = (rules: PolicyRule[], more: object = {}): Answer => ({
  json: { status: { resourceRules: rules, incomplete: false, ...more } },
});
const ON_A: PolicyRule = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"], verbs: ["*"] };
const splitRules = (text: string | undefined): string[] =>
  (text ?? "")
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .map((line) => line.split(";")[0] ?? "");

test("findMissingPermissions sends no access reviews when the API server lists all rules", async () => {
  const { found, requested } = await findMissing((namespace) => answer(namespace === "x-system" ? [ON_A] : []));
  expect(splitRules(found?.text)).toEqual([
    '  Namespace:"x-system" APIGroups:[] Resources:[configmaps] ResourceNames:[b] Verbs:[create,delete,get,list,patch,watch]',
    '  Namespace:"x-system" APIGroups:[] Resources:[resourcequotas] Verbs:[list]',
  ]);
  expect(requested).toEqual([]);
});

test("findMissingPermissions sends an access review for each unlisted permission when the list of rules is incomplete", async () => {
  const incomplete = (): Answer =>
    answer([ON_A], { incomplete: true, evaluationError: "webhook authorizer does not support user rule resolution" });
  const some = await findMissing(incomplete, (verb) => verb !== "delete");
  expect(some.requested.toSorted()).toEqual(["create b", "delete b", "get b", "list ", "list b", "patch b", "watch b"]);
  expect(splitRules(some.found?.text)).toEqual([
    '  Namespace:"x-system" APIGroups:[] Resources:[configmaps] ResourceNames:[b] Verbs:[delete]',
  ]);
  expect(some.found?.text).toContain("\nauthorization evaluation error: webhook authorizer does not support user rule resolution");
  some.requested.length = 0;
  expect(await some.found?.isOver(signal)).toBe(false);
  expect(some.requested).toEqual(["delete b"]);
  expect((await findMissing(incomplete, () => true)).found).toBeUndefined();
});

test("findMissingPermissions returns nothing when only permissions to list and watch are missing", async () => {
  const { found } = await findMissing(() =>
    answer([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "create", "patch", "delete"] }]),
  );
  expect(found).toBeUndefined();
});

test("findMissingPermissions returns undefined when reviews are denied, and fails when the API server fails", async () => {
  expect((await findMissing(() => statusAnswer(403, "Forbidden", "you may not ask"))).found).toBeUndefined();
  await expect(findMissing(() => statusAnswer(500, "InternalError", "etcd is gone"))).rejects.toThrow("etcd is gone");
});

test("rulesFromDetails returns the rules that toRuleDetails lists", () => {
  const clusterRules: PolicyRule[] = [{ apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["a"], verbs: ["get"] }];
  const namespaceRules = new Map<string, PolicyRule[]>([
    ["x", [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]],
    ["y", [{ apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] }]],
  ]);
  const rules = { clusterRules, namespaceRules, unknownKinds: [] };
  expect(rulesFromDetails(toRuleDetails(rules))).toEqual(rules);
});
