import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { type Grant, type PolicyRule, splitRule } from "../../pkg/rbac/policyRule.ts";
import type { AuditTail, Request } from "./auditTail.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const FILES = ["rbac/operator-controller.yaml", "rbac/catalogd.yaml", "rbac/metrics.yaml", "openshift/registries.yaml"];
/** ServiceAccounts of the two programs. */
export const PROGRAM_ACCOUNTS = ["operator-controller-controller-manager", "catalogd-controller-manager"] as const;

/** A permission that config/rbac and config/openshift grant to one of the two programs, and its namespace; "" is the cluster. */
interface ProgramPermission extends Grant {
  account: string;
  scope: string;
}

interface Binding extends KubeObject {
  roleRef: { kind: string; name: string };
  subjects: { kind: string; name: string }[];
}

/** Lists every permission that config/rbac and config/openshift grant to the programs' ServiceAccounts; ignores roles without bindings. */
function listProgramPermissions(): ProgramPermission[] {
  const objects = FILES.flatMap((file) => parseYamlDocuments(readFileSync(join(CONFIG, file), "utf8")) as KubeObject[]);
  const bindings = objects.filter(({ kind }) => kind.endsWith("Binding")) as Binding[];
  return bindings.flatMap(({ kind, metadata, roleRef, subjects }) => {
    const scope = kind === "RoleBinding" ? (metadata.namespace ?? "") : "";
    const role = objects.find((object) => object.kind === roleRef.kind && object.metadata.name === roleRef.name);
    if (!role) throw new Error(`config has no ${roleRef.kind} ${roleRef.name}`);
    const grants = ((role["rules"] ?? []) as PolicyRule[]).flatMap(splitRule);
    const own = subjects.filter(({ name }) => PROGRAM_ACCOUNTS.some((account) => account === name));
    return own.flatMap(({ name }) => grants.map((grant) => ({ account: name, scope, ...grant })));
  });
}

const FORBIDDEN = 403;

/** Whether a successful request needed this permission. */
function usesPermission({ verb: requestVerb, code, ref }: Request, { scope, group, resource, name, verb }: ProgramPermission): boolean {
  if (code === FORBIDDEN) return false;
  // Checked during the write of a Secret that has an extension as its owner and blocks its deletion.
  if (resource === "clusterextensions/finalizers") return ref.resource === "secrets" && requestVerb === "create";
  const written = ref.subresource === "" ? ref.resource : `${ref.resource}/${ref.subresource}`;
  if (written !== resource || ref.group !== group || (scope !== "" && ref.namespace !== scope)) return false;
  if (name !== undefined && ref.name !== name) return false;
  // An apply that creates the object is a patch with status 201, and needs both permissions.
  return requestVerb === verb || (verb === "create" && requestVerb === "patch" && code === 201);
}

/** Such as `catalogd-controller-manager: watch leases/catalogd-operator-lock in olmv1-system`. */
function formatProgramPermission({ account, verb, group, resource, name, scope }: ProgramPermission): string {
  const what = [group === "" ? resource : `${resource}.${group}`, ...(name === undefined ? [] : [name])].join(" ");
  return `${account}: ${verb} ${what}${scope === "" ? "" : ` in ${scope}`}`;
}

/**
 * Lists the denied requests of the programs with their own identity so far, without duplicates. Ignores requests for the tokens of
 * installers: config/rbac does not grant that permission; each namespace can grant it.
 */
export async function listDeniedRequests(audit: AuditTail): Promise<string[]> {
  const found = new Set<string>();
  for (const account of PROGRAM_ACCOUNTS) {
    for (const { verb, uri, code, ref } of await audit.requestsOf(SYSTEM_NAMESPACE, account))
      if (code === FORBIDDEN && !isToken(ref)) found.add(`${account}: ${verb} ${uri.replace(/\?.*/, "")}`);
  }
  return [...found].sort();
}

function isToken({ resource, subresource }: Request["ref"]): boolean {
  return resource === "serviceaccounts" && subresource === "token";
}

/** Lists the permissions of config/rbac that no request has needed so far. */
export async function listUnusedPermissions(audit: AuditTail): Promise<string[]> {
  const requests = new Map<string, readonly Request[]>();
  for (const account of PROGRAM_ACCOUNTS) requests.set(account, await audit.requestsOf(SYSTEM_NAMESPACE, account));
  return listProgramPermissions()
    .filter((permission) => !requests.get(permission.account)?.some((request) => usesPermission(request, permission)))
    .map(formatProgramPermission);
}
