import { GROUP } from "../../../pkg/api/constants.ts";
import { getGroup } from "../../../pkg/api/k8s.ts";
import { getErrorMessage, ReconcileError } from "../../../pkg/errors/errors.ts";
import { Client } from "../../../pkg/kube/client.ts";
import { Credentials } from "../../../pkg/kube/credentials.ts";
import { isRbacDenied, KindNotServed, KubeError } from "../../../pkg/kube/errors.ts";
import type { ClusterOptions } from "./options.ts";

const OTHER_CLUSTER = "use --kubeconfig or --context to select another cluster";
const UNTRUSTED = "is not signed by an authority in the kubeconfig (certificate-authority-data)";

/** Explanations of errors with the API server certificate, by Node.js error code. */
const CERTIFICATE_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired; ask a cluster administrator to renew it",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
};

/** A hint in Node.js errors for developers; it does not help users of olmv1. */
const NODE_HINT = /; if the root CA is installed locally.*$/;

/**
 * Adds advice to an error that the cluster or the kubeconfig caused. Returns other errors unchanged.
 * @param unanswered host of the API server if the last request got no response.
 */
export function explainClusterError(err: unknown, unanswered: string | undefined): unknown {
  const text = explainError(err, unanswered);
  return text === undefined ? err : new Error(text, { cause: err });
}

function explainError(err: unknown, unanswered: string | undefined): string | undefined {
  const message = getErrorMessage(err);
  let isOnlyPrefixed = true;
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof KubeError) return explainResponse(e, message, isOnlyPrefixed);
    isOnlyPrefixed &&= e instanceof ReconcileError; // wrapError adds only a prefix; other errors contain advice

    if (e instanceof KindNotServed)
      return getGroup(e.apiVersion) === GROUP ? `${message}: OLM v1 is not installed on this cluster; ${OTHER_CLUSTER}` : undefined;
    if (unanswered !== undefined && "code" in e && typeof e.code === "string")
      return `${message.replace(NODE_HINT, "")}: ${explainConnectionError(e.code, unanswered)}; ${OTHER_CLUSTER}`;
  }
  return undefined;
}

function explainConnectionError(code: string, host: string): string {
  const certificate = CERTIFICATE_WORDS[code];
  if (certificate !== undefined) return `the certificate of the API server at ${host} ${certificate}`;
  return `the API server at ${host} does not respond; check that it runs and that the address is correct`;
}

function explainResponse(err: KubeError, message: string, isOnlyPrefixed: boolean): string | undefined {
  if (err.status === 401)
    return `${message}: the API server rejects the credentials in the kubeconfig, which may have expired; log in again, or select another context with --context`;
  if (isRbacDenied(err) && isOnlyPrefixed)
    return `${message}; ask a cluster administrator for this permission, or select another user with --context`;
  return undefined;
}

/** Status code that the client's observer gets for a request without a response. */
const NO_RESPONSE = "<error>";

/** Runs `work` with a client for the cluster, and closes the client afterwards. @throws errors of `work`, with advice. */
export async function withCluster<T>({ kubeconfig, context }: ClusterOptions, work: (client: Client) => Promise<T>): Promise<T> {
  let unanswered: string | undefined;
  const observe = ({ code, host }: { code: string; host: string }): void => void (unanswered = code === NO_RESPONSE ? host : undefined);
  const client = Client.of(Credentials.fromKubeConfig(kubeconfig, context), { userAgent: "olmv1", observe });
  try {
    return await work(client);
  } catch (err) {
    throw explainClusterError(err, unanswered);
  } finally {
    await client.close();
  }
}
