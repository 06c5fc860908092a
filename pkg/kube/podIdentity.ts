import { readFile } from "node:fs/promises";

/** Where the kubelet puts the token of a Pod's ServiceAccount. */
export const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** A ServiceAccount by its place. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The ServiceAccount that a program is, from the subject of its mounted token; the token is not verified, the API server does that.
 * @returns undefined when there is no such file: the program runs outside of a cluster
 * @throws Error `badly formatted subject: …` when the subject is not that of a ServiceAccount; for a file that holds no token, without its text
 * @see operator-controller internal/shared/util/sa/serviceaccount.go
 */
export async function readPodIdentity(tokenFile: string): Promise<ServiceAccountName | undefined> {
  let token: string;
  try {
    token = await readFile(tokenFile, "utf8");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`reading the ServiceAccount token: ${(err as Error).message}`, { cause: err });
  }
  const subject = subjectOf(token.trim());
  if (subject === undefined) throw new Error(`reading the ServiceAccount token: ${tokenFile} holds no JSON Web Token with a subject`);
  const [system, kind, namespace, name, ...more] = subject.split(":");
  if (system !== "system" || kind !== "serviceaccount" || !namespace || !name || more.length > 0)
    throw new Error(`badly formatted subject: ${subject}`);
  return { namespace, name };
}

function subjectOf(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null && "sub" in claims && typeof claims.sub === "string" ? claims.sub : undefined;
  } catch {
    return undefined;
  }
}
