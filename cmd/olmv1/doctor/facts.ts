import { json } from "node:stream/consumers";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden, KindNotServed } from "../../../pkg/kube/errors.ts";
import type { Answer } from "./finding.ts";

/** The two programs, with the names of what they leave on a cluster. */
export const PROGRAMS = [
  { program: "catalogd", lease: "catalogd-operator-lock" },
  { program: "operator-controller", lease: "9c4404e7.operatorframework.io" },
] as const;
export type ProgramName = (typeof PROGRAMS)[number]["program"];

/** What there is of one program; undefined for what is not there. */
export interface ProgramFacts {
  readonly program: ProgramName;
  readonly deployment: Answer<KubeObject | undefined>;
  readonly lease: Answer<KubeObject | undefined>;
  /** The Secrets that may hold its certificate, by name. */
  readonly secrets: ReadonlyMap<string, Answer<KubeObject | undefined>>;
}

/** Everything that is looked at. */
export interface DoctorFacts {
  readonly namespace: string;
  /** The API server's clock, milliseconds since the epoch. */
  readonly now: number;
  /** Such as "v1.36.3". */
  readonly serverVersion: string;
  /** By name. */
  readonly definitions: ReadonlyMap<string, Answer<KubeObject | undefined>>;
  readonly programs: readonly ProgramFacts[];
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
export async function readFacts(client: Client, namespace: string, signal: AbortSignal): Promise<DoctorFacts> {
  const answer = await client.request("GET", "/version", { signal });
  const { gitVersion = "" } = (await json(answer.body)) as { gitVersion?: string };
  const date = answer.headers["date"];
  const get = (ref: ObjectRef): Promise<Answer<KubeObject | undefined>> => answered(() => client.get(ref, { signal }), undefined);
  const programs = PROGRAMS.map(async ({ program, lease }): Promise<ProgramFacts> => {
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
