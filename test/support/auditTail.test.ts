import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AuditTail, type Request } from "./auditTail.ts";

const CONTROLLER = "system:serviceaccount:olmv1-system:operator-controller-controller-manager";

let folder: string;
let log: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-audit-"));
  log = join(folder, "audit.log");
  await writeFile(log, event(CONTROLLER, "delete", "secrets"));
});

afterEach(() => rm(folder, { recursive: true }));

function describe({ account, verb, ref }: Request): string {
  return `${account} ${verb} ${ref.resource} ${ref.name}`;
}

function event(username: string, verb: string, resource: string, more: { subresource?: string; requestURI?: string } = {}): string {
  const { requestURI = "/", ...ref } = more;
  return `${JSON.stringify({ verb, requestURI, user: { username }, objectRef: { resource, name: "x", ...ref } })}\n`;
}

test("AuditTail lists writes of ServiceAccounts without dry runs, Leases, reviews and tokens", async () => {
  const audit = await AuditTail.fromNow(log);
  const lines = [
    event(CONTROLLER, "get", "secrets"),
    event(CONTROLLER, "update", "leases"),
    event(CONTROLLER, "create", "selfsubjectaccessreviews"),
    event(CONTROLLER, "create", "tokenreviews"),
    event(CONTROLLER, "create", "serviceaccounts", { subresource: "token" }),
    event(CONTROLLER, "patch", "configmaps", { requestURI: "/api/v1/configmaps/x?dryRun=All" }),
    event("system:serviceaccount:kube-system:job-controller", "update", "jobs"),
    event("kubernetes-admin", "patch", "configmaps"),
    event(CONTROLLER, "patch", "clusterextensions", { subresource: "status" }),
  ];
  await appendFile(log, lines.join(""));
  expect((await audit.listWrites()).map(describe)).toEqual([`${CONTROLLER} patch clusterextensions x`]);
});

test("AuditTail reads a line that the API server is still writing when it is complete", async () => {
  const audit = new AuditTail(log);
  const line = event(CONTROLLER, "create", "secrets");
  await appendFile(log, line.slice(0, 20));
  expect((await audit.listWrites()).map(describe)).toEqual([`${CONTROLLER} delete secrets x`]);
  await appendFile(log, line.slice(20));
  expect((await audit.listWrites()).map(describe)).toEqual([`${CONTROLLER} delete secrets x`, `${CONTROLLER} create secrets x`]);
});
