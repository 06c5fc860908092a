import { json } from "node:stream/consumers";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";

/** The two programs, with the names of what they leave on a cluster. */
export const PROGRAMS = [
  { program: "catalogd", lease: "catalogd-operator-lock" },
  { program: "operator-controller", lease: "9c4404e7.operatorframework.io" },
] as const;
export type ProgramName = (typeof PROGRAMS)[number]["program"];

/** What there is of one program; undefined for what is not there. */
export interface ProgramSnapshot {
  readonly program: ProgramName;
  readonly deployment: Answer<KubeObject | undefined>;
  readonly lease: Answer<KubeObject | undefined>;
  /** The Secrets that may hold its certificate, by name. */
  readonly secrets: ReadonlyMap<string, Answer<KubeObject | undefined>>;
}

/** Everything that is looked at. */
export interface ClusterSnapshot {
  readonly namespace: string;
  /** The API server's clock, milliseconds since the epoch. */
  readonly now: number;
  /** Such as "v1.36.3". */
  readonly serverVersion: string;
  /** By name. */
  readonly definitions: ReadonlyMap<string, Answer<KubeObject | undefined>>;
  readonly programs: readonly ProgramSnapshot[];
  readonly catalogs: Answer<readonly ClusterCatalog[]>;
  /** Admission policies by kind and name. */
  readonly policies: ReadonlyMap<string, Answer<KubeObject | undefined>>;
  readonly monitors: Answer<readonly KubeObject[] | undefined>;
}

const DEFINITIONS = ["clustercatalogs.olm.operatorframework.io", "clusterextensions.olm.operatorframework.io"];
const ADMISSION = "admissionregistration.k8s.io/v1";
/** Policies of config/rbac, config/samples and config/admission. */
export const POLICIES = [
  { apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name: "operator-controller-dependencies" },
  { apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name: "clusterextension-service-accounts" },
  { apiVersion: ADMISSION, kind: "MutatingAdmissionPolicyBinding", name: "clustercatalog-name-label" },
] as const;
const CATALOG = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG };
const SERVICE_MONITOR = { apiVersion: "monitoring.coreos.com/v1", kind: "ServiceMonitor" };

/** Reads all of it. @throws Error when the API server cannot be reached, or knows nobody by these credentials. */
export async function readSnapshot(client: Client, namespace: string, signal: AbortSignal): Promise<ClusterSnapshot> {
  const answer = await client.request("GET", "/version", { signal });
  const { gitVersion = "" } = (await json(answer.body)) as { gitVersion?: string };
  const date = answer.headers["date"];
  const get = (ref: ObjectRef): Promise<Answer<KubeObject | undefined>> => answered(() => client.get(ref, { signal }), undefined);
  const programs = PROGRAMS.map(async ({ program, lease }): Promise<ProgramSnapshot> => {
    const names = [`${program}-serving-cert`, `${program}-cert`];
    return {
      program,
      deployment: await get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name: `${program}-controller-manager` }),
      lease: await get({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace, name: lease }),
      secrets: await byName(names, (name) => get({ apiVersion: "v1", kind: "Secret", namespace, name })),
    };
  });
  return {
    namespace,
    now: typeof date === "string" ? Date.parse(date) : Date.now(),
    serverVersion: gitVersion,
    definitions: await byName(DEFINITIONS, (name) =>
      get({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name }),
    ),
    programs: await Promise.all(programs),
    catalogs: await answered(async () => (await client.list<ClusterCatalog>(CATALOG, { signal })).items, []),
    policies: new Map(await Promise.all(POLICIES.map(async (ref) => [policyKey(ref), await get(ref)] as const))),
    monitors: await answered(async () => (await client.list(SERVICE_MONITOR, { namespace, signal })).items, undefined),
  };
}

/** "Kind name". */
export function policyKey({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}

/** What a read gives, `absent` where the kind is not served; a refusal is no error. */
async function answered<T, A>(read: () => Promise<T>, absent: A): Promise<Answer<T | A>> {
  try {
    return { value: await read() };
  } catch (err) {
    if (err instanceof KindNotServed) return { value: absent };
    if (isForbidden(err)) return { refused: messageOf(err) };
    throw err;
  }
}

async function byName<T>(names: readonly string[], read: (name: string) => Promise<T>): Promise<Map<string, T>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
}

/** How a check came out; `unknown`: you may not see what it takes. */
export type FindingStatus = "ok" | "warning" | "problem" | "unknown";

/** What one check found. */
export interface DoctorFinding {
  /** What was looked at, such as `Deployment catalogd-controller-manager`. */
  readonly check: string;
  readonly status: FindingStatus;
  readonly message: string;
  /** What to do next; commands as they are typed. */
  readonly next?: string;
}

/** What was read of the cluster, or why it could not be. */
type Answer<T> = { readonly value: T } | { readonly refused: string };

/** The findings about something that was read; one finding where it could not be. */
export function about<T>(check: string, answer: Answer<T>, judge: (value: T) => DoctorFinding[]): DoctorFinding[] {
  if ("value" in answer) return judge(answer.value);
  return [{ check, status: "unknown", message: `cannot check: ${answer.refused}`, next: "ask a cluster administrator" }];
}
