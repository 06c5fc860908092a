import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { stateOf } from "../../../pkg/certificates/rotation.ts";
import { certificateHostNames, servingSecretName, servingSecretOf } from "../../../pkg/certificates/servingCertificate.ts";
import type { DoctorFacts, ProgramFacts } from "./facts.ts";
import { type Finding, about } from "./finding.ts";
import { deploymentOf } from "./programs.ts";
import { X509Certificate } from "node:crypto";

const DAY_MS = 24 * 3_600_000;
/** A server renews its own thirty days before the end; somebody else may do so later. */
const OVERDUE_DAYS = { "self-managed": 28, files: 7 } as const;

/** Whether the certificates that the programs serve with hold, for how long, and for the names of their Services. */
export function checkCertificates(facts: DoctorFacts): Finding[] {
  return facts.programs.flatMap((program) => checkOne(program, facts));
}

function checkOne(facts: ProgramFacts, { now, namespace }: DoctorFacts): Finding[] {
  const args = deploymentOf(facts)?.spec?.template?.spec?.containers?.[0]?.args;
  if (!args) return [];
  const { program } = facts;
  const isOwn = args.includes("--serving-certificates=self-managed");
  if (!isOwn && !args.some((arg) => arg.startsWith("--tls-cert"))) {
    const message =
      program === "catalogd" ? "catalogs are served by plain HTTP, metrics to everybody" : "metrics are served by plain HTTP, to everybody";
    return [
      { check: `certificate of ${program}`, status: "warning", message, next: "--serving-certificates=self-managed, as config has it" },
    ];
  }
  const name = isOwn ? `${program}-serving-cert` : `${program}-cert`;
  const check = `certificate of ${program}`;
  const place = { program, name, namespace, isOwn };
  return about(check, facts.secrets.get(name) ?? { value: undefined }, (secret) => [certificateFinding(check, secret, place, now)]);
}

interface Place {
  readonly program: "catalogd" | "operator-controller";
  readonly name: string;
  readonly namespace: string;
  readonly isOwn: boolean;
}

function certificateFinding(check: string, secret: KubeObject | undefined, place: Place, now: number): Finding {
  const { program, name, namespace, isOwn } = place;
  const next = `kubectl -n ${namespace} describe secret ${name}; kubectl -n ${namespace} events --for secret/${name}`;
  if (!secret) {
    const message = `Secret ${name} does not exist`;
    return {
      check,
      status: "problem",
      message,
      next: isOwn
        ? "apply the manifests again: they have it, without content"
        : `whoever makes it has to: cert-manager, the service CA or you`,
    };
  }
  const fault = isOwn ? ownFault(secret, program, namespace) : undefined;
  if (fault !== undefined) return { check, status: "problem", message: `Secret ${name}: ${fault}`, next };
  const data = (secret["data"] ?? {}) as Record<string, string>;
  const certificate = parsed(Buffer.from(data["tls.crt"] ?? "", "base64").toString());
  if (!certificate) return { check, status: "problem", message: `Secret ${name} holds no certificate in tls.crt`, next };
  const host = `${program}-service.${namespace}.svc`;
  if (certificate.checkHost(host) === undefined)
    return { check, status: "problem", message: `it is not for ${host}, but for ${certificate.subjectAltName ?? "nobody"}`, next };
  const end = certificate.validToDate;
  const days = Math.floor((end.getTime() - now) / DAY_MS);
  const until = end.toISOString().slice(0, 10);
  if (end.getTime() <= now) return { check, status: "problem", message: `it has ended on ${until}`, next };
  if (days < OVERDUE_DAYS[isOwn ? "self-managed" : "files"])
    return { check, status: "warning", message: `it ends on ${until}, in ${days} days, and has not been renewed`, next };
  return { check, status: "ok", message: `${isOwn ? "made by the program" : "made by others"}, holds until ${until}, ${days} days` };
}

/** What keeps a program from its own certificate. */
function ownFault(secret: KubeObject, program: Place["program"], namespace: string): string | undefined {
  const found = servingSecretOf(secret, servingSecretName(program, namespace));
  if (found.kind === "foreign") return `somebody else's, ${program} does not write into it: ${found.because}`;
  if (found.kind !== "stored") return `${program} has not written a certificate into it yet`;
  const state = stateOf(found.stored, certificateHostNames(`${program}-service.${namespace}.svc`));
  return state && "fault" in state.serving ? state.serving.fault : undefined;
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
