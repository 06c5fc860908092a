import { X509Certificate } from "node:crypto";
import { findCondition } from "../api/conditions.ts";
import type { Condition, KubeObject } from "../api/k8s.ts";
import { assessCertificates } from "../certificates/rotation.ts";
import { getServingSecretName, listCertificateHostNames, parseServingSecret } from "../certificates/servingCertificate.ts";
import { findLeader, type Lease } from "../controller/lease.ts";
import { type ClusterSnapshot, type DoctorFinding, type ProgramName, type ProgramSnapshot, reportOn } from "./clusterSnapshot.ts";
import { getPartValue } from "./snapshotPart.ts";

const MANAGED_FLAG = "--managed-permissions=";

/** The used parts of a Deployment. */
interface Deployment {
  spec?: { replicas?: number; template?: { spec?: { containers?: { image?: string; args?: string[] }[] } } };
  status?: { readyReplicas?: number; updatedReplicas?: number; conditions?: Condition[] };
}

/** Returns a server's Deployment; undefined if it does not exist or the user may not read it. */
function getDeployment({ deployment }: ProgramSnapshot): Deployment | undefined {
  return getPartValue(deployment) as Deployment | undefined;
}

/** The value of the operator-controller flag --managed-permissions; undefined if its Deployment does not exist or you may not read it. */
export function readManagedMode({ programs }: Pick<ClusterSnapshot, "programs">): string | undefined {
  const controller = programs.find(({ program }) => program === "operator-controller");
  const deployment = controller && getDeployment(controller);
  if (!deployment) return undefined;
  const flag = deployment.spec?.template?.spec?.containers?.[0]?.args?.findLast((arg) => arg.startsWith(MANAGED_FLAG));
  return flag?.slice(MANAGED_FLAG.length) ?? "on";
}

/** Returns the images of the servers, without duplicates. */
export function listServerImages(programs: readonly ProgramSnapshot[]): string[] {
  return [...new Set(programs.flatMap((facts) => getDeployment(facts)?.spec?.template?.spec?.containers?.[0]?.image ?? []))];
}

/** Checks whether all replicas of each server are ready and have the same version. @param version of this olmv1; undefined omits the comparison */
export function checkDeployments(snapshot: ClusterSnapshot, version?: string): DoctorFinding[] {
  const { programs, now } = snapshot;
  const findings = programs.flatMap((facts) => {
    const check = `Deployment ${facts.program}-controller-manager`;
    return reportOn(check, facts.deployment, (): DoctorFinding[] => {
      if (facts.program === "permission-manager" && !getDeployment(facts) && readManagedMode(snapshot) === "off")
        return [{ check, status: "ok", message: `it does not exist, and operator-controller has ${MANAGED_FLAG}off` }];
      const leader = getDeployment(facts) || !("value" in facts.lease) ? undefined : findLeader(facts.lease.value, now);
      if (leader === undefined) return [checkDeployment(check, getDeployment(facts), facts.namespace)];
      const message = `it does not exist, because ${leader.identity} runs ${facts.program} outside the cluster, as olmv1 dev does`;
      return [{ check, status: "ok", message }];
    });
  });
  return version === undefined ? findings : [...findings, ...checkVersions(programs, version)];
}

function checkDeployment(check: string, deployment: Deployment | undefined, namespace: string): DoctorFinding {
  if (!deployment) {
    const message = `it does not exist in namespace ${namespace}`;
    return {
      check,
      status: "problem",
      message,
      next: "set its namespace with --system-namespace, or install the servers with your kustomization.yaml or Helm",
    };
  }
  const { spec: { replicas = 1 } = {}, status: { readyReplicas = 0, updatedReplicas = 0, conditions } = {} } = deployment;
  const next = `kubectl -n ${namespace} describe ${check.toLowerCase().replace(" ", "/")}`;
  if (replicas === 0) return { check, status: "problem", message: "it is scaled to 0: no replica runs", next };
  if (readyReplicas < replicas) {
    const failure = conditions?.find(({ type, status }) => type === "ReplicaFailure" && status === "True");
    const stuck = failure ?? conditions?.find(({ type, status }) => type === "Progressing" && status === "False");
    const message = `${readyReplicas} of ${replicas} replicas are ready${stuck ? `: ${stuck.message}` : ""}`;
    return { check, status: readyReplicas === 0 || stuck ? "problem" : "warning", message, next };
  }
  if (updatedReplicas < replicas)
    return { check, status: "warning", message: `${updatedReplicas} of ${replicas} replicas are updated`, next };
  if (findCondition(conditions, "Available")?.status === "False") return { check, status: "problem", message: "it is not available", next };
  return { check, status: "ok", message: replicas === 1 ? "1 replica is ready" : `all ${replicas} replicas are ready` };
}

