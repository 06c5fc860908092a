import { GROUP } from "../../../pkg/api/constants.ts";
import { groupOf } from "../../../pkg/api/k8s.ts";
import { messageOf, ReconcileError } from "../../../pkg/errors/errors.ts";
import { Client } from "../../../pkg/kube/client.ts";
import { Credentials } from "../../../pkg/kube/credentials.ts";
import { isRbacDenied, KindNotServed, KubeError } from "../../../pkg/kube/errors.ts";
import type { ClusterOptions } from "./options.ts";

const OTHER_CLUSTER = "--kubeconfig and --context choose another cluster";
const UNTRUSTED = "is by no authority that the kubeconfig names (certificate-authority-data)";

/** What there is about the certificate of an API server, by the codes of Node. */
const CERTIFICATE_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "has expired: somebody has to renew it",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
};

/** It is about programs, and not about olmv1. */
const HINT_OF_NODE = /; if the root CA is installed locally.*$/;

/**
 * An error of a command that asks a cluster, with what somebody can do about it where that is the cluster's or the kubeconfig's doing; others as they are.
 * @param unanswered host of the API server, where the last request to it got no answer.
 */
export function clusterFault(err: unknown, unanswered: string | undefined): unknown {
  const text = faultWords(err, unanswered);
  return text === undefined ? err : new Error(text, { cause: err });
}

function faultWords(err: unknown, unanswered: string | undefined): string | undefined {
  const message = messageOf(err);
  let isOnlyPrefixed = true;
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof KubeError) return answerWords(e, message, isOnlyPrefixed);
    isOnlyPrefixed &&= e instanceof ReconcileError; // wrapError adds nothing but a prefix, others say what to do

    if (e instanceof KindNotServed)
      return groupOf(e.apiVersion) === GROUP ? `${message}: OLM v1 is not installed on this cluster; ${OTHER_CLUSTER}` : undefined;
    if (unanswered !== undefined && "code" in e && typeof e.code === "string")
      return `${message.replace(HINT_OF_NODE, "")}: ${connectionWords(e.code, unanswered)}; ${OTHER_CLUSTER}`;
  }
  return undefined;
}

function connectionWords(code: string, host: string): string {
  const certificate = CERTIFICATE_WORDS[code];
  if (certificate !== undefined) return `the certificate of the API server at ${host} ${certificate}`;
  return `the API server at ${host} gives no answer; does it run, and is this its address?`;
}

function answerWords(err: KubeError, message: string, isOnlyPrefixed: boolean): string | undefined {
  if (err.status === 401)
    return `${message}: the API server does not know the credentials of the kubeconfig, which may have expired; log in again, or choose others with --context`;
  if (isRbacDenied(err) && isOnlyPrefixed)
    return `${message}; ask whoever administers the cluster for this right, or choose another identity with --context`;
  return undefined;
}

/** What the client's observer hears of a request that got no answer. */
const NO_ANSWER = "<error>";

/** What `work` gives with a client of the cluster, which is closed afterwards. @throws what `work` throws, with what somebody can do about it. */
export async function withCluster<T>({ kubeconfig, context }: ClusterOptions, work: (client: Client) => Promise<T>): Promise<T> {
  let unanswered: string | undefined;
  const observe = ({ code, host }: { code: string; host: string }): void => void (unanswered = code === NO_ANSWER ? host : undefined);
  const client = Client.of(Credentials.fromKubeConfig(kubeconfig, context), { userAgent: "olmv1", observe });
  try {
    return await work(client);
  } catch (err) {
    throw clusterFault(err, unanswered);
  } finally {
    await client.close();
  }
}
