import { expect, test } from "vitest";
import { getErrorMessage, wrapError } from "../../../pkg/errors/errors.ts";
import { KindNotServed, KubeError } from "../../../pkg/kube/errors.ts";
import { explainClusterError } from "./cluster.ts";

const HOST = "api.example.com:6443";
const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const refused = coded("ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:6443");
const answer = (status: number, message: string): KubeError => new KubeError(message, { status, reason: "" });
const forbidden = answer(403, 'secrets is forbidden: User "jane" cannot list resource "secrets"');

test.for<[what: string, err: unknown, unanswered: string | undefined, text: string | RegExp]>([
  [
    "an API server that does not respond",
    wrapError("list ClusterCatalogs: ", refused),
    HOST,
    "list ClusterCatalogs: connect ECONNREFUSED 10.0.0.1:6443: the API server at api.example.com:6443 does not respond; check that it runs and that the address is correct; use --kubeconfig or --context to select another cluster",
  ],
  [
    "an untrusted certificate",
    coded(
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "unable to verify the first certificate; if the root CA is installed locally, try --use-system-ca",
    ),
    HOST,
    /^unable to verify the first certificate: the certificate of the API server at api\.example\.com:6443 is not signed by an authority in the kubeconfig/,
  ],
  [
    "an expired certificate",
    coded("CERT_HAS_EXPIRED", "certificate has expired"),
    HOST,
    /has expired; ask a cluster administrator to renew it; use --kubeconfig/,
  ],
  [
    "rejected credentials",
    answer(401, "Unauthorized"),
    undefined,
    /^Unauthorized: .* log in again, or select another context with --context$/,
  ],
  [
    "a missing permission",
    wrapError("read it: ", forbidden),
    undefined,
    /^read it: secrets is .*; ask a cluster administrator for this permission/,
  ],
  [
    "a cluster without OLM v1",
    new KindNotServed("olm.operatorframework.io/v1", "ClusterExtension"),
    undefined,
    /: OLM v1 is not installed on this cluster; /,
  ],
])("explainClusterError adds advice for %s", ([, err, unanswered, text]) => {
  const explained = explainClusterError(err, unanswered);
  expect(getErrorMessage(explained)).toMatch(text);
  expect((explained as Error).cause).toBe(err);
});

test.for<[what: string, err: unknown, unanswered?: string]>([
  ["of a registry that does not respond", refused],
  ["for another kind that is not served", new KindNotServed("example.com/v1", "Thing")],
  ["with its own advice", new Error(`${forbidden.message}; grant it`, { cause: forbidden })],
  ["of an admission policy", answer(403, 'things "x" is forbidden: ValidatingAdmissionPolicy denied request: no')],
  ["of the command itself", new Error("x"), HOST],
])("explainClusterError returns an error %s unchanged", ([, err, unanswered]) => {
  expect(explainClusterError(err, unanswered)).toBe(err);
});