/** Compares the versions of the servers and of this olmv1, if the image tags are versions. */
function checkVersions(programs: readonly ProgramSnapshot[], version: string): DoctorFinding[] {
  const images = programs.flatMap((facts) => getDeployment(facts)?.spec?.template?.spec?.containers?.[0]?.image ?? []);
  if (images.length < 2) return [];
  const check = "versions";
  const [first = "", ...others] = new Set(images);
  if (others.length > 0) {
    const message = `the servers run different images: ${[first, ...others].join(" and ")}`;
    return [{ check, status: "warning", message, next: "use the same image in all Deployments" }];
  }
  const tag = /:v?(\d+\.\d+\.\d+[^:/@]*)$/.exec(first)?.[1];
  if (tag === undefined)
    return [{ check, status: "ok", message: `all servers run ${first}, whose tag is not a version; this olmv1 is ${version}` }];
  if (tag === version) return [{ check, status: "ok", message: `the servers and this olmv1 are ${version}` }];
  const message = `the servers are ${tag}, but this olmv1 is ${version}: their fields and rules may differ`;
  return [{ check, status: "warning", message, next: `use olmv1 ${tag}, or upgrade the servers` }];
}

/** Checks whether each server has a leader that renews its Lease. */
export function checkLeases({ programs, now }: ClusterSnapshot): DoctorFinding[] {
  return programs.flatMap((facts) => {
    const check = `leader of ${facts.program}`;
    const args = getDeployment(facts)?.spec?.template?.spec?.containers?.[0]?.args ?? ["--leader-elect"];
    if (!args.some((arg) => arg.startsWith("--leader-elect"))) return [];
    // If the Deployment does not exist either, its own check reports that.
    const isAbsent = "value" in facts.lease && !facts.lease.value && "value" in facts.deployment && !facts.deployment.value;
    if (isAbsent) return [];
    return reportOn(check, facts.lease, (live): DoctorFinding[] => [checkLease(check, live, { now, namespace: facts.namespace })]);
  });
}

function checkLease(check: string, lease: Lease | undefined, { now, namespace }: { now: number; namespace: string }): DoctorFinding {
  const next = `kubectl -n ${namespace} logs deployment/${check.replace("leader of ", "")}-controller-manager`;
  if (!lease) return { check, status: "problem", message: "no leader has been elected yet", next };
  const { holderIdentity = "", leaseDurationSeconds = 0, renewTime = "" } = lease.spec ?? {};
  if (holderIdentity === "") return { check, status: "problem", message: "no current leader: the last one has stopped", next };
  const silentS = Math.max(Math.round((now - Date.parse(renewTime)) / 1_000), 0);
  if (!findLeader(lease, now)) {
    const message = `${holderIdentity} has not renewed its Lease for ${silentS} s; it expires after ${leaseDurationSeconds} s`;
    return { check, status: "problem", message, next };
  }
  return { check, status: "ok", message: `${holderIdentity}, renewed ${silentS} s ago` };
}

const DAY_MS = 24 * 3_600_000;
/**
 * A certificate that is valid for fewer days is reported as not renewed. A server renews its own certificate thirty days before it expires; other
 * providers may renew later.
 */
const OVERDUE_DAYS = { "self-managed": 28, files: 7 } as const;

/**
 * Checks whether the serving certificates of the servers are valid for the names of their Services, and for how long. permission-manager has none,
 * because it reads no Secrets of its namespace.
 */
export function checkCertificates(snapshot: ClusterSnapshot): DoctorFinding[] {
  return snapshot.programs.flatMap((program) => checkOne(program, snapshot.now));
}

function checkOne(facts: ProgramSnapshot, now: number): DoctorFinding[] {
  const args = getDeployment(facts)?.spec?.template?.spec?.containers?.[0]?.args;
  const { program, namespace } = facts;
  if (!args || program === "permission-manager") return [];
  const isOwn = args.includes("--serving-certificates=self-managed");
  if (!isOwn && !args.some((arg) => arg.startsWith("--tls-cert"))) {
    const message =
      program === "catalogd"
        ? "catalogs are served over plain HTTP, and metrics without authentication"
        : "metrics are served over plain HTTP, without authentication";
    return [{ check: `certificate of ${program}`, status: "warning", message, next: "--serving-certificates=self-managed, as in config" }];
  }
  const name = isOwn ? `${program}-serving-cert` : `${program}-cert`;
  const check = `certificate of ${program}`;
  const place = { program, name, namespace, isOwn };
  return reportOn(check, facts.secrets.get(name) ?? { value: undefined }, (secret) => [checkCertificate(check, secret, place, now)]);
}

interface CertificateRef {
  readonly program: Exclude<ProgramName, "permission-manager">;
  readonly name: string;
  readonly namespace: string;
  readonly isOwn: boolean;
}

function checkCertificate(check: string, secret: KubeObject | undefined, place: CertificateRef, now: number): DoctorFinding {
  const { program, name, namespace, isOwn } = place;
  const next = `kubectl -n ${namespace} describe secret ${name}; kubectl -n ${namespace} events --for secret/${name}`;
  if (!secret) {
    const message = `Secret ${name} does not exist`;
    return {
      check,
      status: "problem",
      message,
      next: isOwn
        ? "apply the manifests again: they contain this Secret, without data"
        : `the certificate provider must create it: cert-manager, the service CA or you`,
    };
  }
  const fault = isOwn ? findServingSecretProblem(secret, program, namespace) : undefined;
  if (fault !== undefined) return { check, status: "problem", message: `Secret ${name}: ${fault}`, next };
  const data = (secret["data"] ?? {}) as Record<string, string>;
  const certificate = parsed(Buffer.from(data["tls.crt"] ?? "", "base64").toString());
  if (!certificate) return { check, status: "problem", message: `Secret ${name} has no certificate in tls.crt`, next };
  const host = `${program}-service.${namespace}.svc`;
  if (certificate.checkHost(host) === undefined)
    return { check, status: "problem", message: `it is not valid for ${host}, only for ${certificate.subjectAltName ?? "no name"}`, next };
  const end = certificate.validToDate;
  const days = Math.floor((end.getTime() - now) / DAY_MS);
  const until = end.toISOString().slice(0, 10);
  const expires = end.toISOString();
  if (end.getTime() <= now) return { check, status: "problem", message: `it expired on ${until}`, next, expires };
  if (days < OVERDUE_DAYS[isOwn ? "self-managed" : "files"])
    return { check, status: "warning", message: `it expires on ${until}, in ${days} days, and has not been renewed`, next, expires };
  return {
    check,
    status: "ok",
    message: `${isOwn ? "issued by the program" : "issued by another provider"}, valid until ${until}, ${days} days`,
    expires,
  };
}

/** Returns why a server cannot use its own certificate. */
function findServingSecretProblem(secret: KubeObject, program: CertificateRef["program"], namespace: string): string | undefined {
  const found = parseServingSecret(secret, getServingSecretName(program, namespace));
  if (found.kind === "foreign") return `${program} does not write to it, because ${found.reason}`;
  if (found.kind !== "stored") return `${program} has not written a certificate to it yet`;
  const state = assessCertificates(found.stored, listCertificateHostNames(`${program}-service.${namespace}.svc`));
  return state && "fault" in state.serving ? state.serving.fault : undefined;
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
